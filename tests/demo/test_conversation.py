"""The conversations of files: which are read, and how those that are none are told."""

import json
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest

from txmemory.testing.demo.conversation import CannotRead, read, shipped


def write(folder: Path, content: object) -> Path:
    file = folder / "talk.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def test_the_shipped_conversation_is_of_two_people_over_several_days() -> None:
    turns = shipped().turns
    assert len(turns) >= 40
    assert len({turn.speaker for turn in turns}) == 2
    assert len({turn.time.date() for turn in turns}) > 2


def test_a_list_of_turns_is_read_by_either_name(tmp_path: Path) -> None:
    given = [
        {"role": "user", "content": "Good morning", "time": "2024-03-01T08:00:00+01:00"},
        {"speaker": "Ada", "text": "And to you"},
    ]
    first, second = read(write(tmp_path, given)).turns
    assert (first.speaker, first.text) == ("user", "Good morning")
    assert first.time == datetime(2024, 3, 1, 7, tzinfo=UTC)
    assert (second.speaker, second.text) == ("Ada", "And to you")


def test_times_strictly_increase_whatever_the_file_says(tmp_path: Path) -> None:
    times = ["2024-03-01T08:00:00", "2024-03-01T08:00:00", None, "2023-01-01T00:00:00"]
    given = [{"speaker": "Ada", "text": "word"} | ({"time": time} if time else {}) for time in times]
    turns = read(write(tmp_path, given)).turns
    assert all(earlier.time < later.time for earlier, later in pairwise(turns))


def test_sessions_are_read_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    def session(number: int) -> list[dict[str, str]]:
        return [{"speaker": "Ada", "dia_id": f"D{number}:1", "text": f"session {number}"}]

    talk = {
        "speaker_a": "Ada",
        "speaker_b": "Ben",
        "session_10_date_time": "9:55 am on 22 October, 2023",
        "session_10": session(10),
        "session_2_date_time": "1:56 pm on 8 May, 2023",
        "session_2": session(2),
    }
    file = write(tmp_path, [{"conversation": {}}, {"conversation": talk}])
    first, second = read(file, 1).turns
    assert (first.text, second.text) == ("session 2", "session 10")
    assert first.time == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert second.time == datetime(2023, 10, 22, 9, 55, tzinfo=UTC)


@pytest.mark.parametrize(
    "given",
    [
        {},
        [],
        ["word"],
        [{"speaker": "Ada"}],
        [{"text": "word"}],
        [{"speaker": "Ada", "text": 5}],
        [{"speaker": "Ada", "text": "word", "time": "yesterday"}],
        [{"speaker": "Ada", "text": "a\0b"}],
        [{"conversation": {}}],
        [{"conversation": {"session_1": "none"}}],
    ],
)
def test_what_is_no_conversation_is_told(tmp_path: Path, given: object) -> None:
    with pytest.raises(CannotRead):
        read(write(tmp_path, given))


def test_a_file_that_is_missing_or_no_json_and_an_index_without_conversation_are_told(tmp_path: Path) -> None:
    file = write(tmp_path, [{"conversation": {}}])
    with pytest.raises(CannotRead, match="--index"):
        read(file, 1)
    file.write_text("no json", encoding="utf-8")
    with pytest.raises(CannotRead, match="JSON"):
        read(file)
    with pytest.raises(CannotRead, match="cannot read"):
        read(tmp_path / "missing.json")
