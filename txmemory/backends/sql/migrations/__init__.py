"""The migrations, inside the package. A fresh store is created and stamped instead; a test holds both roads equal."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection

from txmemory.backends.sql.tables import Tables


def upgrade(connection: Connection, tables: Tables) -> None:
    """Brings the schema that the connection reaches to the newest version, inside its transaction."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    config.attributes["tables"] = tables
    command.upgrade(config, "head")
