#!/usr/bin/env python3
"""Makes the synchronous modules from the asynchronous ones: every `aio/` folder gets a `sync/` folder beside it.

Works on words, strings and comments, not on a syntax tree, so comments and layout survive. Write ordinary async code;
what has no synchronous twin stands between the lines `# async only` and `# end async only`, and a module of which
nothing else remains gets no twin.
"""

import argparse
import keyword
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("txmemory", "tests")

# Names of the language and its library that follow no rule.
RENAMED = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
    "AbstractAsyncContextManager": "AbstractContextManager",
    "StopAsyncIteration": "StopIteration",
    "aclose": "close",
    "aclosing": "closing",
    "aio": "sync",
    "aiter": "iter",
    "anext": "next",
    "asynccontextmanager": "contextmanager",
}

TOKEN = re.compile(
    r"""
      (?P<comment> \#[^\n]* )
    | (?P<string>  (?i:[rbuf]{0,2}) (?: \"{3} (?:\\.|[^\\])*? \"{3} | '{3} (?:\\.|[^\\])*? '{3}
                                      | " (?:\\.|[^"\\\n])* "       | ' (?:\\.|[^'\\\n])* ' ) )
    | (?P<name>    [^\W\d]\w* )
    | (?P<number>  \d[\w.]* )
    | (?P<space>   [^\S\n]+ )
    | (?P<newline> \n )
    | (?P<other>   . )
    """,
    re.VERBOSE | re.DOTALL,
)
ONLY = re.compile(
    r"^[ \t]*# async only[ \t]*\n.*?^[ \t]*# end async only[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
MARK = re.compile(r"^[ \t]*# (?:end )?async only\b.*$", re.MULTILINE)
FORM = re.compile(r"\basync[ \t]+(?=(?:def|for|with)\b)")
AWAIT = re.compile(r"\bawait[ \t]+")
NAME = re.compile(r"[^\W\d]\w*")
# Code within prose: between backticks, or a line of an example.
QUOTED = re.compile(r"(`+)[^`]+\1")
EXAMPLE = re.compile(r"^\s*(?:>>>|\.\.\. )")
FENCE = re.compile(r"^\s*(?:```|~~~)")

HEADER = "# Generated from "

Token = tuple[str, str]


class CannotGenerate(Exception):
    """The source says something that has no synchronous twin."""


def generate(source: str, origin: str) -> str | None:
    """The synchronous twin of a module's text, not yet formatted; None when nothing of it is left."""
    text = ONLY.sub("", source)
    if left := MARK.search(text):
        raise CannotGenerate(f"{left.group().strip()!r} has no partner")
    if source.strip() and not text.strip():
        return None
    tokens = [(match.lastgroup or "", match.group()) for match in TOKEN.finditer(text)]
    body = "".join(value for _, value in translated(without_wrappers(tokens)))
    return f"{HEADER}{origin} by scripts/generate. Do not edit.\n{body}"


def translated(tokens: list[Token]) -> Iterator[Token]:
    """Every token in its synchronous form; `async` and `await` go, together with the space behind them."""
    gone = False
    for kind, value in tokens:
        if gone and kind == "space":
            continue
        gone = kind == "name" and value in {"async", "await"}
        if gone:
            continue
        match kind:
            case "name" if value == "asyncio":
                raise CannotGenerate(
                    "asyncio has no synchronous twin: put its lines between `# async only` marks"
                )
            case "name":
                yield kind, renamed(value)
            case "comment":
                yield kind, prose(value)
            case "string":
                yield kind, string(value)
            case _:
                yield kind, value


def without_wrappers(tokens: list[Token]) -> list[Token]:
    """Leaves out what only served waiting: `(await reply()).page` is `reply().page`, `Awaitable[int]` is `int`."""
    spare: set[int] = set()
    for start, (kind, value) in enumerate(tokens[:-1]):
        after = tokens[start + 1]
        if (kind, value) == ("name", "Awaitable") and after == ("other", "["):
            spare |= {start, start + 1, closing(tokens, start + 1)}
        elif value == "(" and after == ("name", "await") and not (start and ends_callee(tokens[start - 1])):
            end = end_of_primary(tokens, start + 3)
            if end < len(tokens) and tokens[end] == ("other", ")"):
                spare |= {start, end}
    return [token for place, token in enumerate(tokens) if place not in spare]


def ends_callee(token: Token) -> bool:
    """Whether a parenthesis right behind this token is that of a call."""
    return token[0] in {"name", "string"} or token[1] in {")", "]", "}"}


def end_of_primary(tokens: list[Token], start: int) -> int:
    """Where an expression of names, dots, calls and subscripts alone ends."""
    place = start
    while place < len(tokens):
        kind, value = tokens[place]
        if kind == "other" and value in "([{":
            place = closing(tokens, place)
        elif not (value == "." or (kind == "name" and not keyword.iskeyword(value))):
            break
        place += 1
    return place


def closing(tokens: list[Token], start: int) -> int:
    """The place of the bracket that closes the one at `start`."""
    depth = 0
    for place in range(start, len(tokens)):
        kind, value = tokens[place]
        if kind == "other":
            depth += (value in "([{") - (value in ")]}")
            if not depth:
                return place
    raise CannotGenerate("a bracket is never closed")


def renamed(name: str) -> str:
    """`AsyncStore` is `Store`, `open_async` is `open`, `__aenter__` is `__enter__`."""
    if name in RENAMED:
        return RENAMED[name]
    short = re.sub(r"^(_*)Async(?=[A-Z])", r"\1", name)
    short = re.sub(r"(?<=[^_])_async$", "", short)
    if keyword.iskeyword(short) and short != name:
        raise CannotGenerate(f"{name!r} would become the keyword {short!r}")
    return short


def string(literal: str) -> str:
    """Names are renamed in every string; keywords go where a string holds or shows code."""
    quote = literal[-1]
    if "f" in literal.partition(quote)[0].lower():
        literal = re.sub(r"\{[^{}]*\}", lambda braces: without_waiting(braces.group()), literal)
    return prose(literal) if literal.endswith(quote * 3) else names(literal)


def prose(text: str) -> str:
    """A docstring or comment: examples and what stands in backticks are code, `async with` is code anywhere."""
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= bool(FENCE.match(line))
        if fenced or EXAMPLE.match(line):
            lines.append(without_waiting(line))
        else:
            lines.append(FORM.sub("", QUOTED.sub(lambda quoted: without_waiting(quoted.group()), line)))
    return names("\n".join(lines))


def without_waiting(code: str) -> str:
    """Code inside a string or comment without its `async` and `await`."""
    return AWAIT.sub("", FORM.sub("", code))


def names(text: str) -> str:
    """Every name in a text in its synchronous form."""
    return NAME.sub(lambda name: renamed(name.group()), text)


def formatted(text: str, target: Path) -> str:
    """As ruff leaves it: other names sort and fit otherwise, and an import may have been for waiting only."""
    ruff = Path(sys.executable).with_name("ruff")
    compile(text, target, "exec", dont_inherit=True)
    for command in (["check", "--fix-only", "--quiet", "--select=F401,I001,RUF022"], ["format", "--quiet"]):
        text = subprocess.run(
            [ruff, *command, "--stdin-filename", target, "-"],
            input=text,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            check=True,
        ).stdout
    return text


def twins(root: Path) -> dict[Path, str]:
    """Every file that should be there with its text."""
    texts = {}
    for folder in folders(root, "aio"):
        for source in sorted(folder.rglob("*.py")):
            target = folder.parent / "sync" / source.relative_to(folder)
            origin = Path(os.path.relpath(source, target.parent)).as_posix()
            try:
                text = generate(source.read_text(encoding="utf-8"), origin)
                if text is not None:
                    texts[target] = formatted(text, target)
            except (CannotGenerate, SyntaxError) as error:
                raise CannotGenerate(f"{source.relative_to(root)}: {error}") from error
    return texts


def orphans(root: Path, texts: dict[Path, str]) -> list[Path]:
    """Files in generated folders that nothing generates."""
    return [
        path
        for folder in folders(root, "sync")
        for path in sorted(folder.rglob("*.py"))
        if path not in texts and ((folder.parent / "aio").is_dir() or is_generated(path))
    ]


def folders(root: Path, name: str) -> list[Path]:
    """All folders of this name in the package and its tests."""
    return [path for source in SOURCES for path in sorted((root / source).rglob(name)) if path.is_dir()]


def is_generated(path: Path) -> bool:
    """Whether this script made the file."""
    return path.read_text(encoding="utf-8").startswith(HEADER)


def check(root: Path, texts: dict[Path, str]) -> list[str]:
    """What differs from what would be generated."""
    missing = [f"missing: {path.relative_to(root)}" for path in texts if not path.exists()]
    stale = [
        f"stale: {path.relative_to(root)}"
        for path, text in texts.items()
        if path.exists() and path.read_text(encoding="utf-8") != text
    ]
    return missing + stale + [f"orphaned: {path.relative_to(root)}" for path in orphans(root, texts)]


def write(root: Path, texts: dict[Path, str]) -> list[str]:
    """Makes it so; what somebody wrote by hand is named and left alone."""
    kept = []
    for path in orphans(root, texts):
        if is_generated(path):
            path.unlink()
        else:
            kept.append(f"not generated, move it out of sync/: {path.relative_to(root)}")
    for path, text in texts.items():
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(root)}")
    return kept


def main() -> int:
    """Exit code 0: all is as it should be; 1: it is not; 2: a source has no twin."""
    parser = argparse.ArgumentParser(description="Makes the sync/ folders from the aio/ folders beside them.")
    parser.add_argument("--check", action="store_true", help="write nothing, name what is not up to date")
    parser.add_argument("--root", type=Path, default=ROOT, help="the folder that holds txmemory/ and tests/")
    options = parser.parse_args()
    try:
        texts = twins(options.root)
    except CannotGenerate as error:
        print(f"scripts/generate: {error}", file=sys.stderr)
        return 2
    problems = check(options.root, texts) if options.check else write(options.root, texts)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
