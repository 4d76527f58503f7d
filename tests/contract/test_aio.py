"""Every case of the contract, awaited, on every storage."""

import txmemory.testing.contract.aio
from txmemory.testing.cases import collect

globals().update(collect(txmemory.testing.contract.aio))
