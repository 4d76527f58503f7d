"""The tables. Tenant leads every key, times are integer microseconds UTC, content lives in `revision` alone."""

from dataclasses import dataclass

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Identity,
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
from sqlalchemy.schema import SchemaItem

VERSION = "0003"
"""The schema that this release reads and writes."""
KNOWN_VERSIONS = ("0001", "0002", "0003")
"""Every version that it can migrate from, oldest first."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The tables as one technology names them."""

    metadata: MetaData
    scope: Table
    ledger: Table
    event: Table
    item: Table
    revision: Table
    version: Table
    namespace: Table


def _text(name: str, *, nullable: bool = False) -> Column[str]:
    """Text that compares by code point everywhere."""
    return Column(name, Text().with_variant(Text(collation="C"), "postgresql"), nullable=nullable)


def _integer(name: str, *, nullable: bool = False) -> Column[int]:
    return Column(name, BigInteger(), nullable=nullable)


def _flag(name: str) -> Column[int]:
    """0 or 1: an index over the rows where it is 1 is spelled alike everywhere."""
    return Column(name, Integer(), nullable=False)


def tables(prefix: str, schema: str | None) -> Tables:
    """The tables with a prefix before each name, in a schema or in none."""
    metadata = MetaData(schema=schema)
    return Tables(
        metadata=metadata,
        scope=_scope(metadata, prefix),
        ledger=_ledger(metadata, prefix),
        event=_event(metadata, prefix),
        item=_item(metadata, prefix),
        revision=_revision(metadata, prefix),
        namespace=_namespace(metadata, prefix),
        version=Table(
            f"{prefix}schema",
            metadata,
            Column("version_num", String(32), nullable=False),
            PrimaryKeyConstraint("version_num", name=f"{prefix}schema_pkc"),
        ),
    )


def _scope(metadata: MetaData, prefix: str) -> Table:
    """Fence, order and claim of a scope in one row, which is locked, updated in place and indexed no further."""
    return Table(
        f"{prefix}scope",
        metadata,
        _text("tenant"),
        _text("scope"),
        _integer("generation"),
        _integer("token"),
        _text("holder", nullable=True),
        _integer("seq"),
        _integer("last_at"),
        _flag("sealed"),
        _integer("lease_until", nullable=True),
        _integer("timeline", nullable=True),
        PrimaryKeyConstraint("tenant", "scope"),
        sqlite_with_rowid=False,
        postgresql_with={"fillfactor": 50},
    )


def _ledger(metadata: MetaData, prefix: str) -> Table:
    return Table(
        f"{prefix}ledger",
        metadata,
        _text("tenant"),
        _text("scope"),
        _text("key"),
        _integer("seq"),
        PrimaryKeyConstraint("tenant", "scope", "key"),
        sqlite_with_rowid=False,
    )


def _event(metadata: MetaData, prefix: str) -> Table:
    """The log. Its row number is given once and promises no more than that."""
    table = Table(
        f"{prefix}event",
        metadata,
        *_number_and_tenant(metadata),
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
        _integer("generation", nullable=True),
    )
    where = text("scope IS NOT NULL")
    columns = table.c.tenant, table.c.scope, table.c.seq
    Index(f"{prefix}event_seq", *columns, unique=True, sqlite_where=where, postgresql_where=where)
    return table


def _number_and_tenant(metadata: MetaData) -> tuple[SchemaItem, ...]:
    """On a server, which counts the number, the tenant leads this key too; a file has its rows by number."""
    if metadata.schema is None:
        return Column("row", Integer(), primary_key=True), _text("tenant")
    key = PrimaryKeyConstraint("tenant", "row")
    return Column("row", BigInteger(), Identity(always=True)), _text("tenant"), key


def _item(metadata: MetaData, prefix: str) -> Table:
    """The heads: what is there, and all that a filter or a bound may look at.

    In a file the indexes that are counted along end with what says whether a head is there, so that no head is read:
    SQLite reads every column that a query names, also one that the index's own condition has settled.
    """
    table = Table(
        f"{prefix}item",
        metadata,
        _text("tenant"),
        _text("namespace"),
        _text("id"),
        _flag("live"),
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
    in_a_file = metadata.schema is None
    for name, columns, covered, where in (
        ("age", ("created_at", "id"), ("live", "expires_at"), "live = 1"),
        ("kind", ("kind", "created_at", "id"), ("live", "expires_at"), "live = 1"),
        ("expiry", ("expires_at", "id"), ("live",), "live = 1 AND expires_at IS NOT NULL"),
    ):
        named = ("tenant", "namespace", *columns, *(covered if in_a_file else ()))
        Index(
            f"{prefix}item_{name}",
            *(table.c[column] for column in named),
            sqlite_where=text(where),
            postgresql_where=text(where),
        )
    for name in INDEXED_ATTRIBUTES:
        on_file, on_server = ATTRIBUTE_IN_A_FILE.format(name), ATTRIBUTE_ON_A_SERVER.format(name)
        Index(
            f"{prefix}item_{name}",
            table.c.tenant,
            table.c.namespace,
            text(on_file if in_a_file else on_server),
            table.c.created_at,
            table.c.id,
            sqlite_where=text(f"live = 1 AND {on_file} IS NOT NULL"),
            postgresql_where=text(f"live = 1 AND octet_length({on_server}) <= {INDEXED_BYTES}"),
        )
    return table


INDEXED_ATTRIBUTES = ("conversation_id", "entity_id")
"""Which attributes have an index; it holds the items that have the attribute, by its value and by age."""
ATTRIBUTE_IN_A_FILE = "json_extract(attributes, '$.\"{}\"')"
ATTRIBUTE_ON_A_SERVER = "((CAST(attributes AS JSONB) ->> '{}') COLLATE \"C\")"
"""Such an attribute, in the words of its index: an engine takes an index for no others."""
INDEXED_BYTES = 512
"""Of a value that such an index holds: a row of a server's is at most 2,700 bytes, with tenant, namespace and id."""


def _revision(metadata: MetaData, prefix: str) -> Table:
    """The history, append-only; a tombstone has no content."""
    return Table(
        f"{prefix}revision",
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
        Column("embedding", LargeBinary(), nullable=True),
        PrimaryKeyConstraint("tenant", "namespace", "id", "revision"),
        sqlite_with_rowid=False,
    )


def _namespace(metadata: MetaData, prefix: str) -> Table:
    """The row that bounded writers of a namespace lock; SQLite, which has one lock, leaves it empty."""
    return Table(
        f"{prefix}namespace",
        metadata,
        _text("tenant"),
        _text("namespace"),
        PrimaryKeyConstraint("tenant", "namespace"),
        sqlite_with_rowid=False,
    )
