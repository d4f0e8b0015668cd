"""Tokenizers of the embedded models, items in many scripts, and scripted servers."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from tasks.engines.served import transport
from tests.engines.served import Scripted, Start

REFERENCE = Path(__file__).parents[2] / "warehouse" / "reference"


@pytest.fixture(scope="session")
def smollm2_tokenizer(smollm2_folder: Path) -> PreTrainedTokenizerBase:
    """ByteLevel BPE with a chat template; its start token is also the template's first."""
    return AutoTokenizer.from_pretrained(smollm2_folder)


@pytest.fixture(scope="session")
def gemma3_tokenizer(gemma3_folder: Path) -> PreTrainedTokenizerBase:
    """SentencePiece-like BPE that adds <bos>, without a chat template."""
    return AutoTokenizer.from_pretrained(gemma3_folder)


@pytest.fixture(scope="session")
def sample_items() -> list[str]:
    """About 300 dishes and holidays of the reference tables, and items that are hard to tokenise."""
    awkward = ["7", "7 Up", "'n sous", "s", "(none)", "1st of May"]
    awkward += ["寿司", "كبسة", "борщ", "पनीर टिक्का", "🍜 ramen"]
    for table in ("item_list/dishes.csv", "item_list/holidays.csv"):
        with (REFERENCE / table).open(encoding="utf-8") as file:
            names = [row["item"] for row in csv.DictReader(file)]
        awkward += names[:: max(1, len(names) // 145)]
    return list(dict.fromkeys(awkward))


@pytest.fixture
def serve() -> Iterator[Start]:
    """A function that starts a scripted server, which ends with the test."""
    with ExitStack() as servers:

        def start(reply: Any) -> Scripted:
            servers.callback((server := Scripted(reply)).close)
            return server

        yield start


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another try follows at once."""
    monkeypatch.setattr(transport, "FIRST_WAIT_S", 0.001)
