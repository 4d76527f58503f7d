"""Run by Alembic: migrates over the connection that `upgrade` was given."""

from alembic import context

from txmemory.backends.sql.tables import metadata, schema

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=schema.name,
    transactional_ddl=False,
)
context.run_migrations()
