"""Tokenizers of the embedded models, and items in many scripts."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from transformers import AutoTokenizer, PreTrainedTokenizerBase

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
