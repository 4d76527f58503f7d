"""The benchmark runs and prints its table; what it counts, not how long it takes, is held here."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest

from scripts.bench import PARTS, SCALING_PARTS, SERVER_PARTS, main
from scripts.benching import server
from txmemory.testing.server import PostgresServer


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("bench")
    written = folder / "figures.json"
    assert (
        main(["writes", "--small", "--part", "counters", "--directory", str(folder), "--json", str(written)])
        == 0
    )
    return {row["name"]: row for row in json.loads(written.read_text())}


def test_a_fresh_write_is_one_commit_and_a_replay_is_none(figures: dict[str, Any]) -> None:
    commits = [f"commits to the log per {call}" for call in ("write", "replay", "applied")]
    assert [figures[name]["values"] for name in commits] == [[1], [0], [0]]


def test_a_fresh_write_is_one_fsync_and_a_replay_is_none(figures: dict[str, Any]) -> None:
    if "fsyncs per write" not in figures:
        pytest.skip("system calls cannot be watched here")
    assert [figures[f"fsyncs per {call}"]["values"] for call in ("write", "replay")] == [[1], [0]]


@pytest.mark.parametrize("part", sorted(PARTS))
def test_every_part_prints_its_figures(part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["writes", "--small", "--part", part, "--directory", str(tmp_path)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["median", "min", "max", "target", "goal", "verdict"]
    assert len(lines) >= 4


@pytest.mark.parametrize("part", sorted(SERVER_PARTS))
def test_every_part_prints_its_figures_of_a_server(
    part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    written = tmp_path / "figures.json"
    given = ["--small", "--part", part, "--directory", str(tmp_path), "--json", str(written)]
    with PostgresServer.started(durable=False) as started:
        url = started.url(started.create_database())
        assert main(["postgres", "--url", url, *given]) == 0
        with psycopg.connect(url) as connection:
            schemas = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'txm%'")
            assert schemas.fetchone() == (0,)
    assert len(capsys.readouterr().out.splitlines()) >= 4
    if part == "counters":
        rows = {row["name"]: row["values"] for row in json.loads(written.read_text())}
        assert {name: values for name, values in rows.items() if name.startswith("round trips")} == {
            f"round trips per {call}": [1]
            for call in ("write", "replay", "applied", "write_many", "replace", "bounded")
        }
        assert [rows[f"bytes of the log per {call}"] for call in ("replay", "applied")] == [[0], [0]]


@pytest.mark.parametrize("part", SCALING_PARTS)
def test_a_grown_namespace_is_measured_beside_a_small_one(part: str, tmp_path: Path) -> None:
    if part == "postgres" and (reason := PostgresServer.missing()):
        pytest.skip(reason)
    written = tmp_path / "figures.json"
    given = ["--small", "--rows", "2000", "--part", part, "--directory", str(tmp_path)]
    url = ""
    with ExitStack() as stack:
        if part == "postgres":
            started = stack.enter_context(PostgresServer.started(durable=False))
            url = started.url(started.create_database())
            given += ["--url", url]
        assert main(["scaling", *given, "--json", str(written)]) == 0
        if part == "postgres":
            with psycopg.connect(url) as connection:
                schemas = connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'txm%'")
                assert schemas.fetchone() == (0,)
    targets = {row["name"].removeprefix(f"{part} "): row["target"] for row in json.loads(written.read_text())}
    for name in ("get", "exists", "recall by conversation", "bounded write beside 2,000, to alone"):
        assert targets[name] == 1.4
    assert targets["write"] is None
    assert len(targets) > 25


def test_a_server_of_the_benchmark_s_own_is_durable() -> None:
    if reason := PostgresServer.missing():
        pytest.skip(reason)
    with server.placed(None) as place, place.connect() as connection:
        assert connection.execute("SELECT current_setting('fsync')").fetchone() == ("on",)
        assert connection.execute("SELECT current_setting('synchronous_commit')").fetchone() == ("on",)


def test_the_profile_names_every_stage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["profile", "--small", "--directory", str(tmp_path)]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[-3:] == ["us", "x", "floor"]
    stages = [line.rsplit(maxsplit=2)[0] for line in lines]
    assert [stage for stage in stages if not stage.startswith("guard: ")] == [
        "Memory(...)",
        "command and fingerprint",
        "planning",
        "BEGIN IMMEDIATE",
        "guard, its own part",
        "COMMIT",
        "settling",
        "the rest: drive, hand-over, Results",
        "whole call, not instrumented (median)",
        "commit floor (median)",
    ]
    assert {"guard: advance_fence", "guard: append_events", "guard: record"} <= set(stages)


def test_verifying_is_measured(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--small", "--directory", str(tmp_path)]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 10
