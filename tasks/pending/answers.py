"""Reads lines of answers. Anybody may have written them: values are of their types, or a line is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tasks.engines.protocols import Generation
from tasks.parsing import TooDeep, parse_json
from tasks.pending.folder import LONGEST_LINE

ABOVE = 1e-3
"""Largest value to which the logarithm of 1, and the excess over a probability of 1, may be rounded."""


class Refused(ValueError):  # noqa: N818 - the line is, for a reason
    """Raised for a line that is no answer; the message says why."""


@dataclass(frozen=True)
class Scores:
    """Log-probabilities of the continuations of one unit that came back, in order.

    Attributes:
        logprobs: float64 [n] natural log, in (-inf, 0]. probabilities: float64 [n] mean over tokens, for
            candidates. greedy: bool [n] whether no token was more probable, for pairs.
    """

    logprobs: NDArray[np.float64]
    probabilities: NDArray[np.float64] | None = None
    greedy: NDArray[np.bool_] | None = None


class _Scored(BaseModel):
    model_config = ConfigDict(strict=True)
    logprobs: list[Annotated[float, Field(le=ABOVE, allow_inf_nan=False)]]
    probabilities: list[Annotated[float, Field(ge=0, le=1 + ABOVE, allow_inf_nan=False)]] | None = None
    greedy: list[bool] | None = None


def parsed(text: bytes | None) -> tuple[str, dict[str, Any]]:
    """Return the name of the request that a line answers, and the line. text: None if it is too long.

    Raises:
        Refused: it is no answer.
    """
    if text is None:
        raise Refused(f"longer than {LONGEST_LINE // 2**20} MiB")
    try:
        line = parse_json(text.decode("utf-8-sig"))
    except TooDeep as error:
        raise Refused(str(error)) from None
    except ValueError:
        raise Refused("no JSON: the line is cut off or damaged") from None
    if not isinstance(line, dict) or not isinstance(line.get("custom_id"), str):
        raise Refused("not an answer: it has no custom_id")
    return line["custom_id"], line


def scores_of(line: Mapping[str, Any], n: int, more: str = "") -> Scores:
    """Return the log-probabilities in a line.

    Args:
        n: number of continuations. more: what the answers hold beside log-probabilities.

    Raises:
        Refused: they are not n numbers of their kind.
    """
    names = ("logprobs", *([more] if more else []))
    try:
        found = _Scored.model_validate({name: line.get(name) for name in names})
    except ValidationError as error:
        raise Refused(f"its {error.errors()[0]['loc'][0]} are missing, or hold what none can be") from None
    own: dict[str, Any] = {name: np.asarray(getattr(found, name)) for name in names}
    for name, values in own.items():
        if values.shape != (n,):
            raise Refused(f"its {name} are missing, or not {n:,}")
    own["logprobs"] = np.minimum(own["logprobs"].astype(np.float64), 0.0)
    return Scores(**own)


def sign_of(answer: Scores | Generation) -> float | int:
    """Return what two answers to a request are compared by (``agree``): a hash or a sum."""
    return hash(answer.text) if isinstance(answer, Generation) else float(answer.logprobs.sum())


def agree(sign: float | int, other: float | int) -> bool:
    """Return whether answers of these signs have the same text, or log-probabilities that agree to 1 %."""
    return math.isclose(sign, other, rel_tol=0.01) if isinstance(sign, float) else sign == other
