# Generated from ../aio/operations.py by scripts/generate. Do not edit.
"""Every operation of a store, on a tenant that was prepared for it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from txmemory import Bounds, Claim, Filter, Memory, Receipt, Store, Writer, either, must

SCOPE, TOKEN = "run", 7
Run = Callable[[Store], object]
Call = Callable[[], object]


@dataclass(frozen=True, slots=True)
class Operation:
    """A call; `resent` when it may be sent again after a loss. With `holds` it is one of a claim's holder."""

    name: str
    run: Run
    resent: bool = True
    holds: Callable[[Claim], object] | None = None

    def __str__(self) -> str:
        return self.name

    def ready(self, store: Store) -> Call:
        """Makes the claim that it takes; what is answered makes the call."""
        if self.holds is None:
            return partial(self.run, store)
        return partial(self.holds, must(store.claim("claimed", "ada")))


def prepare(store: Store) -> None:
    """Three memories under one applied key."""
    add = [Memory(f"the {id}", id=id) for id in ("first", "second", "third")]
    must(store.writer(SCOPE, 1).write("before", add))


def writer(store: Store) -> Writer:
    """Of the scope, with a newer token than before."""
    return store.writer(SCOPE, TOKEN)


def told(answer: object) -> object:
    """An answer without saying whether it was recorded earlier."""
    match answer:
        case Receipt():
            return answer._replace(replayed=False)
        case Claim():
            return answer.fence, answer.until
        case list():
            return [told(each) for each in answer]
        case _:
            return answer


def write(store: Store) -> object:
    """Something new."""
    return either(writer(store).write("key", [Memory("green tea", id="new")]))


def replay(store: Store) -> object:
    """What was written before, by the token that wrote it."""
    add = [Memory(f"the {id}", id=id) for id in ("first", "second", "third")]
    return either(store.writer(SCOPE, 1).write("before", add))


def replace(store: Store) -> object:
    """Two by their sum."""
    return either(writer(store).replace("key", [Memory("the sum", id="sum")], ["first", "third"]))


def write_many(store: Store) -> object:
    """Two keys."""
    writes = [("key", [Memory("green", id="new")]), ("key, too", [Memory("tea", id="second")])]
    answer = either(writer(store).write_many(writes))
    return [either(one) for one in answer] if isinstance(answer, tuple) else answer


def applied(store: Store) -> object:
    """A look that moves the fence."""
    return either(writer(store).applied("before"))


def forget_applied(store: Store) -> object:
    """Of the applied key."""
    return either(writer(store).forget_applied("before"))


def seal(store: Store) -> object:
    """Of the scope."""
    return either(writer(store).seal())


def store_plain(store: Store) -> object:
    """Over what is there."""
    return either(store.store(Memory("plain", id="second")))


def delete(store: Store) -> object:
    """Of what is there."""
    return either(store.delete("second"))


def clear(store: Store) -> object:
    """Of everything."""
    return either(store.clear())


def store_all(store: Store) -> object:
    """Something new, and over what is there."""
    return either(store.store_all([Memory("plain", id="new"), Memory("plain", id="second")]))


def swap(store: Store) -> object:
    """Two by their sum, and one that is gone."""
    return either(store.swap([Memory("the sum", id="sum")], ["first", "gone", "third"]))


def delete_matching(store: Store) -> object:
    """Of all that is there, by its type."""
    return either(store.delete_matching(Filter.knowledge()))


def trim(store: Store) -> object:
    """Of two that are too many."""
    return either(store.trim(Bounds(1)))


def bounded(store: Store) -> object:
    """Two new ones, for which two old ones go."""
    add = [Memory("green", id="new"), Memory("tea", id="newer")]
    return either(writer(store).write("key", add, bounds=Bounds(max_memories=3)))


def claim(store: Store) -> object:
    """Of what nobody has claimed before."""
    return either(store.claim("claimed", "ada"))


def renew(held: Claim) -> object:
    """For longer than before."""
    return either(held.renew(timedelta(hours=1)))


def release(held: Claim) -> object:
    """Of one's own claim."""
    return either(held.release())


def reset(store: Store) -> object:
    """Of the scope's generation."""
    return either(store.reset_fence(SCOPE, by="ada"))


OPERATIONS = (
    Operation("write", write),
    Operation("replay", replay),
    Operation("replace", replace),
    Operation("write many", write_many),
    Operation("look with a newer token", applied),
    Operation("write within bounds", bounded),
    Operation("forget", forget_applied, resent=False),
    Operation("seal", seal, resent=False),
    Operation("store", store_plain, resent=False),
    Operation("delete", delete, resent=False),
    Operation("clear", clear, resent=False),
    Operation("store all", store_all, resent=False),
    Operation("swap", swap, resent=False),
    Operation("delete matching", delete_matching, resent=False),
    Operation("trim", trim, resent=False),
    Operation("claim", claim),
    Operation("renew", claim, holds=renew),
    Operation("release", claim, holds=release),
    Operation("reset", reset, resent=False),
)
"""All that are one request and change something, and a replay."""
