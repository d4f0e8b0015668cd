"""Import modules at their first use: a command that prints a few rows never waits for polars."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """A module whose code runs when an attribute is looked up.

    On Python 3.11 and 3.12 ``importlib.util.LazyLoader`` already runs it at the next import statement.
    """

    def __getattr__(self, name: str) -> Any:
        loaded, lock = vars(self), vars(self)["_lock"]
        with lock:
            if type(self) is _Later and not loaded["_is_loading"]:
                loaded["_is_loading"] = True
                self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
                self.__class__ = ModuleType  # type: ignore[assignment]
        try:
            return loaded[name]
        except KeyError:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}") from None


def imported_later(name: str) -> None:
    """Import a module when an attribute is looked up; do nothing if it is imported or not installed."""
    if name in sys.modules or (spec := find_spec(name)) is None:
        return
    module = module_from_spec(spec)
    vars(module).update(_lock=RLock(), _is_loading=False)
    module.__class__ = _Later
    sys.modules[name] = module
