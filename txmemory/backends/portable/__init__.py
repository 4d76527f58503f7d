"""The portable backend: plain statements over a SQLAlchemy engine that speaks PostgreSQL's dialect, or SQLite's."""

from sqlalchemy import Engine
from sqlalchemy.ext.asyncio import AsyncEngine

__all__ = ["AsyncEngine", "Engine"]
