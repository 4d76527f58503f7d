"""The first schema: scopes, ledger, events, items and their revisions."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Makes the tables. Spelled out, so that a later change of `tables` leaves this road as it was."""
    _scope()
    _ledger()
    _event()
    _item()
    _revision()
    _index("txm_event_seq", "txm_event", ["tenant", "scope", "seq"], "scope IS NOT NULL", unique=True)
    _index("txm_item_age", "txm_item", ["tenant", "namespace", "created_at", "id", "kind"], "live = 1")
    _index(
        "txm_item_expiry",
        "txm_item",
        ["tenant", "namespace", "expires_at", "id"],
        "live = 1 AND expires_at IS NOT NULL",
    )


def _scope() -> None:
    op.create_table(
        "txm_scope",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("generation", sa.BigInteger(), nullable=False),
        sa.Column("token", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.BigInteger(), nullable=False),
        sa.Column("sealed", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "scope"),
        sqlite_with_rowid=False,
    )


def _ledger() -> None:
    op.create_table(
        "txm_ledger",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "scope", "key"),
        sqlite_with_rowid=False,
    )


def _event() -> None:
    op.create_table(
        "txm_event",
        sa.Column("row", sa.Integer(), primary_key=True, autoincrement=False, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("token", sa.BigInteger(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=True),
        sa.Column("key", sa.Text(), nullable=True),
        sa.Column("fingerprint", sa.LargeBinary(), nullable=True),
        sa.Column("status", sa.Text(), nullable=True),
        sa.Column("effects", sa.Text(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
    )


def _item() -> None:
    op.create_table(
        "txm_item",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("live", sa.Integer(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("attributes", sa.Text(), nullable=False),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("updated_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("importance", sa.Float(), nullable=True),
        sa.Column("added_at", sa.BigInteger(), nullable=False),
        sa.Column("added_ordinal", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "namespace", "id"),
        sqlite_with_rowid=False,
    )


def _revision() -> None:
    op.create_table(
        "txm_revision",
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("namespace", sa.Text(), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("data", sa.Text(), nullable=True),
        sa.Column("attributes", sa.Text(), nullable=True),
        sa.Column("created_at", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=True),
        sa.Column("importance", sa.Float(), nullable=True),
        sa.Column("salt", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("by", sa.Text(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "namespace", "id", "revision"),
        sqlite_with_rowid=False,
    )


def _index(name: str, table: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    op.create_index(name, table, columns, unique=unique, sqlite_where=sa.text(where))
