"""Every case of the contract, blocking, on every storage."""

import txmemory.testing.contract.sync
from txmemory.testing.cases import collect

globals().update(collect(txmemory.testing.contract.sync))
