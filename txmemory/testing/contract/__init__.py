"""The contract: one module a theme, each case a function of one storage."""
