"""A repair of a state, under its lock."""

from txmemory.backends.inmemory.state import Scope, State
from txmemory.backends.inmemory.verifying import answer, head_state
from txmemory.backends.primitives import LedgerRow, ScopeRow
from txmemory.model.item import Head
from txmemory.model.repair import HeadRepair, Mended, Repair, ScopeRepair, ScopeState
from txmemory.model.verifying import Logged
from txmemory.rules.fencing import Standing
from txmemory.rules.mending import ScopeMending, folded_on
from txmemory.rules.recording import outcome_of


def mended(state: State, repair: Repair) -> Mended:
    """Carries a repair out."""
    scopes, keys = (0, 0) if repair.scope is None else _scope(state, repair.tenant, repair.scope)
    return Mended(scopes, keys, sum(_head(state, repair.tenant, head) for head in repair.heads))


def _scope(state: State, tenant: str, repair: ScopeRepair) -> tuple[int, int]:
    place = tenant, repair.scope
    before = state.scopes.get(place)
    mending = ScopeMending(repair)
    page = answer(state, Logged(tenant, (repair.scope, mending.seq), repair.scope, len(state.events) + 1))
    for row in page.rows:
        mending.take(row)
    known = repair.state if before is None else ScopeState(before.standing.fence, *before.row)
    after = mending.row(known)
    holder = before.standing.holder if before is not None and after.fence == known.fence else None
    if holder is None:
        state.lease(place, None)
    row_after = ScopeRow(after.seq, after.last_at, after.sealed)
    state.scopes[place] = Scope(Standing(after.fence, holder), row_after)
    ledger = state.ledger.setdefault(place, {})
    keys = sum(_key(state, tenant, ledger, key, seq) for key, seq in mending.keys(known))
    return int(before is None or after != known), keys


def _key(state: State, tenant: str, ledger: dict[str, LedgerRow], key: str, seq: int | None) -> bool:
    known = ledger.pop(key, None)
    if seq is None:
        return known is not None
    (event,) = (
        event
        for owner, event in state.events.values()
        if owner == tenant and event.key == key and event.seq == seq and event.kind == "record"
    )
    ledger[key] = LedgerRow(key, event.fingerprint or b"", outcome_of(event))
    return ledger[key] != known


def _head(state: State, tenant: str, repair: HeadRepair) -> bool:
    address = repair.address
    here = state.heads.setdefault((tenant, address.namespace), {})
    history = state.revisions.get((tenant, address), ())
    folded = folded_on(None, history)
    known = here.get(address.id)
    if folded is None:
        return here.pop(address.id, None) is not None
    if known is not None and folded.accepts(head_state(known, history)):
        return False
    said = folded.head
    here[address.id] = Head(
        address, said.revision, said.live, said.created_at, said.updated_at, said.expires_at, said.added
    )
    return True
