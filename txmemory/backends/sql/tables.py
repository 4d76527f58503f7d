"""The tables. Tenant leads every key, times are integer microseconds UTC, content lives in `revision` alone."""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    Text,
    text,
)

metadata = MetaData()


def _text(name: str, *, nullable: bool = False) -> Column[str]:
    return Column(name, Text(), nullable=nullable)


def _integer(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger(), nullable=nullable)


scope = Table(
    "txm_scope",
    metadata,
    _text("tenant"),
    _text("scope"),
    _integer("generation"),
    _integer("token"),
    _text("holder", nullable=True),
    _integer("seq"),
    _integer("last_at"),
    Column("sealed", Integer(), nullable=False),
    PrimaryKeyConstraint("tenant", "scope"),
    sqlite_with_rowid=False,
)

ledger = Table(
    "txm_ledger",
    metadata,
    _text("tenant"),
    _text("scope"),
    _text("key"),
    _integer("seq"),
    PrimaryKeyConstraint("tenant", "scope", "key"),
    sqlite_with_rowid=False,
)

event = Table(
    "txm_event",
    metadata,
    Column("row", Integer(), primary_key=True, autoincrement=False),
    _text("tenant"),
    Column("version", Integer(), nullable=False),
    _text("kind"),
    _text("scope", nullable=True),
    _integer("seq", nullable=True),
    _integer("token", nullable=True),
    _text("actor", nullable=True),
    _text("key", nullable=True),
    Column("fingerprint", LargeBinary(), nullable=True),
    _text("status", nullable=True),
    _text("effects"),
    _integer("at"),
)
Index(
    "txm_event_seq",
    event.c.tenant,
    event.c.scope,
    event.c.seq,
    unique=True,
    sqlite_where=text("scope IS NOT NULL"),
)

item = Table(
    "txm_item",
    metadata,
    _text("tenant"),
    _text("namespace"),
    _text("id"),
    Column("live", Integer(), nullable=False),
    _integer("revision"),
    _text("kind"),
    _text("attributes"),
    _integer("created_at"),
    _integer("updated_at"),
    _integer("expires_at", nullable=True),
    Column("importance", Float(), nullable=True),
    _integer("added_at"),
    Column("added_ordinal", Integer(), nullable=False),
    PrimaryKeyConstraint("tenant", "namespace", "id"),
    sqlite_with_rowid=False,
)
Index(
    "txm_item_age",
    item.c.tenant,
    item.c.namespace,
    item.c.created_at,
    item.c.id,
    item.c.kind,
    sqlite_where=text("live = 1"),
)
Index(
    "txm_item_expiry",
    item.c.tenant,
    item.c.namespace,
    item.c.expires_at,
    item.c.id,
    sqlite_where=text("live = 1 AND expires_at IS NOT NULL"),
)

revision = Table(
    "txm_revision",
    metadata,
    _text("tenant"),
    _text("namespace"),
    _text("id"),
    _integer("revision"),
    _text("kind", nullable=True),
    _text("text", nullable=True),
    _text("data", nullable=True),
    _text("attributes", nullable=True),
    _integer("created_at"),
    _integer("expires_at", nullable=True),
    Column("importance", Float(), nullable=True),
    Column("salt", LargeBinary(), nullable=False),
    _integer("at"),
    Column("ordinal", Integer(), nullable=False),
    _text("by", nullable=True),
    _text("reason"),
    PrimaryKeyConstraint("tenant", "namespace", "id", "revision"),
    sqlite_with_rowid=False,
)

schema = Table(
    "txm_schema",
    metadata,
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="txm_schema_pkc"),
)
"""One row: the version of the schema, where the migrations look for it."""

VERSION = "0001"
"""The schema that this release reads and writes."""
KNOWN_VERSIONS = ("0001",)
"""Every version that it can migrate from, oldest first."""
