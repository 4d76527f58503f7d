"""Run by Alembic: migrates over the connection and the tables that `upgrade` was given."""

from alembic import context

tables = context.config.attributes["tables"]
context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=tables.metadata,
    version_table=tables.version.name,
    version_table_schema=tables.version.schema,
    transactional_ddl=False,
)
context.run_migrations()
