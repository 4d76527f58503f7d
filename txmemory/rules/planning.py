"""From what a caller wants to one transaction as a value, assuming that the token is newest and the key new."""

from collections.abc import Iterable

from txmemory.model.address import Address, Namespace, Presenter
from txmemory.model.canonical import new_salt, sealed_digest
from txmemory.model.command import (
    Applied,
    Clear,
    Delete,
    DeleteMatching,
    ForgetApplied,
    Swap,
    Write,
    WriteMany,
)
from txmemory.model.commit import (
    Bound,
    Commit,
    Entry,
    Guard,
    Put,
    Remove,
    RemoveListed,
    RemoveWhere,
    Trim,
)
from txmemory.model.filter import Everything
from txmemory.model.item import Stored
from txmemory.rules import bounds
from txmemory.rules.narrowing import narrowed


def write(command: Write, tenant: str, presenter: Presenter) -> Commit:
    """One entry that records the key."""
    return Commit(tenant, presenter, (_entry(command),), command.bounds)


def write_many(command: WriteMany, tenant: str, presenter: Presenter) -> Commit:
    """One entry a key; of a namespace bounded twice the tighter bound counts."""
    entries = tuple(_entry(each) for each in command.writes)
    given = (bound for each in command.writes for bound in each.bounds)
    return Commit(tenant, presenter, entries, bounds.tightest(given))


def _entry(command: Write) -> Entry:
    puts = tuple([_plain(put) for put in command.puts])
    ends = tuple([Remove(source.address, "replaced") for source in command.sources])
    sealed = sealed_digest(new_salt(), command.fingerprint)
    return Entry(command.key, "record", sealed, command.expect, command.sources, (*puts, *ends))


def _plain(put: Put) -> Put:
    """The put with its id as mere text: that we made the id matters to the fingerprint alone."""
    (namespace, id), item = put
    return Put(Address(namespace, str.__str__(id)), item)


def applied(command: Applied, tenant: str, presenter: Presenter) -> Commit:
    """A look at the ledger; with a newer token it moves the fence."""
    return Commit(tenant, presenter, (Entry(key=command.key, ledger="look"),))


def forget_applied(command: ForgetApplied, tenant: str, presenter: Presenter) -> Commit:
    """Takes the key away."""
    return Commit(tenant, presenter, (Entry(key=command.key, ledger="forget"),))


def seal(tenant: str, presenter: Presenter) -> Commit:
    """Takes all keys away and closes the scope."""
    return Commit(tenant, presenter, (Entry(ledger="seal"),))


def swap(command: Swap, tenant: str) -> Commit:
    """Puts and removals without a key."""
    puts = [_plain(put) for put in command.puts]
    ends = [Remove(address, "replaced") for address in command.ends]
    return Commit(tenant, None, (Entry(changes=(*puts, *ends)),), command.bounds)


def update(found: Stored, put: Put, bounds: tuple[Bound, ...], tenant: str) -> Commit:
    """One put without a key over what was found, as long as it is there as it was found."""
    guard = Guard(found.address, found.revision)
    return Commit(tenant, None, (Entry(guards=(guard,), changes=(_plain(put),)),), bounds)


def delete(command: Delete, tenant: str) -> Commit:
    """One removal without a key."""
    return Commit(tenant, None, (Entry(changes=(Remove(command.address, "deleted"),)),))


def clear(command: Clear, tenant: str) -> Commit:
    """Every item of the namespace."""
    everything = RemoveWhere(command.namespace, Everything(), "cleared")
    return Commit(tenant, None, (Entry(changes=(everything,)),))


def delete_matching(command: DeleteMatching, tenant: str) -> Commit:
    """Every item that the condition accepts, where heads are all it looks at."""
    matching = RemoveWhere(command.namespace, narrowed(command.condition).condition, "deleted")
    return Commit(tenant, None, (Entry(changes=(matching,)),))


def delete_listed(namespace: Namespace, found: Iterable[tuple[str, int]], tenant: str) -> Commit:
    """Items that were found to match, each at the revision at which it was."""
    listed = RemoveListed(namespace, tuple(sorted(found)), "deleted")
    return Commit(tenant, None, (Entry(changes=(listed,)),))


def trim(bound: Bound, tenant: str) -> Commit:
    """As much of what is over the bound as one commit may evict."""
    return Commit(tenant, None, (Entry(changes=(Trim(),)),), (bound,))


def resendable(commit: Commit) -> bool:
    """Whether a commit whose answer was lost may be sent again: its keys make the second time a look-up."""
    return all(entry.key is not None and entry.ledger in ("record", "look") for entry in commit.entries)
