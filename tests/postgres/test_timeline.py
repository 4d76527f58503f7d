"""A server that was restored or promoted has another timeline: claims that look at it begin a new generation."""

import asyncio
import os
import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import create_engine

import txmemory
from tests.postgres.watching import until
from tests.postgres.worlds import World
from txmemory import Fence, Fenced, Held, Memory, Receipt, Store, either, must
from txmemory.testing.clock import FakeClock
from txmemory.testing.server import OwnServer

TTL = timedelta(seconds=30)


def opened(world: World, clock: FakeClock, *, looks: bool = True) -> Store:
    return txmemory.open(world.direct, clock=clock, check_timeline=looks)


def timeline(world: World, scope: str) -> int | None:
    ((kept,),) = world.look("SELECT timeline FROM txmemory.scope WHERE scope = %s", scope)
    return int(kept) if kept is not None else None


def copied(server: OwnServer, name: str) -> Path:
    """A copy of the data of a server that stands still."""
    data = server.directory / "data"
    return Path(shutil.copytree(data, server.directory / name))


def restore(server: OwnServer, backup: Path) -> None:
    """Puts the copy in the place of the data, to be recovered from to its end."""
    data = server.directory / "data"
    owner = data.stat()
    shutil.rmtree(data)
    backup.rename(data)
    (data / "recovery.signal").touch()
    for path in (data, *data.rglob("*")):
        os.chown(path, owner.st_uid, owner.st_gid)
    data.chmod(0o700)


def test_a_restored_server_that_has_lost_claims_lets_none_of_their_holders_write(own_world: World) -> None:
    """F4: tokens 1 to 3 were issued, the server comes back knowing of 1; without a look it would issue 2 again."""
    server = own_world.server
    assert isinstance(server, OwnServer)
    clock = FakeClock()
    own_world.do("ALTER SYSTEM SET restore_command = 'false'")
    with opened(own_world, clock) as store, opened(own_world, clock, looks=False) as careless:
        must(must(store.claim("run", "ada")).release())
        must(must(careless.claim("unlooked", "ada")).release())
        server.stop()
        backup = copied(server, "backup")
        server.start()
        lost = must(store.claim("run", "bob"))
        assert isinstance(either(lost.writer.write("step-1", [Memory("acknowledged")])), Receipt)
        must(lost.release())
        last = must(store.claim("run", "cy"))
        assert last.token == 3
        unlooked = must(careless.claim("unlooked", "bob"))
        server.stop()
        restore(server, backup)
        server.start()
        until(lambda: own_world.look("SELECT pg_is_in_recovery()") == [(False,)])
        assert must(store.count()) == 0
        claim = must(store.claim("run", "dee"))
        assert (claim.generation, claim.token) == (1, 1)
        assert either(last.writer.write("step-2", [])) == Fenced(Fence(0, 3), Fence(1, 1))
        assert isinstance(either(claim.writer.write("step-1", [Memory("again")])), Receipt)
        assert must(careless.claim("unlooked", "dee")).token == unlooked.token
        assert (timeline(own_world, "run"), timeline(own_world, "unlooked")) == (2, None)
        assert must(store.claim("run", "dee")).generation == 1


def test_a_timeline_is_kept_by_claims_that_look_and_by_nobody_else(world: World) -> None:
    clock = FakeClock()
    with opened(world, clock) as store, opened(world, clock, looks=False) as careless:
        must(careless.claim("kept", "ada"))
        assert timeline(world, "kept") is None
        clock.advance(TTL)
        assert must(store.claim("kept", "bob")).generation == 0
        assert timeline(world, "kept") == 1
        for deed in (
            lambda: must(store.claim("kept", "bob").unwrap().release()),
            lambda: must(careless.claim("kept", "bob").unwrap().renew()),
            lambda: must(careless.writer("kept", 9).applied("x")),
            lambda: must(careless.reset_fence("kept")),
        ):
            deed()
            assert timeline(world, "kept") == 1
        world.do("UPDATE txmemory.scope SET timeline = 7 WHERE scope = 'kept'")
        assert must(careless.claim("kept", "bob")).generation == 1
        assert isinstance(either(store.claim("kept", "cy")), Held)
        clock.advance(TTL)
        moved = must(store.claim("kept", "cy"))
        assert (moved.generation, moved.token) == (2, 1)
        world.do("UPDATE txmemory.scope SET timeline = 7 WHERE scope = 'kept'")
        again = must(store.claim("kept", "cy"))  # its own, and yet not sure to be the newest
        assert (again.generation, again.token) == (3, 1)
        assert isinstance(either(moved.renew()), Fenced)


@pytest.mark.parametrize("url", ["memory://", "sqlite:///:memory:", "portable+sqlite://"])
def test_where_there_is_no_timeline_none_is_looked_at(url: str) -> None:
    with pytest.raises(ValueError):
        txmemory.open(url, check_timeline=True)
    with pytest.raises(ValueError):
        asyncio.run(txmemory.open_async(url, check_timeline=True).__aenter__())
    with pytest.raises(ValueError):
        txmemory.open(engine=create_engine("sqlite://"), check_timeline=True)


def test_an_awaited_claim_looks_as_well(world: World) -> None:
    async def claimed() -> int:
        async with txmemory.open_async(world.direct, check_timeline=True) as store:
            return must(await store.tenant("aio").claim("aio", "ada", timedelta(milliseconds=100))).generation

    assert asyncio.run(claimed()) == 0
    world.do("UPDATE txmemory.scope SET timeline = 7, lease_until = NULL WHERE scope = 'aio'")
    assert asyncio.run(claimed()) == 1
