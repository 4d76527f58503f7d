"""What a transaction does with the claim on a scope, as a value, and what it met."""

from dataclasses import dataclass, field

from txmemory.model import limits
from txmemory.model.address import Fence, Presenter, checked_scope, checked_tenant
from txmemory.model.canonical import checked_integer, checked_text

TTL_LEAST = 100_000
"""Microseconds: a lease that nobody could renew in time is none."""
TTL_MOST = 24 * 3_600 * 1_000_000
LAPSED_MOST = 10_000 * TTL_MOST
HOLDER_BYTES = 480
"""Of a holder's name: what tells two of one name apart comes behind it."""
CLAIM_TOKEN_MOST = 2**62
"""The last token that claims issue: whoever issues tokens elsewhere has room above."""


@dataclass(frozen=True, slots=True)
class Claim:
    """Gives a holder the scope's next token for `ttl` microseconds, unless another's claim is live.

    With `lapsed` only where a claim was neither released nor renewed, and its time has been over for that many
    microseconds. `timeline` raises the generation where the server's timeline is not the one of the last claim.
    """

    tenant: str = field(repr=False)
    scope: str = field(repr=False)
    holder: str = field(repr=False)
    ttl: int
    lapsed: int | None = None
    timeline: bool = False

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "tenant", checked_tenant(self.tenant))
        put(self, "scope", checked_scope(self.scope))
        put(self, "holder", checked_text(self.holder, "holder", limits.TEXT_KEY_BYTES))
        put(self, "ttl", checked_ttl(self.ttl))


@dataclass(frozen=True, slots=True)
class Renew:
    """Lets the presenter's claim live for `ttl` microseconds from now, also one that has lapsed and was not taken."""

    tenant: str = field(repr=False)
    presenter: Presenter
    ttl: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "ttl", checked_ttl(self.ttl))


@dataclass(frozen=True, slots=True)
class Release:
    """Ends the presenter's claim; one that another has taken over is left alone."""

    tenant: str = field(repr=False)
    presenter: Presenter


@dataclass(frozen=True, slots=True)
class Reset:
    """Raises the scope's generation: every writer of an earlier one is fenced, and tokens begin anew."""

    tenant: str = field(repr=False)
    scope: str = field(repr=False)
    by: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "scope", checked_scope(self.scope))
        if self.by is not None:
            object.__setattr__(self, "by", checked_text(self.by, "by", limits.TEXT_KEY_BYTES))


Lease = Claim | Renew | Release | Reset


def scope_of(lease: Lease) -> str:
    """The scope whose claim it is."""
    return lease.scope if isinstance(lease, Claim | Reset) else lease.presenter.scope


def checked_holder(holder: object) -> str:
    """A name of a holder: 1 to 480 bytes of text."""
    return checked_text(holder, "holder", HOLDER_BYTES)


def checked_ttl(ttl: int) -> int:
    """Microseconds that a lease lasts: 100 milliseconds to a day."""
    return checked_integer(ttl, "ttl in microseconds", TTL_LEAST, TTL_MOST)


@dataclass(frozen=True, slots=True)
class Granted:
    """The claim is the holder's: by this fence, until then."""

    fence: Fence
    until: int


@dataclass(frozen=True, slots=True)
class Withheld:
    """It is another's, who is live until then; or it was to be a lapsed one, and is not."""

    holder: str | None = field(repr=False)
    until: int


@dataclass(frozen=True, slots=True)
class Unheld:
    """Nobody has taken over, but there is no such claim: it was released, or the scope was."""


@dataclass(frozen=True, slots=True)
class Released:
    """Whether it was the newest claim; it may have been over already."""

    there: bool


@dataclass(frozen=True, slots=True)
class Raised:
    """The scope's generation from now on."""

    generation: int


LeaseMet = Granted | Withheld | Unheld | Released | Raised


_NONCE = "\x1f"
"""Between a holder's name and what tells two of one name apart: a control character that no name has."""


def named(holder: str, nonce: str) -> str:
    """The holder of one opened store, or of one run: two processes of one name are two holders."""
    return f"{holder}{_NONCE}{nonce}"


def name_of(holder: str | None) -> str:
    """The name that a holder was given by its caller."""
    name, _, nonce = (holder or "").rpartition(_NONCE)
    return name or nonce
