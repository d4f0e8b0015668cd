"""The limit on generation, in tokens and US dollars, and a meter that stops before it is exceeded.

Only new completions count: stored ones are free. Before each batch the meter estimates its maximum:
``max_tokens`` for every completion, and an estimate of every prompt. Of a batch whose maximum does not fit
beside the use so far, as many prompts are sent as fit, and the rest once their use is known; what fits not
even alone is not sent. Reserving less than the maximum of what is under way could not keep the limit, but so
no more than one prompt's maximum stays unused: if completions use a twentieth of what they may, a run spends
99 % of its limit where whole batches would stop at a third. Batches under way in other threads count with
their maximum, and are waited for. So the limit is kept, unless prompts have more tokens than estimated: then
the run stops after the batch that exceeds it. A completion without a token count from its server counts with
its maximum.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Condition, get_ident
from typing import Any

from tasks.engines.protocols import EngineError, Generation, Message, Sampling
from tasks.engines.specs import EngineSpec, cost

BYTES_PER_TOKEN = 3
"""English has 4 or more; other scripts seldom have fewer than this with current models' vocabularies."""
TEMPLATE_TOKENS = 16
"""Tokens that a chat template adds to a message."""

Count = Callable[[Sequence[Generation], Sequence[Generation]], None]
"""Called with the most that completions might have used, and with the completions."""


@dataclass(frozen=True)
class Budget:
    """The most tokens (prompts and completions) and US dollars that a run may use; None: no limit."""

    max_tokens: int | None = None
    max_usd: float | None = None


class BudgetReached(EngineError):  # noqa: N818 - "raise BudgetReached" says it all
    """The next batch may use more than is left; the message says how much was used and what to do."""


class Meter:
    """Tokens and cost of one run's calls, from one thread or several."""

    def __init__(self, budget: Budget) -> None:
        """Begin at zero."""
        self.budget = budget
        self.tokens = 0
        self.usd = 0.0
        self._pending: list[tuple[int, float]] = []
        self._admitted: dict[int, tuple[int, float]] = {}
        """Thread -> its admission that no batch has taken up; it is pending too."""
        self._lock = Condition()

    def admit(self, spec: EngineSpec | None, most: Sequence[Generation]) -> int:
        """Return how many of the first completions this thread's next batch may have, and reserve them; waits
        for batches of other threads if none fits. All, without a reservation, if none fits without them.
        """
        if spec is None or not most:
            return len(most)
        with self._lock:
            while not (n := self._fitting(spec, most)) and self._pending:
                self._lock.wait()
            if n:
                self._admitted[get_ident()] = own = _tokens(most[:n]), self._usd(spec, most[:n])
                self._pending.append(own)
        return n or len(most)

    def release(self) -> None:
        """Give up this thread's admission, if no batch has taken it up."""
        with self._lock:
            if (own := self._admitted.pop(get_ident(), None)) is not None:
                self._pending.remove(own)
                self._lock.notify_all()

    def _fitting(self, spec: EngineSpec, most: Sequence[Generation]) -> int:
        """Return how many of the first completions fit beside what is used and under way."""
        limits = self.budget.max_tokens, self.budget.max_usd
        if limits == (None, None):
            return len(most)
        tokens = self.tokens + sum(tokens for tokens, _ in self._pending)
        usd = self.usd + sum(usd for _, usd in self._pending)
        for n, each in enumerate(most):
            tokens, usd = tokens + _tokens([each]), usd + self._usd(spec, [each])
            if any(
                limit is not None and used > limit for limit, used in zip(limits, (tokens, usd), strict=True)
            ):
                return n
        return len(most)

    @contextmanager
    def batch(self, spec: EngineSpec | None, most: Sequence[Generation]) -> Iterator[Count]:
        """Admit a batch that uses at most ``most`` (``at_most`` of each conversation; empty: it is free).

        Yields:
            a function to call with the most that the completions might have used, and with the completions.
            A completion without a server's token count counts at its most.

        Raises:
            BudgetReached: the batch does not fit.
            EngineError: dollars are limited, and a server's spec has no price.
        """
        if spec is None or not most:
            yield lambda most, answered: None
            return
        answers: list[Generation] = []
        at_most = _tokens(most), self._usd(spec, most)
        with self._lock:
            own = self._admitted.pop(get_ident(), None)
            if own is not None and own != at_most:
                self._pending.remove(own)
            if own != at_most:
                self._check(spec, most)
                self._pending.append(at_most)
        try:
            yield lambda most, answered: answers.extend(
                m if g.prompt_tokens == 0 else g for m, g in zip(most, answered, strict=True)
            )
        finally:
            with self._lock:
                self._pending.remove(at_most)
                self.tokens += _tokens(answers)
                self.usd += self._usd(spec, answers)
                self._lock.notify_all()

    def _check(self, spec: EngineSpec, most: Sequence[Generation]) -> None:
        """Raise as ``batch`` does."""
        tokens, usd = _tokens(most), self._usd(spec, most)
        used = self.tokens + sum(tokens for tokens, _ in self._pending)
        spent = self.usd + sum(usd for _, usd in self._pending)
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
                "stored: raise the limit (or lower the batch) and run again, which sends only the rest"
            )

    def _usd(self, spec: EngineSpec, answers: Sequence[Generation]) -> float:
        """Return the cost of answers; models on this machine are free unless their spec has a price."""
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
    """Return the most that a conversation can use: estimated prompt tokens and the completion limit."""
    texts = [m["content"] for m in conversation] + ([json.dumps(schema)] if schema is not None else [])
    estimate = math.ceil(sum(len(t.encode()) for t in texts) / BYTES_PER_TOKEN)
    prompt = estimate + TEMPLATE_TOKENS * len(texts)
    return Generation("", "length", prompt, sampling.max_tokens, sampling.seed)


def within(most: Generation, context: int | None) -> Generation:
    """Return a bound that a context of so many tokens allows: its dearest split, with as long a completion as
    the completion's own limit allows; None: unknown, so that the bound stays.
    """
    if context is None or most.prompt_tokens + most.completion_tokens <= context:
        return most
    completion = min(most.completion_tokens, context)
    return replace(most, prompt_tokens=context - completion, completion_tokens=completion)


def _tokens(answers: Sequence[Generation]) -> int:
    return sum(g.prompt_tokens + g.completion_tokens for g in answers)
