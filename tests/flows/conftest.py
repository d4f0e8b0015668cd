"""Scripted servers that the engine specs of a home name as models."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines.served import Reply, Scripted

Serve = Callable[..., Scripted]
"""(reply, *names of models, lines that their specs have besides) -> the server"""


@pytest.fixture
def serve(home: Path) -> Iterator[Serve]:
    """Start a server of the OpenAI chat API and write an engine spec for each model's name."""
    servers: list[Scripted] = []

    def start(reply: Reply, *names: str, more: str = "") -> Scripted:
        servers.append(Scripted(reply))
        for name in names:
            text = (
                f'name = "{name}"\nkind = "openai"\nmodel = "{name}"\nbase_url = "{servers[-1].url}"\n{more}'
            )
            (home / "engines" / f"{name}.toml").write_text(text)
        return servers[-1]

    yield start
    for server in servers:
        server.close()
