"""PostgreSQL: every commit is one call of one function, on an autocommit connection from a pool."""
