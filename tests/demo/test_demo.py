"""The demonstration: it runs, and its checks find what they are there to find."""

import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import txmemory
from txmemory import Memory, Refused, Store, must
from txmemory.testing.demo.agent import FACTS, SCOPE, TURNS, Agent, Doing
from txmemory.testing.demo.checking import Findings, check, compare, contents
from txmemory.testing.demo.conversation import Conversation, shipped
from txmemory.testing.demo.model import Model
from txmemory.testing.demo.story import Options, miscounted
from txmemory.testing.demo.supervisor import Tally

ROOT = Path(__file__).resolve().parents[2]
DEMO = (sys.executable, "-m", "txmemory.testing.demo")
CONVERSATION = shipped()


@pytest.fixture
def store() -> Iterator[Store]:
    with txmemory.open("memory://") as opened:
        yield opened


def live(store: Store, token: int, conversation: Conversation = CONVERSATION) -> list[tuple[Doing, int]]:
    """One life of the agent, to its end; what it reported."""
    reports: list[tuple[Doing, int]] = []
    Agent(
        store,
        conversation,
        token=token,
        attempt=f"life-{token}",
        model=Model(str(token)),
        report=lambda doing, step: reports.append((doing, step)),
    ).work()
    return reports


def findings(store: Store, conversation: Conversation = CONVERSATION) -> Findings:
    return check(contents(store, token=100), conversation)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*DEMO, *arguments], cwd=ROOT, capture_output=True, text=True, check=False)


def counted(output: str, name: str) -> int:
    found = re.search(rf"^ +{name} +(\d+)", output, re.MULTILINE)
    assert found, output
    return int(found[1])


def test_an_agent_that_is_killed_and_stopped_writes_everything_exactly_once() -> None:
    done = run("--kills", "8", "--seed", "1")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Every write happened exactly once." in done.stdout
    assert counted(done.stdout, "kills") == 8
    assert counted(done.stdout, "turns") == len(CONVERSATION.turns)
    assert counted(done.stdout, "stopped") > 0
    assert counted(done.stdout, "duplicates") == counted(done.stdout, "lost") == 0


