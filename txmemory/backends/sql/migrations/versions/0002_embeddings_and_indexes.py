"""Embeddings in the history; indexes of heads by kind, and by the attributes that name a conversation or entity."""

import sqlalchemy as sa
from alembic import context, op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

IN_A_FILE = "json_extract(attributes, '$.\"{}\"')"
ON_A_SERVER = "((CAST(attributes AS JSONB) ->> '{}') COLLATE \"C\")"


def upgrade() -> None:
    """Changes the tables, whatever prefix or schema they have. Their rows stay as they are."""
    tables = context.config.attributes["tables"]
    schema, item, history = tables.metadata.schema, tables.item.name, tables.revision.name
    op.add_column(history, sa.Column("embedding", sa.LargeBinary(), nullable=True), schema=schema)
    op.drop_index(f"{item}_age", item, schema=schema)
    _index(item, "age", ["created_at", "id"], "live = 1", schema)
    _index(item, "kind", ["kind", "created_at", "id"], "live = 1", schema)
    spelled = IN_A_FILE if schema is None else ON_A_SERVER
    for name in ("conversation_id", "entity_id"):
        attribute = spelled.format(name)
        columns: list[str | sa.TextClause] = [sa.text(attribute), "created_at", "id"]
        held = f"{attribute} IS NOT NULL" if schema is None else f"octet_length({attribute}) <= 512"
        _index(item, name, columns, f"live = 1 AND {held}", schema)


def _index(item: str, name: str, columns: list[str | sa.TextClause], where: str, schema: str | None) -> None:
    named: list[str | sa.TextClause] = ["tenant", "namespace", *columns]
    only = sa.text(where)
    op.create_index(f"{item}_{name}", item, named, schema=schema, sqlite_where=only, postgresql_where=only)
