# Generated from ../aio/searching.py by scripts/generate. Do not edit.
"""Keyword search: whole words of any script, one list with one score on every backend, of what is there now."""

from datetime import UTC, datetime, timedelta

import pytest

from txmemory import Bounds, Filter, Memory, Store, must
from txmemory.model import command as wanted
from txmemory.model.address import Address
from txmemory.model.commit import Put
from txmemory.model.item import Item, microseconds
from txmemory.rules import planning
from txmemory.testing.sync.storage import Storage

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)

CORPUS = {
    "green": "Ada drinks green tea, and nothing but green tea.",
    "both": "Tea in the morning, coffee in the evening: that is what Bob drinks.",
    "team": "The teams of Java and JavaScript sit in the steamy room.",
    "berlin": "A Berlin-based friend of Ada's; she doesn't like Dublin.",
    "disk": "The disk writes 3.5 GB/s, 100% of what snake_case promises.",
    "turkish": "\u0130stanbul and Diyarbak\u0131r, stra\u00dfe und CAF\u00c9",
    "chinese": "\u6211\u559c\u6b22\u7eff\u8336",
    "thai": "\u0e40\u0e23\u0e32\u0e01\u0e34\u0e19\u0e02\u0e49\u0e32\u0e27",
    "hangul": "\ub179\ucc28\ub97c \uc88b\uc544\ud574\uc694",
    "empty": "",
    "emoji": "\U0001f375\U0001f375\U0001f375",
    "year": "In 2031 the tea house opened.",
}
"""What each memory says, by its id; each is a minute older than the one before."""

FOUND: dict[str, dict[str, float]] = {
    "tea": {"green": 0.603773584906, "year": 0.506329113924, "both": 0.361990950226},
    "green tea": {"green": 0.603773584906, "year": 0.191377074857, "both": 0.136821619129},
    "Tea COFFEE": {"both": 0.361990950226, "green": 0.228208134546, "year": 0.191377074857},
    "what does Ada drink": {"green": 0.145296318227, "berlin": 0.126791598453},
    "Ada drinks": {"green": 0.432432432432, "berlin": 0.188679245283, "both": 0.180995475113},
    "java": {"team": 0.394088669951},
    "berlin-based friend": {"berlin": 0.377358490566},
    "gb/s": {"disk": 0.361990950226},
    "istanbul": {"turkish": 0.506329113924},
    "\u015eTRASSE cafe": {"turkish": 0.506329113924},
    "\u8336": {"chinese": 0.432432432432},
    "\u559c\u6b22\u7eff\u8336": {"chinese": 0.432432432432},
    "\u0e01\u0e34\u0e19": {"thai": 0.334728033473},
    "\ub179\ucc28\ub97c tea": {
        "hangul": 0.407888706333,
        "green": 0.228208134546,
        "year": 0.191377074857,
        "both": 0.136821619129,
    },
    "2031": {"year": 0.506329113924},
    "tea unheard": {"green": 0.173351079744, "year": 0.145373532064, "both": 0.103932208444},
    "unheard": {},
    "the": {"team": 0.565371024735, "both": 0.531561461794, "year": 0.506329113924, "disk": 0.361990950226},
    "in": {"both": 0.531561461794, "year": 0.506329113924, "team": 0.394088669951},
}
"""Queries, and what each finds in the corpus: ids with their scores to twelve places, the best first."""


def filled(storage: Storage) -> Store:
    """A store that holds the corpus."""
    store = storage.open()
    corpus = [
        Memory(content, id=id, timestamp=NOON - timedelta(minutes=minute))
        for minute, (id, content) in enumerate(CORPUS.items())
    ]
    must(store.writer("run", 1).write("corpus", corpus))
    return store


def ids(store: Store, query: str, top_k: int = 10, filter: Filter | None = None) -> list[str]:
    """The ids that a query finds, in order."""
    found = must(store.search(query, top_k, Filter.all() if filter is None else filter))
    return [each.memory.id for each in found]


