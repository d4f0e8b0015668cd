"""Counts the answers that a run has lost, because a model or a server did not give them, by reason.

A refused, empty or cut-off answer of a model is stored and counts as its evaluation says. An answer that a
server could not give is not stored: it is unscored, and a later run sends its request again. Both are counted
here, stored as rows of ``answer_loss``, and said where the numbers are shown (``tasks.report.sentences``). If
more than half of a model's answers are lost other than by refusals, its rows have no value (``withheld``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from tasks.engines.protocols import Lost
from tasks.evaluations.contract import Completions, Detail
from tasks.loop.plan import Answer
from tasks.loop.prompts import Completion, Prompt, Prompts
from tasks.loop.replies import REFUSED, begun_fields, no_text, read_fields, unreadable
from tasks.loop.requests import Request, Role
from tasks.loop.rows import Metric, unscored
from tasks.report.sentences import FAILED, NONE, Loss

TOO_MANY = 0.5
"""Share of answers lost other than by refusals above which rows have no value."""
COUNTS = ("answered", "unanswered")
"""Metrics that count lost answers; they keep their value."""
LONGEST = 160
"""Most signs of a reason."""

_SCHEMA = {"role": pl.String, "engine": pl.String, "reason": pl.String, "n_lost": pl.Int32, "n": pl.Int32}


def losses(
    requests: Iterable[Request[object]], completions: Completions, lost: Mapping[Answer, Lost]
) -> list[Loss]:
    """Return the losses among the prompts of requests; one row, with reason ``NONE``, if there are none.

    Args:
        lost: what this run could not get, with reasons; other answers that are missing have none.
    """
    totals: Counter[tuple[Role, str]] = Counter()
    reasons: dict[tuple[Role, str], Counter[str]] = {}
    for request in requests:
        if not isinstance(request, Prompts):
            continue
        engine = completions.engine(request)
        stored, name = completions(request), request.hash(engine)
        own = reasons.setdefault((request.role, engine.name), Counter())
        totals[request.role, engine.name] += len(request.units)
        for unit, prompt in request.by_id.items():
            if unit not in stored:
                loss = lost.get((name, unit))
                own[f"{FAILED}: {loss.reason}"[:LONGEST] if loss else FAILED] += 1
            elif reason := _reason(request, prompt, stored[unit]):
                own[reason] += 1
    return [
        Loss(*engine, reason, n_lost, totals[engine])
        for engine, of_engine in reasons.items()
        for reason, n_lost in (sorted(of_engine.items()) or [(NONE, 0)])
    ]


def _reason(request: Prompts, prompt: Prompt, completion: Completion) -> str | None:
    """Return why a stored completion is no answer; None if it is one, as far as the loop can tell."""
    if reason := no_text(completion):
        return reason
    if request.unread:
        return request.unread(prompt.id, completion)
    if prompt.schema is None or completion.option_logprobs:
        return None
    names, text = list(prompt.schema.get("properties", ())), completion.text
    is_read = read_fields(text, names) is not None or bool(begun_fields(text, names))
    return None if is_read else unreadable(completion)


def detail(of_model: Sequence[Loss]) -> Detail:
    """Return the losses about a model as rows of the kind ``answer_loss``."""
    return Detail("answer_loss", pl.DataFrame(of_model, _SCHEMA, orient="row"))


def withheld(rows: Sequence[Metric], of_model: Sequence[Loss]) -> list[Metric]:
    """Return a model's rows, without values if more than half of its answers are lost.

    Refusals do not count here, because a model that refuses has answered.
    """
    own = [loss for loss in of_model if loss.role == "candidate"]
    n = sum({loss.engine: loss.n for loss in own}.values())
    n_lost = sum(loss.n_lost for loss in own if loss.reason != REFUSED)
    if not n or n_lost <= TOO_MANY * n:
        return list(rows)
    why = f"more than half of the answers are lost ({n_lost:,} of {n:,})"
    return [
        unscored(row.metric, (row.slice_kind, row.slice), why, row.n_scored + row.n_unscored, row.null_value)
        if row.metric not in COUNTS and row.value is not None
        else row
        for row in rows
    ]
