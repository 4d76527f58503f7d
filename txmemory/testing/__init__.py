"""The contract that every backend keeps, as cases that any backend can run, with what they need."""
