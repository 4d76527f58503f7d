"""The written, awaited backend."""
