"""From what a caller wants to one transaction as a value, assuming that the token is newest and the key new."""

from txmemory.model.address import Address, Presenter
from txmemory.model.canonical import new_salt, sealed_digest
from txmemory.model.command import Applied, Clear, Delete, ForgetApplied, Store, Write, WriteMany
from txmemory.model.commit import Bound, Commit, Entry, Put, Remove, RemoveWhere
from txmemory.model.filter import Everything


def write(command: Write, tenant: str, presenter: Presenter) -> Commit:
    """One entry that records the key."""
    return Commit(tenant, presenter, (_entry(command),), command.bounds)


def write_many(command: WriteMany, tenant: str, presenter: Presenter) -> Commit:
    """One entry a key; of a namespace bounded twice the tighter bound counts."""
    tightest: dict[object, Bound] = {}
    for bound in (bound for each in command.writes for bound in each.bounds):
        known = tightest.get(bound.namespace)
        if known is None or bound.most < known.most:
            tightest[bound.namespace] = bound
    entries = tuple(_entry(each) for each in command.writes)
    return Commit(tenant, presenter, entries, tuple(tightest.values()))


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


def store(command: Store, tenant: str) -> Commit:
    """One put without a key."""
    return Commit(tenant, None, (Entry(changes=(_plain(command.put),)),), command.bounds)


def delete(command: Delete, tenant: str) -> Commit:
    """One removal without a key."""
    return Commit(tenant, None, (Entry(changes=(Remove(command.address, "deleted"),)),))


def clear(command: Clear, tenant: str) -> Commit:
    """Every item of the namespace."""
    everything = RemoveWhere(command.namespace, Everything(), "cleared")
    return Commit(tenant, None, (Entry(changes=(everything,)),))


def resendable(commit: Commit) -> bool:
    """Whether a commit whose answer was lost may be sent again: its keys make the second time a look-up."""
    return all(entry.key is not None and entry.ledger in ("record", "look") for entry in commit.entries)