def saying(store: Store, **contents: str) -> None:
    """Stores what each id is to say, all of one time."""
    for id, content in contents.items():
        must(store.store(Memory(content, id=id, timestamp=NOON)))


def test_every_query_finds_this_list_with_these_scores(storage: Storage) -> None:
    """S5: the figures are written out, so all backends agree with each other because they agree with them."""
    store = filled(storage)
    for query, expected in FOUND.items():
        found = must(store.search(query))
        assert [(each.memory.id, round(each.score, 12)) for each in found] == list(expected.items()), query
        assert found == sorted(found)
        assert [each.memory.content for each in found] == [CORPUS[id] for id in expected]


def test_words_are_found_whole(storage: Storage) -> None:
    """Neither within another word nor by their beginning; short ones too; punctuation is no part of them."""
    store = storage.open()
    saying(store, a="I see", b="Berlin is it", c="Java (yes)", d="JavaScript", e="C++ or C#", f="x-ray")
    assert ids(store, "i") == ["a"]
    assert ids(store, "java?") == ["c"]
    assert ids(store, "jav") == []
    assert ids(store, "C") == ["e"]
    assert ids(store, "x") == ["f"]
    assert ids(store, "x-ray") == ["f"]


def test_case_and_diacritics_make_no_difference_in_any_locale(storage: Storage) -> None:
    """The Turkish letters among them: each spelling finds each."""
    store = storage.open()
    for spellings in (
        ("\u0130stanbul", "ISTANBUL", "istanbul", "\u0131stanbul", "i\u0307stanbul"),
        ("stra\u00dfe", "STRASSE", "Stra\u1e9ee", "strasse"),
        ("caf\u00e9", "CAFE\u0301", "cafe", "\uff23\uff21\uff26\uff25"),
        ("\u03bb\u03cc\u03b3\u03bf\u03c2", "\u039b\u039f\u0393\u039f\u03a3"),
    ):
        must(store.clear())
        saying(store, **{f"{n}": f"so {spelling} it is" for n, spelling in enumerate(spellings)})
        for spelling in spellings:
            assert sorted(ids(store, spelling)) == [f"{n}" for n in range(len(spellings))]


def test_digits_are_words_in_any_script(storage: Storage) -> None:
    """A number is found whole, however its digits are written."""
    store = storage.open()
    saying(
        store,
        a="in 2031",
        b="in 20310",
        c="\u0662\u0660\u0663\u0661",
        d="v2031",
        e="\uff12\uff10\uff13\uff11",
    )
    assert ids(store, "2031") == ["e", "c", "a"]


def test_a_part_of_a_text_without_spaces_finds_it(storage: Storage) -> None:
    """Han, Kana, Thai: by one character, by two, by more; other scripts by whole words."""
    store = filled(storage)
    assert ids(store, "\u8336") == ["chinese"]
    assert ids(store, "\u7eff\u8336") == ["chinese"]
    assert ids(store, "\u559c\u6b22\u8336") == ["chinese"]
    assert ids(store, "\u8336\u7eff") == []
    assert ids(store, "\u0e01\u0e34\u0e19") == ["thai"]
    assert ids(store, "\ub179\ucc28\ub97c") == ["hangul"]
    assert ids(store, "\ub179\ucc28") == []


def test_a_query_without_words_finds_nothing(storage: Storage) -> None:
    """Blank ones, and those of punctuation or emoji alone."""
    store = filled(storage)
    for query in ("", " ", "\n\t", "?!", "%", "_", "*", '"', "''", "\\", "()", "-", "\U0001f375", "\u2003"):
        assert must(store.search(query)) == []


def test_a_query_of_stop_words_alone_finds_them(storage: Storage) -> None:
    """Beside other words they find nothing."""
    store = storage.open()
    saying(store, a="to be or not to be", b="the rain")
    assert ids(store, "To be, or not to be?") == ["a"]
    assert ids(store, "the") == ["b"]
    assert ids(store, "the sun") == []


