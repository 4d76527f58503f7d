"""The portable backend: plain statements over a SQLAlchemy engine that speaks PostgreSQL's dialect, or SQLite's."""
