"""Leases in the rows of scopes, with the server's timeline they were granted on; generations in the log."""

import sqlalchemy as sa
from alembic import context, op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Adds the columns; a generation that the log has not kept stays unknown."""
    tables = context.config.attributes["tables"]
    schema = tables.metadata.schema
    for name in ("lease_until", "timeline"):
        op.add_column(tables.scope.name, sa.Column(name, sa.BigInteger(), nullable=True), schema=schema)
    op.add_column(tables.event.name, sa.Column("generation", sa.BigInteger(), nullable=True), schema=schema)
