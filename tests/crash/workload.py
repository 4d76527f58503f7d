"""A program for the system-call tests: writes under keys, tries again what is refused, and tells what it was told."""

import sys
from collections.abc import Callable

import txmemory
from txmemory import CannotOpen, Corrupted, Memory, Refusal, Store, either
from txmemory.testing.processes import joined

TRIES = 3
WRITES = 6


def answered(call: Callable[[], object]) -> object:
    """The answer, or the error that the engine met in its own file: it takes some errors of the disk for that."""
    try:
        return call()
    except Corrupted as error:
        return error


def insisting(call: Callable[[], object]) -> object:
    """The answer of a call that may be made again; the last refusal when every try is refused."""
    answer: object = None
    for _ in range(TRIES):
        answer = answered(call)
        if not isinstance(answer, Corrupted) and not (isinstance(answer, Refusal) and answer.retryable):
            break
    return answer


def opened(url: str) -> Store:
    """The store, though opening it may meet the fault."""
    for _ in range(TRIES - 1):
        try:
            return txmemory.open(url)
        except CannotOpen:
            continue
    return txmemory.open(url)


def keyed(store: Store, number: int) -> object:
    memory = Memory("tea", id=f"keyed {number}")
    return insisting(lambda: either(store.writer("run", 1).write(str(number), [memory])))


def plain(store: Store, number: int) -> object:
    return answered(lambda: either(store.store(Memory("tea", id=f"plain {number}"))))


def work(url: str) -> list[tuple[str, str]]:
    """What every call was told, by the id of its memory."""
    told: list[tuple[str, str]] = []
    with opened(url) as store:
        for number in range(WRITES):
            told.append((f"keyed {number}", type(keyed(store, number)).__name__))
            told.append((f"plain {number}", type(plain(store, number)).__name__))
    return told


if __name__ == "__main__":
    line = joined()
    line.send(work(sys.argv[1]))
