"""C9: a file in UTF-16, which changes some characters and orders texts otherwise, is refused and untouched."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import txmemory
from txmemory import CannotOpen


@pytest.mark.parametrize("way", ["", "portable+"], ids=["sqlite", "portable"])
@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16be"])
def test_a_file_in_another_encoding_is_refused(tmp_path: Path, way: str, encoding: str) -> None:
    path = tmp_path / "wide.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA encoding='{encoding}'")
        connection.execute("CREATE TABLE theirs (x)")
        connection.commit()
    before = path.read_bytes()
    with pytest.raises(CannotOpen, match="UTF-8"):
        txmemory.open(f"{way}sqlite:///{path}")
    assert path.read_bytes() == before
