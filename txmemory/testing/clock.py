"""A clock that goes only when it is told to, so that no test waits for time to pass."""

import threading
from datetime import UTC, datetime, timedelta

START = datetime(2031, 5, 17, 12, tzinfo=UTC)


class FakeClock:
    """Answers the time it was set to, or raises what it was told to; pass it as `clock=`. Safe to share."""

    def __init__(self, now: datetime = START) -> None:
        self._now = now
        self._error: BaseException | None = None
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"FakeClock({self._now.isoformat()})"

    def __call__(self) -> datetime:
        """The time it was set to."""
        with self._lock:
            if self._error is not None:
                raise self._error
            return self._now

    def advance(self, by: timedelta) -> None:
        """Moves the clock, with a negative `by` backwards."""
        with self._lock:
            self._now += by

    def set(self, now: datetime) -> None:
        """Sets the clock."""
        with self._lock:
            self._now = now

    def fail(self, error: BaseException | None) -> None:
        """From now on raises this; with None it works again."""
        with self._lock:
            self._error = error

    def behind(self, by: timedelta) -> "FakeClock":
        """Another clock, showing an earlier time now and independent from then on."""
        return FakeClock(self() - by)
