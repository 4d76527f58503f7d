"""Leases in the rows of scopes, with the server's timeline they were granted on; generations in the log.

In a file, too: what is counted along an index is counted without reading the heads.
"""

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
    if schema is None:
        _cover(tables.item.name, "age", ["created_at", "id", "live", "expires_at"], "live = 1")
        _cover(tables.item.name, "kind", ["kind", "created_at", "id", "live", "expires_at"], "live = 1")
        held = "live = 1 AND expires_at IS NOT NULL"
        _cover(tables.item.name, "expiry", ["expires_at", "id", "live"], held)


def _cover(item: str, name: str, columns: list[str], held: str) -> None:
    op.drop_index(f"{item}_{name}", item)
    op.create_index(f"{item}_{name}", item, ["tenant", "namespace", *columns], sqlite_where=sa.text(held))
