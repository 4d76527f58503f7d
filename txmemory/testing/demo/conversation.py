"""The conversations that the agent works through: the one that is shipped, or a file of the reader's own."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import resources
from pathlib import Path

from txmemory import Memory

_FIRST = datetime(2024, 1, 1, 9, 0, tzinfo=UTC)
"""When a conversation without times begins."""
_PAUSE = timedelta(seconds=30)
"""Between two turns of which the later has no time of its own."""
_SESSION = re.compile(r"session_(\d+)")
_SESSION_TIME = "%I:%M %p on %d %B, %Y"


class CannotRead(Exception):
    """The file is not there, or is no conversation; the text says which."""


@dataclass(frozen=True, slots=True)
class Turn:
    """What somebody said. `number` counts from 1; times strictly increase, so that turns have one order."""

    number: int
    speaker: str
    text: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation with a name: at least one turn."""

    name: str
    turns: tuple[Turn, ...]


def shipped() -> Conversation:
    """The conversation that comes with the package. It is invented."""
    text = resources.files("txmemory.testing.demo").joinpath("conversation.json").read_text("utf-8")
    return _conversation("the old boat", json.loads(text), 0)


def read(path: Path, index: int = 0) -> Conversation:
    """The conversation in a JSON file.

    Either a list of {role or speaker, text or content, time}, of which `time` (ISO 8601) may be missing, or a list
    of conversations as the LoCoMo data set has them, of which `index` picks one.
    """
    try:
        given = json.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise CannotRead(f"cannot read {path}: {getattr(error, 'strerror', None) or 'not UTF-8'}") from error
    except (ValueError, RecursionError) as error:
        raise CannotRead(f"{path} is not JSON") from error
    return _conversation(path.stem, given, index)


def _conversation(name: str, given: object, index: int) -> Conversation:
    if not isinstance(given, list) or not given:
        raise CannotRead("a conversation is a JSON list with at least one turn")
    if isinstance(given[0], dict) and "conversation" in given[0]:
        if not 0 <= index < len(given):
            raise CannotRead(f"--index must be in 0 .. {len(given) - 1}")
        name, said = f"{name} {index}", list(_sessions(given[index]))
    else:
        said = list(_list(given))
    if not said:
        raise CannotRead("the conversation has no turns")
    return Conversation(name, tuple(_turns(said)))


Said = tuple[str, str, datetime | None]
"""Speaker, text, and when, if that is known."""


def _list(given: list[object]) -> Iterator[Said]:
    for number, entry in enumerate(given, 1):
        if not isinstance(entry, Mapping):
            raise CannotRead(f"turn {number} is no object")
        said = _text(entry, "speaker", "role"), _text(entry, "text", "content")
        match said:
            case (str(speaker), str(text)):
                yield speaker, text, _time(number, entry.get("time"))
            case _:
                raise CannotRead(f"turn {number} needs a speaker or role and a text or content")


def _sessions(given: object) -> Iterator[Said]:
    conversation = given.get("conversation") if isinstance(given, Mapping) else None
    if not isinstance(conversation, Mapping):
        raise CannotRead("the entry has no conversation")
    names = [match for match in map(_SESSION.fullmatch, conversation) if match]
    for name in sorted(names, key=lambda match: int(match[1])):
        turns = conversation[name[0]]
        if not isinstance(turns, list):
            raise CannotRead(f"{name[0]} is no list of turns")
        began = _session_time(conversation.get(f"{name[0]}_date_time"))
        for place, (speaker, text, time) in enumerate(_list(turns)):
            yield speaker, text, began if place == 0 and time is None else time


def _turns(said: list[Said]) -> Iterator[Turn]:
    last = _FIRST - _PAUSE
    for number, (speaker, text, time) in enumerate(said, 1):
        last = last + _PAUSE if time is None or (time <= last and number > 1) else time
        try:
            Memory(text, metadata={"speaker": speaker}, timestamp=last)
        except ValueError as error:
            raise CannotRead(f"turn {number}: {error}") from error
        yield Turn(number, speaker, text, last)


def _text(entry: Mapping[str, object], *names: str) -> str | None:
    given = (entry[name] for name in names if name in entry)
    first = next(given, None)
    return first if isinstance(first, str) else None


def _time(number: int, given: object) -> datetime | None:
    if given is None:
        return None
    try:
        time = datetime.fromisoformat(given) if isinstance(given, str) else None
    except ValueError:
        time = None
    if time is None:
        raise CannotRead(f"turn {number}: time must be ISO 8601, as in 2024-05-01T09:30:00+00:00")
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _session_time(given: object) -> datetime | None:
    try:
        return datetime.strptime(f"{given}", _SESSION_TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
