"""Finding the cases of a contract, and what a case needs of its storage beyond the ordinary."""

import importlib
import pkgutil
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal, TypeVar

Case = Callable[..., Any]
AnyCase = TypeVar("AnyCase", bound=Case)
Need = Literal["joining", "persistence", "settling", "sharing"]
"""`joining`: a caller's own connection can share a transaction with a store. `persistence`: the data outlive every
open store. `settling`: it can tell whether anything of an earlier time is under way. `sharing`: several stores, each
with its own clock, see it."""


def needs(*wanted: Need) -> Callable[[AnyCase], AnyCase]:
    """Says what a case needs; a storage that lacks it names the reason in `lacks`."""

    def mark(case: AnyCase) -> AnyCase:
        case.__dict__["needs"] = wanted
        return case

    return mark


def needs_of(case: Case) -> tuple[Need, ...]:
    """What the case said that it needs."""
    wanted: tuple[Need, ...] = case.__dict__.get("needs", ())
    return wanted


def collect(package: ModuleType) -> dict[str, Case]:
    """Every `test_*` function that the modules of a package define.

    A module without one, a package without modules and two cases of one name are a `ValueError`: a case that is not
    run is worse than none.
    """
    cases: dict[str, Case] = {}
    modules = [importlib.import_module(f"{package.__name__}.{found.name}") for found in _modules(package)]
    if not modules:
        raise ValueError(f"{package.__name__} has no modules")
    for module in modules:
        here = {
            name: value
            for name, value in vars(module).items()
            if name.startswith("test_") and callable(value)
        }
        if not here:
            raise ValueError(f"{module.__name__} has no cases")
        if twice := cases.keys() & here.keys():
            raise ValueError(f"two cases are named {', '.join(sorted(twice))}")
        cases |= here
    return cases


def _modules(package: ModuleType) -> list[pkgutil.ModuleInfo]:
    return sorted(pkgutil.iter_modules(package.__path__), key=lambda found: found.name)
