"""Ask once whether a spec may send a key to a server that is not its provider's."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import typer

from deployments.show.display import say
from tasks.engines.served.keys import checked_pair, remember, remembered
from tasks.engines.specs import EngineSpec, allow, may_send_key


def trust(home: Path, pairs: Iterable[str]) -> None:
    """Allow the pairs of ``--trust-key`` and those of this home; the home remembers them."""
    new = [checked_pair(pair) for pair in pairs]
    remember(home, new)
    allow(key_pairs=[*remembered(home), *new])


def confirm(home: Path, specs: Iterable[EngineSpec | None], is_dry: bool) -> None:
    """Ask on a terminal about each new pair of a key's variable and a host, and remember what is allowed.

    Without a terminal, and on a dry run, nothing is asked: the engine refuses what was not allowed before it
    sends anything.
    """
    served = [spec for spec in specs if spec is not None and spec.is_served]
    for pair in dict.fromkeys(spec.key_pair for spec in served if not may_send_key(spec)):
        variable, _, host = pair.partition("@")
        can_answer = not is_dry and sys.stdin.isatty() and sys.stderr.isatty()
        if can_answer and typer.confirm(f"Send the key in {variable} to {host}, now and later?", err=True):
            trust(home, [pair])
        else:
            say(f"the key in {variable} goes to {host} only with --trust-key {pair}", "note:", "yellow")