@pytest.mark.parametrize(
    "query",
    [
        '"tea',
        "tea*",
        "tea NEAR(green, 2) AND NOT OR",
        "-tea +green ~cup ^x",
        "tea' OR '1'='1",
        "tea:* & !(|",
        "content:tea {a b}: tea",
        "%tea_",
        "tea\\",
        "tea; DROP TABLE txm_item --",
        ":tea $1 ?1 @x #y {tea} %(tea)s",
    ],
)
def test_no_query_is_an_operator_or_an_error(storage: Storage, query: str) -> None:
    """S1: what any engine would take for syntax is text, and the words in it are found."""
    store = storage.open()
    saying(store, a="green tea", b="water")
    assert ids(store, query) == ["a"]


def test_compound_words_are_found(storage: Storage) -> None:
    """S1: with hyphens, apostrophes, slashes, underscores; whole or by a part."""
    store = filled(storage)
    for query, id in (
        ("Berlin-based", "berlin"),
        ("based", "berlin"),
        ("doesn't", "berlin"),
        ("doesn\u2019t", "berlin"),
        ("GB/s", "disk"),
        ("snake_case", "disk"),
        ("snake", "disk"),
        ("100%", "disk"),
        ("3.5", "disk"),
    ):
        assert ids(store, query) == [id], query


def test_what_a_query_may_not_be_is_refused_before_anything_is_asked(storage: Storage) -> None:
    """S1, S6: NUL, lone surrogates, more than 64 KiB, what is no text; a negative number of results."""
    store = storage.open()
    saying(store, a="tea")
    assert ids(store, "tea " * 16_384) == ["a"]
    assert ids(store, "tea", top_k=0) == []
    assert ids(store, "tea", top_k=2**63 - 1) == ["a"]
    for query in ("tea\x00", "tea\ud800", "tea " * 16_384 + " ", "\u00e9" * 32_769):
        with pytest.raises(ValueError):
            store.search(query)
    for top_k in (-1, 2**63):
        with pytest.raises(ValueError):
            store.search("tea", top_k)
    for wrong in (None, 1, b"tea", ["tea"]):
        with pytest.raises(TypeError):
            store.search(wrong)  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        store.search("tea", "1")  # type: ignore[arg-type]  # the wrong type is the point
    with pytest.raises(TypeError):
        store.search("tea", filter="task")  # type: ignore[arg-type]  # the wrong type is the point
    storage.clock.fail(LookupError("asked"))
    assert must(store.search("")) == must(store.search("tea", 0)) == []
    with pytest.raises(LookupError):
        store.search("tea")
    storage.clock.fail(None)


def test_only_what_is_there_now_is_found(storage: Storage) -> None:
    """S4: not what was replaced, deleted, evicted or cleared, and not what has expired."""
    store = storage.open()
    saying(store, a="green tea", b="green tea", c="green tea", d="green tea")
    saying(store, a="coffee")
    must(store.delete("b"))
    must(store.writer("run", 1).replace("step", [Memory("water", id="e")], ["c"]))
    assert ids(store, "tea") == ["d"]
    assert ids(store, "coffee") == ["a"]
    later = Memory("milk", id="f", timestamp=storage.clock() + timedelta(days=1))
    must(store.store(later, bounds=Bounds(1)))
    assert ids(store, "tea coffee water milk") == ["f"]
    must(store.clear())
    assert ids(store, "milk") == []
    expires = storage.clock() + timedelta(seconds=10)
    item = Item("knowledge", "rain", expires_at=microseconds(expires, "expires"))
    put = Put(Address(("memories",), "g"), item)
    storage.commit(planning.swap(wanted.Swap((put,)), "default"))
    assert ids(store, "rain") == ["g"]
    storage.clock.advance(timedelta(seconds=10))
    assert ids(store, "rain") == []


