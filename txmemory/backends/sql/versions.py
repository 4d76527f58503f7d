"""What the version that a server's schema is stamped with means to who opens or migrates it."""

from txmemory.backends.sql.tables import KNOWN_VERSIONS, VERSION
from txmemory.port import SchemaMismatch


def refuse_to_open(version: str | None) -> None:
    """Raises `SchemaMismatch` unless it is of this release, and says which way it is not."""
    if version is None:
        raise SchemaMismatch("the schema is missing: run txmemory.migrate")
    refuse_to_migrate(version)
    if version != VERSION:
        raise SchemaMismatch("the schema was made by an older release: run txmemory.migrate")


def refuse_to_migrate(version: str | None) -> None:
    """Raises `SchemaMismatch` for one that this release does not know."""
    if version is not None and version not in KNOWN_VERSIONS:
        raise SchemaMismatch("the schema was made by a newer release")
