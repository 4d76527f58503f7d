#!/usr/bin/env python3
"""Makes the virtual environment and installs the project into it. Called by scripts/setup; needs no package."""

import fcntl
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(environment: Path, extra: str) -> int:
    """Installs once, however many callers there are: the others wait and find it done."""
    os.chdir(ROOT)
    # The lock is on the clone's folder, which is always there. The installer's process inherits it: should we be
    # killed, the next caller waits until the orphan is through.
    lock = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    python = environment / "bin" / "python"
    stamp = environment / f"installed-{extra}"
    wanted = f"{ROOT}\n{(ROOT / 'pyproject.toml').read_text()}"
    runs = is_running(python)
    if runs and stamp.exists() and stamp.read_text() == wanted:
        return 0
    version = ".".join(map(str, sys.version_info[:3]))
    say(f"installing txmemory[{extra}] into {environment.name} (Python {version}) ...")
    try:
        if not (runs and belongs_here(environment)):
            if environment.exists():
                shutil.rmtree(environment)
            venv.create(environment, with_pip=True, symlinks=True)
        for other in environment.glob("installed-*"):
            if other.read_text() != wanted:
                other.unlink()
    except (OSError, subprocess.CalledProcessError) as error:
        say(f"could not make {environment}: {error}")
        return 1
    if not install(python, extra, lock):
        say(f"could not install txmemory[{extra}]: see above; is the package index within reach?")
        return 1
    # Written in one step: who sees the stamp sees all of it.
    fresh = stamp.with_suffix(".new")
    fresh.write_text(wanted)
    fresh.replace(stamp)
    (environment / "belongs-to").write_text(f"{ROOT}\n")
    return 0


def is_running(python: Path) -> bool:
    """Whether this interpreter starts for this user."""
    try:
        return subprocess.run([python, "-c", ""], check=False, capture_output=True).returncode == 0
    except OSError:
        return False


def belongs_here(environment: Path) -> bool:
    """Whether the environment was made for this very folder: a copy would install into the original."""
    try:
        return (environment / "belongs-to").read_text() == f"{ROOT}\n"
    except OSError:
        return False


def install(python: Path, extra: str, lock: int) -> bool:
    """Runs pip, whose words are shown only when it fails."""
    command = [
        str(python),
        "-m",
        "pip",
        "install",
        "--no-input",
        "--progress-bar=off",
        "--disable-pip-version-check",
    ]
    command += ["--root-user-action=ignore", "--no-warn-script-location", f"--editable=.[{extra}]"]
    if not os.access(os.environ.get("HOME", ""), os.W_OK):
        command.append("--no-cache-dir")
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=[lock],
        check=False,
    )
    if done.returncode != 0:
        sys.stderr.buffer.write(done.stdout)
        sys.stderr.flush()
    return done.returncode == 0


def say(words: str) -> None:
    """Standard output belongs to the script that asked for the environment."""
    print(f"scripts/setup: {words}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
