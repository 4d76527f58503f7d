"""The two roles of a test's database: one owns schemas and migrates them, the other is what stores run as."""

from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit


class Roles(NamedTuple):
    """Their names. Neither is a superuser's, and neither logs in: a superuser's session takes it on."""

    owner: str
    runtime: str


def names(database: str) -> Roles:
    """The roles that come with a database."""
    return Roles(f"{database}_owner", f"{database}_runtime")


def roles_of(url: str) -> Roles:
    """The roles of the database that a URL names."""
    return names(unquote(urlsplit(url).path.removeprefix("/")))


def acting_as(url: str, role: str) -> str:
    """The URL of the same database, whose sessions have the rights of the role from their first statement on."""
    return with_options(url, options=f"-c role={role}")


def with_options(url: str, **options: str) -> str:
    """The URL with more options."""
    parts = urlsplit(url)
    query = [*parse_qsl(parts.query, keep_blank_values=True), *options.items()]
    return urlunsplit(parts._replace(query=urlencode(query, quote_via=quote)))
