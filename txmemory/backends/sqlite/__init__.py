"""SQLite, in a file or in memory, with the driver of the standard library."""
