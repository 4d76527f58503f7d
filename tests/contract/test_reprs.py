"""What a debugger, a failed assertion or a log line may come to show of a store that is open: nothing private."""

from tests.rules.test_reprs import CANARY, KEY, NAMESPACE, SCOPE, TENANT, leaks
from txmemory import Custom, Filter, InMemoryStore, Memory
from txmemory.backends.opening import Options, location
from txmemory.backends.sqlite.opening import place_of
from txmemory.drive import Patience
from txmemory.store.core import Handle


def test_no_repr_of_what_opens_a_store_shows_where_it_is() -> None:
    """D6: a URL may hold a password, a path a person's name."""
    options = Options(f"sqlite:///{CANARY}?synchronous=NORMAL")
    taken_apart = location(f"sqlite://{CANARY}:{CANARY}@host/{CANARY}?{CANARY}={CANARY}")
    assert leaks(iter((options, taken_apart, place_of(f"/{CANARY}", {}, 1.0)))) == []


def test_no_repr_of_a_handle_or_of_a_store_that_is_a_value_shows_anything_private() -> None:
    """D6: nor of what it stands on."""
    memory = Memory(CANARY, id=CANARY, metadata={CANARY: CANARY}, memory_type=Custom(CANARY))
    store, receipt = InMemoryStore.empty().tenant(TENANT).within(CANARY).write(SCOPE, 1, KEY, [memory])
    handle = Handle(None, Patience(), require_fence=False, tenant=TENANT, namespace=NAMESPACE)
    backend = store._handle.backend
    shown = (memory, Filter.by_type(CANARY), store, receipt, store._handle, handle, backend, backend.state)
    assert leaks(iter(shown)) == []
