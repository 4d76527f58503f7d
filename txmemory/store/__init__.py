"""The core face: handles over an open backend. Async is written in `aio/`, sync is generated from it."""
