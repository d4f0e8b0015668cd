"""What generation may use, in tokens and US dollars, and a meter that stops before it is used up.

Only what is newly asked counts: stored answers are free. Before each batch the meter adds to what was used
the most that the batch can use: ``max_tokens`` for every answer, and an estimate of every prompt. If that is
over the limit, the batch is not begun. So a limit is kept, except for prompts that have more tokens than
estimated: then the run stops after the batch that crosses it. A server that does not say how many tokens an
answer took is counted at the most.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.engines.protocols import EngineError, Generation, Message, Sampling
from tasks.engines.specs import EngineSpec, cost

BYTES_PER_TOKEN = 3
"""English has 4 or more, and other scripts seldom less with the vocabularies of current models."""
TEMPLATE_TOKENS = 16
"""What a chat template adds to a message."""


@dataclass(frozen=True)
class Budget:
    """The most that a run may use of tokens (sent and written) and of US dollars; None: no limit."""

    max_tokens: int | None = None
    max_usd: float | None = None


class BudgetReached(EngineError):  # noqa: N818 - "raise BudgetReached" says it all
    """The next batch may use more than is left; the message says what was used and what to do."""


class Meter:
    """What the calls that share it have used. Make one a run and hand it to each call in turn."""

    def __init__(self, budget: Budget) -> None:
        """Nothing is used yet."""
        self.budget = budget
        self.tokens = 0
        self.usd = 0.0

    def check(self, spec: EngineSpec, most: Sequence[Generation]) -> None:
        """Let a batch begin that uses at most this (``at_most``, one a conversation).

        Raises:
            BudgetReached: it does not fit.
            EngineError: dollars are limited, and a server's spec names no price.
        """
        tokens, usd = _tokens(most), self._usd(spec, most)
        limits = []
        if self.budget.max_tokens is not None and self.tokens + tokens > self.budget.max_tokens:
            limits.append(
                f"{self.tokens:,} of {self.budget.max_tokens:,} tokens are used, and the next {len(most)} "
                f"answers may take {tokens:,}"
            )
        if self.budget.max_usd is not None and self.usd + usd > self.budget.max_usd:
            limits.append(
                f"{self.usd:.4f} of {self.budget.max_usd:.4f} US dollars are spent, and the next {len(most)} "
                f"answers may cost {usd:.4f}"
            )
        if limits:
            raise BudgetReached(
                f"model {spec.name!r}: the budget is reached: {'; '.join(limits)}. All answers so far are "
                "stored: raise the limit (or lower the batch) and run again, and only the rest is asked"
            )

    def add(self, spec: EngineSpec, most: Sequence[Generation], answers: Sequence[Generation]) -> None:
        """Count a batch that was answered; most: what ``check`` was given for it."""
        used = [m if g.prompt_tokens == 0 else g for m, g in zip(most, answers, strict=True)]
        self.tokens += _tokens(used)
        self.usd += self._usd(spec, used)

    def _usd(self, spec: EngineSpec, answers: Sequence[Generation]) -> float:
        """What these cost; models that run here are free unless their spec says otherwise."""
        dollars = cost(spec, answers)
        if dollars is None and spec.kind == "openai" and self.budget.max_usd is not None:
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
