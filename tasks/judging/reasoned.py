"""Reads the scores of judges who reason first, from free text. Pure.

The last statement counts, because a judge weighs numbers before it settles on one and may quote what it
judges. An unreadable score is unscored, never 0.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np

from tasks.judging.rubric import Rubric, normal

UNREAD = "no score could be read in the judge's text"

_SCORE = (
    "score|rating|grade|puntuación|puntuacion|calificación|nota|оценка|балл|ацэнка|бал|ұпай|баға|ocena|оцена|"
    "skor|markah|điểm|điểm số|الدرجة|النتيجة|স্কোর|নম্বর|得分|评分|評分|分数|分數|点数|スコア|評価|점수|ពិន្ទុ"
)
"""Names of a score in the languages of the items."""
_MARKS = r"[\s\"'`*_~#>()\[\]{}|$\\]{0,8}"
"""Marks of Markdown, JSON and LaTeX around a word or number, eight at most."""
_START = r"^\W{0,12}"
_NUMBER = (
    r"(?:boxed)?" + _MARKS + r"(?P<number>[+-]?(?:\d+(?:[.,]\d+)?|[.,]\d+))(?![\w]|[.,:]\d)"
    r"(?:\s*(?P<percent>%)|" + _MARKS + r"(?:/|out of)\s*(?P<top>\d+(?:[.,]\d+)?))?(?!\s*(?:-|–|to)\s*[\d.])"
)
_SIGN = r"(?:[:=]|is|(?:this |it )?as|→|->)?"
_BETWEEN = rf"{_MARKS}(?:\([^()\n]{{0,40}}\)|from [\d.]+ to [\d.]+)?{_MARKS}{_SIGN}{_MARKS}"
_LEAD = r"(?:(?:my|the|final|overall|total|correct|итоговая|итоговый|final|最终|最終|最后|최종)\s*){0,3}"
_ON_A_LINE = re.compile(rf"{_START}{_LEAD}(?:{_SCORE})\b{_BETWEEN}{_NUMBER}", re.M)
_ANYWHERE = re.compile(rf"\b(?:{_SCORE})\b{_MARKS}(?:of\b)?{_BETWEEN}{_NUMBER}")
_NAMED = re.compile(
    rf"{_START}{_LEAD}(?:output|answer|result|verdict|judge?ment|ответ|respuesta|答案|结果|結果|판정|判定)"
    rf"{_BETWEEN}{_NUMBER}\W{{0,12}}$",
    re.M,
)
"""A line of another name and a number: "Output: 1"."""
_BARE = re.compile(rf"{_START}{_NUMBER}\W{{0,12}}$")


def reasoned_scores(text: str, keys: Sequence[str], rubric: Rubric) -> tuple[float | str, ...]:
    """Return every key's score in [0, 1] or the reason for none; never raises, whatever the text.

    For a single key, the last line that begins with ``Score: 0.7`` counts; else the last such text anywhere;
    else a line ``Output: 1``; else a last line that is a number. For several keys, each has a line with its
    name. "7/10", "7 out of 10" and "70 %" are 0.7 on a scale that ends at 1; a number off the scale is
    unscored.
    """
    plain = normal(unicodedata.normalize("NFKC", text))
    if len(keys) == 1:
        return (_on_scale(_last_single(plain), rubric),)
    return tuple(_on_scale(_last(_key_scores(plain, key)), rubric) for key in keys)


def score_of_number(text: str, rubric: Rubric) -> float | None:
    """Return the score in [0, 1] of a text that is a number on the rubric's scale; None for another text."""
    score = _on_scale(_BARE.match(normal(unicodedata.normalize("NFKC", text))), rubric)
    return None if isinstance(score, str) else score


def nearest_verdict(score: float, rubric: Rubric) -> str:
    """Return the verdict nearest to a score in [0, 1]; the higher of two, the last of equal values."""
    ordered = sorted(rubric.verdicts.items(), key=lambda each: each[1].value)
    return min(reversed(ordered), key=lambda each: round(abs(each[1].value - score), 9))[0]


def _last_single(text: str) -> re.Match[str] | None:
    """Return the last statement of a score in a text about a single key."""
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]  # a code fence is no line
    bare = _BARE.match(lines[-1]) if lines else None
    scores = _last(_ON_A_LINE.finditer(text)) or _last(_ANYWHERE.finditer(text))
    return scores or _last(_NAMED.finditer(text)) or bare


def _key_scores(text: str, key: str) -> Iterator[re.Match[str]]:
    """Yield matches of lines with a key's score: "Score of salt: 0.7", "- **salt** = 0.7", '"salt": 0.7'."""
    name = re.escape(normal(unicodedata.normalize("NFKC", key)))
    pattern = (
        rf"{_START}(?:(?:{_SCORE})\b{_MARKS}(?:of|for)?{_MARKS})?(?<!\w){name}(?!\w){_MARKS}[:=]{_MARKS}"
    )
    return re.finditer(rf"{pattern}(?:(?:{_SCORE}){_BETWEEN})?{_NUMBER}", text, re.M)


def _last(matches: Iterator[re.Match[str]]) -> re.Match[str] | None:
    return next(iter(deque(matches, maxlen=1)), None)


def _on_scale(match: re.Match[str] | None, rubric: Rubric) -> float | str:
    """Return a written number's value in [0, 1] on the rubric's scale, or the reason for none."""
    if match is None:
        return UNREAD
    numbers, values = zip(*rubric.scale, strict=True)
    low, high = numbers[0], numbers[-1]
    number = _float(match["number"])
    if match["percent"]:
        number = number / 100 * high if high == 1 else float("nan")
    elif match["top"] and (top := _float(match["top"])) != high:
        number = number / top if high == 1 and top > 0 else float("nan")
    if not low <= number <= high:
        written = match[0][match.start("number") - match.start() :].strip()[:20]
        return f"the score {written} is not from {low:g} to {high:g}"
    return float(np.interp(number, numbers, values))


def _float(written: str) -> float:
    return float(written.replace(",", "."))
