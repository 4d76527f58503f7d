"""What every SQL backend shares: tables, statements, the spelling of rows, migrations."""
