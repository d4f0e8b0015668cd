"""The limit on generation, in tokens and US dollars, and a meter that stops before it is used up.

Only what is newly asked counts: stored answers are free. Before each batch the meter adds to what was used
the most that the batch can use: ``max_tokens`` for every answer, and an estimate of every prompt. If that is
over the limit, the batch is not begun. Batches that are under way at once count at their most until they are
answered. So a limit is kept, except for prompts that have more tokens than
estimated: then the run stops after the batch that crosses it. A server that does not say how many tokens an
answer took is counted at the most.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

from tasks.engines.protocols import EngineError, Generation, Message, Sampling
from tasks.engines.specs import EngineSpec, cost

BYTES_PER_TOKEN = 3
"""English has 4 or more, and other scripts seldom less with the vocabularies of current models."""
TEMPLATE_TOKENS = 16
"""Tokens that a chat template adds to a message."""

Count = Callable[[Sequence[Generation], Sequence[Generation]], None]
"""Called with the most that some answers might have used, and with the answers."""


@dataclass(frozen=True)
class Budget:
    """The most that a run may use of tokens (sent and written) and of US dollars; None: no limit."""

    max_tokens: int | None = None
    max_usd: float | None = None


class BudgetReached(EngineError):  # noqa: N818 - "raise BudgetReached" says it all
    """The next batch may use more than is left; the message says what was used and what to do."""


class Meter:
    """Tokens and cost of the calls that share it, from one thread or several. Make one a run."""

    def __init__(self, budget: Budget) -> None:
        """Nothing is used yet."""
        self.budget = budget
        self.tokens = 0
        self.usd = 0.0
        self._under_way: list[tuple[int, float]] = []
        self._lock = Lock()

    @contextmanager
    def batch(self, spec: EngineSpec | None, most: Sequence[Generation]) -> Iterator[Count]:
        """Let a batch begin that uses at most this (``at_most``, one a conversation; none: it costs nothing).

        Yields:
            What to call with the answers, and with the most that they might have used: what a server does not
            count is counted at that.

        Raises:
            BudgetReached: it does not fit.
            EngineError: dollars are limited, and a server's spec names no price.
        """
        if spec is None or not most:
            yield lambda most, answered: None
            return
        answers: list[Generation] = []
        with self._lock:
            self._check(spec, most)
            self._under_way.append(at_most := (_tokens(most), self._usd(spec, most)))
        try:
            yield lambda most, answered: answers.extend(
                m if g.prompt_tokens == 0 else g for m, g in zip(most, answered, strict=True)
            )
        finally:
            with self._lock:
                self._under_way.remove(at_most)
                self.tokens += _tokens(answers)
                self.usd += self._usd(spec, answers)

    def _check(self, spec: EngineSpec, most: Sequence[Generation]) -> None:
        """See ``batch``."""
        tokens, usd = _tokens(most), self._usd(spec, most)
        used = self.tokens + sum(tokens for tokens, _ in self._under_way)
        spent = self.usd + sum(usd for _, usd in self._under_way)
        limits = []
        if self.budget.max_tokens is not None and used + tokens > self.budget.max_tokens:
            limits.append(
                f"{used:,} of {self.budget.max_tokens:,} tokens are used, and the next {len(most)} "
                f"answers may take {tokens:,}"
            )
        if self.budget.max_usd is not None and spent + usd > self.budget.max_usd:
            limits.append(
                f"{spent:.4f} of {self.budget.max_usd:.4f} US dollars are spent, and the next {len(most)} "
                f"answers may cost {usd:.4f}"
            )
        if limits:
            raise BudgetReached(
                f"model {spec.name!r}: the budget is reached: {'; '.join(limits)}. All answers so far are "
                "stored: raise the limit (or lower the batch) and run again, and only the rest is asked"
            )

    def _usd(self, spec: EngineSpec, answers: Sequence[Generation]) -> float:
        """Return their cost; models that run here are free unless their spec says otherwise."""
        dollars = cost(spec, answers)
        if dollars is None and spec.is_served and self.budget.max_usd is not None:
            raise EngineError(
                f"model {spec.name!r}: dollars are limited, but its spec names no price: add "
                "usd_per_million_input_tokens and usd_per_million_output_tokens (0 for a server of your "
                "own), or limit tokens"
            )
        return dollars or 0.0


def at_most(
    conversation: Sequence[Message], schema: Mapping[str, Any] | None, sampling: Sampling
) -> Generation:
    """An answer without text that takes the most tokens: the prompt as estimated, the answer as limited."""
    texts = [m["content"] for m in conversation] + ([json.dumps(schema)] if schema is not None else [])
    estimate = math.ceil(sum(len(t.encode()) for t in texts) / BYTES_PER_TOKEN)
    prompt = estimate + TEMPLATE_TOKENS * len(texts)
    return Generation("", "length", prompt, sampling.max_tokens, sampling.seed)


def _tokens(answers: Sequence[Generation]) -> int:
    return sum(g.prompt_tokens + g.completion_tokens for g in answers)
