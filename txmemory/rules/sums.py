"""Two multisets that are compared without holding either: sums of marks in buckets, whatever the order."""

from hashlib import blake2b

BUCKETS = 4_096
_WRAP = 2**64 - 1
_from_bytes = int.from_bytes


def mark(
    namespace: str, id: str, revision: int, reason: str, commitment: bytes | None, at: int, by: str | None
) -> int:
    """64 bits over what an event says of a revision, the same for what the revision itself says."""
    who = "\0" if by is None else by  # no name holds a NUL
    plain = f"{namespace}\0{id}\0{revision},{at},{reason}\0{who}".encode()
    bound = plain if commitment is None else plain + commitment
    return _from_bytes(blake2b(bound, digest_size=8).digest(), "little")


def key_mark(key: str) -> int:
    """64 bits over an applied key."""
    return int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "little")


class Sums:
    """What one side has more than the other, summed in buckets; nothing but zero where both have the same."""

    def __init__(self, sums: list[int] | None = None) -> None:
        self.sums = sums or [0] * (2 * BUCKETS)

    @staticmethod
    def bucket(mark: int, *, young: bool) -> int:
        """Where a mark belongs; what is young, later than all that the other side had, has buckets of its own."""
        return mark % BUCKETS + young * BUCKETS

    def add(self, mark: int) -> None:
        """The first side has it."""
        bucket = mark % BUCKETS
        self.sums[bucket] = (self.sums[bucket] + mark) & _WRAP

    def take(self, mark: int, *, young: bool) -> None:
        """The second side has it."""
        bucket = mark % BUCKETS + young * BUCKETS
        self.sums[bucket] = (self.sums[bucket] - mark) & _WRAP

    def differing(self) -> list[int]:
        """The buckets in which the sides differ."""
        return [bucket for bucket, sum in enumerate(self.sums) if sum]
