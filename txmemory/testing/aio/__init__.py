"""The written, awaited storages and questions."""