def test_equal_scores_are_in_recall_order(storage: Storage) -> None:
    """S8: by (timestamp, id) descending, a total order that `top_k` cuts."""
    store = storage.open()
    for minute, id in ((1, "z"), (2, "a"), (2, "b"), (2, "B"), (2, "\u00e9"), (3, "a0")):
        must(store.store(Memory("tea", id=id, timestamp=NOON + timedelta(minutes=minute))))
    must(store.store(Memory("tea tea", id="best", timestamp=NOON)))
    assert ids(store, "tea") == ["best", "a0", "\u00e9", "b", "a", "B", "z"]
    assert ids(store, "tea", top_k=4) == ["best", "a0", "\u00e9", "b"]
    found = must(store.search("tea"))
    assert len({each.score for each in found}) == 2
    assert all(0 < each.score < 1 for each in found)


def test_the_filter_comes_before_the_number_of_results(storage: Storage) -> None:
    """What it leaves out takes no place, and has no part in the scores."""
    store, other = storage.open(), storage.open()
    other = other.within("beside")
    for minute in range(6):
        type_ = "task" if minute < 3 else "entity"
        memory = Memory("tea " * (minute + 1), id=f"{minute}", memory_type=type_, timestamp=NOON)
        must(store.store(memory))
        if type_ == "task":
            must(other.store(memory))
    assert ids(store, "tea", top_k=2) == ["5", "4"]
    assert ids(store, "tea", top_k=2, filter=Filter.by_type("task")) == ["2", "1"]
    assert ids(store, "tea", filter=Filter.by_type("task")) == ["2", "1", "0"]
    assert ids(store, "tea", filter=Filter.none()) == []
    narrowed = must(store.search("tea", filter=Filter.by_type("task")))
    alone = must(other.search("tea"))
    assert [each.score for each in narrowed] == [each.score for each in alone]


def test_a_search_spans_pages(storage: Storage) -> None:
    """2,100 memories: what stands on the last page is found, and every one when all are asked for."""
    store = storage.open()
    for batch in range(3):
        many = [
            Memory(f"tea number {n}", id=f"m-{n:04}", timestamp=NOON - timedelta(seconds=n // 700))
            for n in range(700 * batch, 700 * batch + 700)
        ]
        must(store.writer("run", 1).write(f"{batch}", many))
    assert ids(store, "2099") == ["m-2099"]
    assert ids(store, "tea 1400", top_k=1) == ["m-1400"]
    every = ids(store, "tea", top_k=10_000)
    assert every == [memory.id for memory in must(store.recall(limit=10_000))]
    assert len(every) == 2_100


def test_nothing_of_another_namespace_or_tenant_is_found(storage: Storage) -> None:
    """Nor has it a part in the scores."""
    store = storage.open()
    here = store.within("users")
    saying(here, a="green tea", b="water")
    before = must(here.search("tea"))
    for place in (
        store,
        store.within("users", "ada"),
        store.within("users%"),
        store.tenant("acme").within("users"),
    ):
        saying(place, x="tea", y="tea tea")
    assert must(here.search("tea")) == before
    assert ids(here, "tea") == ["a"]
    assert ids(store.tenant("other"), "tea") == []


def test_long_words_and_long_texts_are_cut_alike(storage: Storage) -> None:
    """S9: a word by its first 255 bytes; of a text the first 100,000 words."""
    store = storage.open()
    saying(store, a="x" * 3_000, b="\u0436" * 1_500, c="ab " * 100_000 + "behind", d="ab " * 99_999 + "last")
    assert ids(store, "x" * 2_000) == ["a"]
    assert ids(store, "x" * 254) == []
    assert ids(store, "\u0416" * 127) == ["b"]
    assert ids(store, "behind") == []
    assert ids(store, "last") == ["d"]


def test_a_memory_that_was_found_is_the_memory(storage: Storage) -> None:
    """With every field, its revision among them: it can be a source."""
    store = storage.open()
    given = Memory("green tea", id="m", metadata={"user_id": "ada"}, importance=0.5, memory_type="task")
    must(store.store(given))
    must(store.store(given))
    (found,) = must(store.search("tea"))
    assert found.memory == must(store.get("m"))
    assert found.memory.revision == 2
    receipt = must(store.writer("run", 1).replace("step", [], [found.memory]))
    assert receipt.outcome.status == "stored"
