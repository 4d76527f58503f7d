"""PostgreSQL: every commit is one call of one function, on an autocommit connection that is kept between calls."""
