"""PgBouncer, where its program is on the PATH, as a transaction-pooling proxy in front of a server of the tests."""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import psycopg
from psycopg.conninfo import conninfo_to_dict

from txmemory.testing import binaries
from txmemory.testing.binaries import NoServer
from txmemory.testing.supervision import Supervision, free_port, patiently

PROGRAM = "pgbouncer"
_PORTS = 5
_SETTINGS = """
[databases]
* = {server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {servers}
max_client_conn = 1000
server_round_robin = 1
"""


class PgBouncer:
    """Runs in a directory of its own; both are gone with this process. It lets everybody in, as who the URL says."""

    def __init__(self, url: str, servers: int = 2) -> None:
        if (program := shutil.which(PROGRAM)) is None:
            raise NoServer(str(self.missing()))
        account = binaries.account()
        self._directory = binaries.temporary_folder(account) / f"txmemory-{PROGRAM}-{secrets.token_hex(8)}"
        self._supervision = Supervision(self._directory, account)
        self.port = 0
        """The port on 127.0.0.1 to connect to instead of the server's."""
        try:
            # Between the choice of a port and its use somebody else may have taken it.
            for self.port in [free_port() for _ in range(_PORTS)]:
                settings = self._directory / "pgbouncer.ini"
                settings.touch(mode=0o600)
                text = _SETTINGS.format(server=_server(url), port=self.port, servers=servers)
                settings.write_text(text, encoding="utf-8")
                os.chown(settings, account.uid, account.gid)
                if self._runs(program, settings, url):
                    return
            raise NoServer(f"{PROGRAM} does not start:\n{self._supervision.log()}")
        except BaseException:
            self.close()
            raise

    @classmethod
    @contextmanager
    def started(cls, url: str, servers: int = 2) -> Iterator[Self]:
        """A pooler with so many connections to each database of the server, as the user of the URL."""
        pooler = cls(url, servers)
        try:
            yield pooler
        finally:
            pooler.close()

    @staticmethod
    def missing() -> str | None:
        """Why it cannot be started here, or nothing: a reason for tests to be skipped."""
        return None if shutil.which(PROGRAM) else f"no program {PROGRAM} on the PATH"

    def close(self) -> None:
        """Ends it and its connections."""
        self._supervision.close()

    def _runs(self, program: str, settings: Path, url: str) -> bool:
        """Whether it lets a client in, after it has either done so or ended."""
        pid = self._supervision.start(program, str(settings))
        named = {"host": "127.0.0.1", "port": self.port, "sslmode": "disable"}
        for _ in patiently(f"{PROGRAM} does not accept connections"):
            if pid is None or self._supervision.child()[0] != pid:
                return False
            with suppress(psycopg.OperationalError):
                psycopg.connect(url, **named).close()  # type: ignore[arg-type]  # of whatever types the options are
                return True
        return False


def _server(url: str) -> str:
    """Where the server is, as the settings spell it."""
    parts = conninfo_to_dict(url)
    wanted = {name: str(parts[name]) for name in ("host", "port", "user", "password") if name in parts}
    return " ".join(f"{name}='{value.replace(chr(39), chr(39) * 2)}'" for name, value in wanted.items())
