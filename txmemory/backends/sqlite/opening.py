"""From a path to an open SQLite backend."""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from stat import S_ISREG

from txmemory.backends.lifetime import refuse_inherited
from txmemory.backends.sqlite.backend import Sqlite
from txmemory.backends.sqlite.connecting import MINIMUM, SYNCHRONOUS, Place, code_of, use_write_ahead_log
from txmemory.backends.sqlite.dialect import guard_statements
from txmemory.backends.sqlite.reading import Readers
from txmemory.backends.sqlite.schema import (
    check_schema,
    prepare_schema,
    refuse_other_encodings,
    refuse_unknown_schema,
)
from txmemory.backends.sqlite.writer import Writer
from txmemory.port import CannotOpen


def place_of(path: str, options: Mapping[str, str], patience: float) -> Place:
    """The place that a URL's path and options name: `/relative`, `//absolute` or `/:memory:`."""
    unknown = set(options) - {"synchronous"}
    if unknown:
        raise ValueError("a sqlite url takes no option but synchronous")
    synchronous = options.get("synchronous", "FULL").upper()
    if synchronous not in SYNCHRONOUS:
        raise ValueError(f"synchronous must be one of {', '.join(SYNCHRONOUS)}")
    if path and not path.startswith("/"):
        raise ValueError("a sqlite url has three slashes before a path: sqlite:///path")
    if "\x00" in path:
        raise ValueError("url contains NUL")
    name = path[1:]
    if not name:
        raise ValueError("a sqlite url names a file, or :memory:")
    return Place(None if name == ":memory:" else str(Path(name).absolute()), synchronous, patience)


def open_sqlite(place: Place, clock: Callable[[], int]) -> Sqlite:
    """Connects, makes or checks the schema, starts the writer. Leaves nothing open when it fails."""
    if sqlite3.sqlite_version_info < MINIMUM:
        raise CannotOpen("SQLite is older than 3.35")
    _refuse_what_cannot_be_shared(place)
    try:
        connection = place.connect(create=True)
    except sqlite3.Error as error:
        raise cannot_open(error) from None
    try:
        refuse_other_encodings(connection)
        refuse_unknown_schema(connection)  # before anything is changed
        use_write_ahead_log(connection, place.patience)
        prepare_schema(connection)
        writer = Writer(place, connection, check_schema, guard_statements(), clock)
    except sqlite3.Error as error:
        connection.close()
        raise cannot_open(error) from None
    except BaseException:
        connection.close()
        raise
    readers = None if place.path is None else Readers(place, check_schema)
    return Sqlite(writer, readers, clock)


def _refuse_what_cannot_be_shared(place: Place) -> None:
    """A file that was open across a fork, or that has several names: its locks or its log would not be one."""
    if place.path is None:
        return
    try:
        found = Path(place.path).stat()
    except OSError:
        return  # connecting makes it, or says why not
    refuse_inherited((found.st_dev, found.st_ino))
    if S_ISREG(found.st_mode) and found.st_nlink > 1:
        raise CannotOpen("the file has other names (hard links), and under each it would have another log")


_WHY = {
    "SQLITE_CANTOPEN": "the file cannot be opened: it is a folder, or its folder is missing or may not be used",
    "SQLITE_NOTADB": "the file is not a database",
    "SQLITE_READONLY": "the file, or its folder, may not be written",
    "SQLITE_BUSY": "others held the file until the deadline",
    "SQLITE_FULL": "the disk is full",
    "SQLITE_CORRUPT": "the file is damaged",
}


def cannot_open(error: sqlite3.Error) -> CannotOpen:
    """What the engine said, in words that name no path."""
    code = code_of(error)
    why = next(
        (why for prefix, why in _WHY.items() if code.startswith(prefix)), "the engine refused the file"
    )
    return CannotOpen(f"{why} ({code})", code)
