"""Two functions that make Results pleasant: `either` to match on, `must` to insist."""

from typing import TypeVar

from returns.result import Failure, Result

from txmemory.model.refusal import Refusal

Value = TypeVar("Value")
Refused_ = TypeVar("Refused_", bound=Refusal)


class Refused(Exception):
    """A refusal where the caller insisted on an answer; `refusal` says which. Its text is the refusal's fields."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(repr(refusal))
        self.refusal = refusal

    def __reduce__(self) -> tuple[type["Refused"], tuple[Refusal]]:
        """It may travel between processes."""
        return Refused, (self.refusal,)


def either(result: Result[Value, Refused_]) -> Value | Refused_:
    """The value or the refusal as one value to `match` on, fully typed and exhaustive.

    >>> from returns.result import Failure
    >>> from txmemory.model.refusal import Sealed
    >>> match either(Failure(Sealed())):
    ...     case Sealed():
    ...         print("finished")
    finished
    """
    return result.failure() if isinstance(result, Failure) else result.unwrap()


def must(result: Result[Value, Refused_]) -> Value:
    """The value; a refusal raises `Refused`.

    >>> from returns.result import Success
    >>> must(Success(7))
    7
    """
    if isinstance(result, Failure):
        raise Refused(result.failure())
    return result.unwrap()