def test_a_file_that_is_named_keeps_what_was_written(tmp_path: Path) -> None:
    done = run("--kills", "1", "--url", f"sqlite:///{tmp_path / 'kept.db'}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "kept.db").stat().st_size > 0


def test_a_store_that_cannot_be_opened_is_told_in_a_line_and_fails(tmp_path: Path) -> None:
    done = run("--kills", "1", "--url", f"sqlite:///{tmp_path}/no/such/folder.db")
    assert done.returncode == 1
    assert "FAILED: a worker failed: CannotOpen" in done.stdout


def test_a_url_of_no_backend_is_told_without_repeating_it() -> None:
    done = run("--kills", "1", "--url", "nowhere://ada:secret@host/db")
    assert done.returncode == 1
    assert "FAILED: a worker failed: ValueError" in done.stdout
    assert "secret" not in done.stdout + done.stderr


def test_a_memory_inside_one_process_is_refused() -> None:
    assert run("--url", "memory://").returncode == 2


def test_the_agents_die_with_a_supervisor_that_is_killed(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    command = [*DEMO, "--kills", "100"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, pass_fds=[writing]
    ) as supervisor:
        os.close(writing)
        assert supervisor.stdout
        told = iter(supervisor.stdout)
        assert any(b"kill    10:" in line for line in told)
        supervisor.send_signal(signal.SIGKILL)
    # Every agent has inherited the pipe: it ends when the last of them has.
    ended, _, _ = select.select([reading], [], [], 60)
    assert ended
    os.close(reading)


def test_what_one_life_wrote_passes_every_check(store: Store) -> None:
    reports = live(store, 1)
    found = findings(store)
    assert found.faults == ()
    assert (found.turns, found.duplicates, found.lost, found.mixed) == (len(CONVERSATION.turns), 0, 0, 0)
    assert found.superseded > 0
    assert {doing for doing, _ in reports} == {"begin", "asked", "wrote"}


def test_a_second_life_is_answered_by_the_ledger_and_asks_no_model(store: Store) -> None:
    live(store, 1)
    assert {doing for doing, _ in live(store, 2)} == {"begin", "replayed"}
    assert findings(store).faults == ()


def test_a_life_that_was_overtaken_is_refused(store: Store) -> None:
    live(store, 2)
    with pytest.raises(Refused, match="Fenced"):
        live(store, 1)


@pytest.mark.parametrize("namespace", ["turns", "window", "facts"])
def test_a_memory_that_no_key_accounts_for_is_a_duplicate(store: Store, namespace: str) -> None:
    live(store, 1)
    must(store.within(namespace).store(Memory("once more")))
    found = findings(store)
    assert found.duplicates == 1
    assert any(fault.startswith("duplicate") for fault in found.faults)


@pytest.mark.parametrize("namespace", ["turns", "window", "facts"])
def test_a_memory_that_is_gone_is_lost(store: Store, namespace: str) -> None:
    live(store, 1)
    space = store.within(namespace)
    must(space.delete(must(space.recall(limit=1))[0].id))
    found = findings(store)
    assert found.lost == 1
    assert any(fault.startswith("lost") for fault in found.faults)


def test_a_memory_that_was_stored_over_is_lost_and_a_duplicate(store: Store) -> None:
    live(store, 1)
    turns = store.within(TURNS)
    first = must(turns.recall(limit=1))[0]
    must(turns.store(Memory(first.content, id=first.id, metadata=first.metadata, timestamp=first.timestamp)))
    found = findings(store)
    assert (found.lost, found.duplicates) == (1, 1)


def stamped(key: str, attempt: str, items: int) -> Memory:
    metadata = {"attempt": attempt, "key": key, "items": str(items)}
    return Memory("a fact", memory_type="user_fact", metadata=metadata)


def test_a_key_with_items_of_two_attempts_is_mixed(store: Store) -> None:
    key = "extract/00001"
    both = [stamped(key, "one", 2), stamped(key, "other", 2)]
    must(store.within(FACTS).writer(SCOPE, 1).write(key, both))
    live(store, 1)
    found = findings(store)
    assert found.mixed == 1
    assert any(fault.startswith(f"mixed: {key}") for fault in found.faults)


def test_two_keys_of_one_transaction_with_different_attempts_are_mixed(store: Store) -> None:
    writer = store.within(FACTS).writer(SCOPE, 1)
    for kind in ("facts", "entities"):
        key = f"extract/00003/{kind}"
        must(writer.write(key, [stamped(key, kind, 1)]))
    live(store, 1)
    assert any(fault.startswith("mixed: extract/00003") for fault in findings(store).faults)


@pytest.mark.parametrize(("declared", "lost", "duplicates"), [(3, 1, 0), (1, 0, 1)])
def test_a_part_of_an_attempt_and_more_than_an_attempt_are_counted(
    store: Store, declared: int, lost: int, duplicates: int
) -> None:
    key = "extract/00001"
    must(store.within(FACTS).writer(SCOPE, 1).write(key, [stamped(key, "one", declared) for _ in range(2)]))
    live(store, 1)
    found = findings(store)
    assert (found.lost, found.duplicates) == (lost, duplicates)
    assert found.faults


def test_a_step_that_was_never_taken_is_lost(store: Store) -> None:
    live(store, 1, replace(CONVERSATION, turns=CONVERSATION.turns[:-1]))
    found = findings(store)
    assert found.lost > 0
    assert any("was never applied" in fault for fault in found.faults)


def test_a_key_that_is_in_no_plan_is_a_duplicate(store: Store) -> None:
    live(store, 1)
    must(store.writer(SCOPE, 1).write("turn/99999", []))
    assert any("is in no plan" in fault for fault in findings(store).faults)


def test_a_ledger_row_of_another_scope_is_found(store: Store) -> None:
    live(store, 1)
    must(store.writer("another", 1).write("step-1", []))
    assert any("rows for" in fault for fault in findings(store).faults)


def test_a_write_of_an_older_worker_after_a_newer_one_is_found(store: Store) -> None:
    live(store, 1)
    found = contents(store, token=100)
    key = "turn/00001"
    first = found.written[key]
    found.written[key] = replace(first, outcome=first.outcome._replace(token=9))
    assert any("wrote after token 9" in fault for fault in check(found, CONVERSATION).faults)


def test_a_run_that_differs_from_the_one_that_was_never_killed_is_found(store: Store) -> None:
    live(store, 1)
    calm = contents(store, token=100)
    other = store.tenant("other")
    live(other, 1)
    assert compare(contents(other, token=100), calm) == ()
    must(other.within(TURNS).store(Memory("once more")))
    assert compare(contents(other, token=100), calm)


def test_kills_that_were_not_made_and_stopped_workers_that_were_not_refused_are_found() -> None:
    options = Options(CONVERSATION, kills=2)
    tally = Tally(kills=2, stops=1, refusals=1)
    tally.places["writing"] = 2
    assert list(miscounted(tally, options)) == []
    assert list(miscounted(replace(tally, kills=1), options)) != []
    assert list(miscounted(replace(tally, refusals=0), options)) != []
