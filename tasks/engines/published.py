"""Reads a paper's published predictions as a model's answers, for kind "published"; no model runs.

The file is JSON: records with ``url`` and ``predicted_ingredient``, in a list or in an object of lists, as
FmLAMA's English_human_evaluation.json has them by origin (Zhou et al. 2025).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from tasks.engines.content import sign_of
from tasks.engines.protocols import (
    Alternatives,
    Conversations,
    EngineError,
    Generation,
    Progress,
    Samplings,
    Schemas,
)
from tasks.engines.specs import EngineSpec
from tasks.parsing import decoded, parse_json

LARGEST = 256 * 2**20
"""Most bytes of a file."""
KEY, ANSWER = "url", "predicted_ingredient"
ABSENT, AMBIGUOUS = "absent", "two answers"
"""Finish reasons of a key that the file does not have, or has with different answers."""

Answers = Mapping[str, tuple[str, ...] | None]
"""Key of a record -> its predictions; None: records of that key have different ones."""


class PublishedAnswers:
    """Completes a prompt that is a record's key with the record's predictions, as a JSON list."""

    def __init__(self, spec: EngineSpec) -> None:
        """Raises ``EngineError`` if the file cannot be read, or has no predictions."""
        self._file = Path(spec.model)
        published_answers(self._file)

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Return the stored predictions of each key, or an empty text with the reason; uses no tokens."""
        answers = published_answers(self._file)
        return [_generation(answers, str(conversation[-1]["content"])) for conversation in conversations]


def published_answers(file: Path) -> Answers:
    """Return the predictions of a file by key; raises EngineError if it cannot be read or has none."""
    return _read(file, sign_of(file))


@lru_cache(maxsize=8)
def _read(file: Path, sign: tuple[int, int, int]) -> Answers:
    if sign[-1] > LARGEST:
        raise EngineError(f"{file}: larger than {LARGEST // 2**20} MiB: split it")
    try:
        content = parse_json(decoded(file.read_bytes()))
    except OSError as error:
        raise EngineError(f"{file}: cannot be read ({error.strerror}): check the path") from error
    except ValueError as error:
        raise EngineError(f"{file}: not JSON: {error}") from error
    answers: dict[str, tuple[str, ...] | None] = {}
    for record in _records(content):
        key, predicted = record.get(KEY), _names(record.get(ANSWER))
        if isinstance(key, str) and key.strip() and predicted:
            own = answers.setdefault(key.strip(), predicted)
            if own is not None and set(own) != set(predicted):
                answers[key.strip()] = None
    if not answers:
        raise EngineError(f"{file}: no record has {KEY} and {ANSWER}: the file has no published predictions")
    return answers


def _records(content: Any) -> Iterable[Mapping[str, Any]]:
    groups: Iterable[Any] = content.values() if isinstance(content, dict) else [content]
    each = (record for group in groups if isinstance(group, list) for record in group)
    return (record for record in each if isinstance(record, dict))


def _names(predicted: Any) -> tuple[str, ...]:
    """Return the predictions of a record; none if one is not a text, or empty."""
    names: Sequence[Any] = predicted if isinstance(predicted, list) else ()
    is_sound = all(isinstance(name, str) and name.strip() for name in names)
    return tuple(name.strip() for name in names) if is_sound else ()


def _generation(answers: Answers, key: str) -> Generation:
    if key not in answers:
        return Generation("", ABSENT, 0, 0)
    predicted = answers[key]
    if predicted is None:
        return Generation("", AMBIGUOUS, 0, 0)
    return Generation(json.dumps(predicted, ensure_ascii=False), "stop", 0, 0)
