"""Scores of candidates in the blank of each of several sentences. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tasks.engines.prompting import candidate_rule
from tasks.engines.protocols import Ability, CandidateScorer, Cloze, EngineError
from tasks.loop.items import ScoringRequest
from tasks.loop.requests import Engine


@dataclass(frozen=True)
class StoredScores:
    """Stored scores in the order of the request; NaN for a candidate that the vocabulary cannot spell.

    Attributes:
        logprob: float64 [sentences, candidates] sum over the scored tokens of log p.
        probability: float64 [sentences, candidates] mean over the scored tokens of p.
        n_tokens: float64 [sentences, candidates] number of scored tokens.
    """

    logprob: NDArray[np.float64]
    probability: NDArray[np.float64]
    n_tokens: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class CandidateRanking(ScoringRequest[StoredScores | str]):
    """Sentences of one template with a blank, and all candidates for it.

    Decoded to scores, or to the reason why they are incomplete.

    Attributes:
        cloze: makes the engine's input from sentences up to the blank.
        prompts: the sentences up to the blank, which are the units; may repeat.
        candidates: the texts that are scored in the blank.
    """

    kind: ClassVar[str] = "candidate_score"
    ability: ClassVar[Ability] = "candidates"
    columns: ClassVar[tuple[str, ...]] = ("prompt", "candidate", "logprob", "probability", "n_tokens")

    cloze: Callable[[Sequence[str]], Cloze]
    prompts: Sequence[str]
    candidates: Sequence[str]

    @property
    def units(self) -> Sequence[str]:
        """Sentences up to the blank."""
        return self.prompts

    def rule(self, engine: Engine) -> str:
        return candidate_rule(engine.kind)

    def size(self, units: Sequence[str]) -> int:
        """Return the number of pairs of sentence and candidate."""
        return len(units) * len(self.candidates)

    def compute(
        self, engine: CandidateScorer, units: Sequence[str], progress: Callable[[int], None]
    ) -> pl.DataFrame:
        """Implement ``Request.compute``; a row per sentence and candidate that the vocabulary can spell.

        Raises:
            EngineError: the vocabulary can spell none of the candidates.
        """
        scores = engine.score_candidates(self.cloze(units), self.candidates, progress)
        frame = pl.DataFrame(
            {
                "template": [self.label] * scores.logprob.size,
                "prompt": [unit for unit in units for _ in self.candidates],
                "candidate": list(self.candidates) * len(units),
                "logprob": scores.logprob.ravel(),
                "probability": scores.probability.ravel(),
                "n_tokens": np.tile(scores.n_tokens, len(units)),
            }
        ).filter(pl.col("logprob").is_not_nan())
        if frame.is_empty():
            raise EngineError(f"it can spell none of the candidates of {self.topic!r}: leave that out")
        return frame

    def decode(self, frame: pl.DataFrame) -> StoredScores | str:
        missing = set(self.prompts) - set(frame["prompt"].unique())
        if missing:
            return f"{len(missing)} of {len(set(self.prompts))} sentences have no answer"
        sentences = sorted(set(self.prompts))
        n = len(self.candidates)
        row = frame["prompt"].replace_strict(sentences, range(len(sentences)), return_dtype=pl.Int64)
        column = frame["candidate"].replace_strict(list(self.candidates), range(n), return_dtype=pl.Int64)
        place = {prompt: i for i, prompt in enumerate(sentences)}
        order = [place[prompt] for prompt in self.prompts]

        def table(name: str) -> NDArray[np.float64]:
            values = np.full((len(sentences), n), np.nan)
            values[row.to_numpy(), column.to_numpy()] = frame[name].to_numpy()
            return values[order]

        return StoredScores(table("logprob"), table("probability"), table("n_tokens"))
