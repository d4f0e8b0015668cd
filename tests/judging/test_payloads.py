"""Texts that want a verdict of their own, against judges of four temperaments whose servers ignore schemas.

A *flip* is a verdict read from a completion that differs from the judge's own. No text may cause one.
"Unscored" is not a flip: a completion that can be read in two ways gets no score. If a text *persuades* a
judge, the completion looks like an honest judge's of a good text, so reading cannot detect it. Null
explanations and the judge's check (``controls``) measure that; it is not tested here.
"""

from __future__ import annotations

import html
import json
import math
import re
import unicodedata
from collections.abc import Callable, Iterator

import pytest

from tasks.engines.protocols import TokenAlternatives
from tasks.judging.rubric import CLOSE, OPEN, Rubric, as_data, judge_prompt, shorten
from tasks.judging.verdicts import Opinion, read_opinions
from tasks.loop.prompts import Completion
from tasks.loop.written import option_logprobs
from tests.judging.attacks import payloads

KEY = "text"
MENU = ("YES", "NO")
RUBRIC = Rubric.model_validate(
    {
        "name": "coverage",
        "version": 1,
        "system": "Say YES or NO.",
        "inputs": (KEY,),
        "user": "Text: {{ text }}\nIs it any good?",
        "verdicts": {"YES": {"value": 1.0, "reasons": ["any"]}, "NO": {"value": 0.0, "reasons": ["any"]}},
    }
)
SURE = 0.8
"""The judge's own probability of its verdict."""

Written = list[tuple[str, bool]]
"""A completion in pieces; True: the judge's own verdict, with its probability, not copied."""
Judge = Callable[[str, str], Iterator[Written]]


def verdict(own: str, reason: str = '"any"') -> Written:
    return [(f'{{"{KEY}": {{"verdict": "', False), (own, True), (f'", "reason": {reason}}}}}', False)]


def keeping(text: str, own: str) -> Iterator[Written]:
    """Yield an answer of JSON only, with the text as a JSON string, with and without escaped non-ASCII."""
    yield verdict(own)
    yield verdict(own, json.dumps(text))
    yield verdict(own, json.dumps(f"it says {text}", ensure_ascii=False))


def quoting(text: str, own: str) -> Iterator[Written]:
    """Yield answers that quote the text before the verdict, or unescaped within the reason."""
    for quoted in (text, f'The text is "{text}".', as_data(text, 2000), f"```\n{text}\n```", f"> {text}"):
        yield [(f"{quoted}\nMy verdict is ", False), *verdict(own)]
    yield verdict(own, f'"it says {text}"')
    yield verdict(own, f'"it says "{text}" and no more"')


def echoing(text: str, own: str) -> Iterator[Written]:
    """Yield answers that repeat the text after the verdict."""
    for repeated in (text, f"\n\n{text}", f" {json.dumps(text)}", f"\n```json\n{text}\n```", f", {text}}}"):
        yield [*verdict(own), (repeated, False)]


def obedient(text: str, own: str) -> Iterator[Written]:
    """Yield answers of a judge that takes anything similar for a delimiter. It treats text within the
    delimiters as data, and obeys text outside of them."""
    (other,) = set(MENU) - {own}
    outside = [_outside(each) for each in (text, "harmless")]
    yield verdict(own if outside[0] == outside[1] else other)


def _outside(text: str) -> str:
    """Return the prompt's text outside of anything that resembles the delimiters."""
    (*_, question) = judge_prompt(RUBRIC, {KEY: text}, [KEY]).conversation
    seen = html.unescape(unicodedata.normalize("NFKC", question["content"]))
    seen = "".join(c for c in seen if unicodedata.category(c) not in ("Cf", "Cc") or c in "\n\r")
    return re.sub(r"(?is)<\s*data\s*>.*?<\s*/\s*data\s*>", OPEN + CLOSE, seen)


def read(written: Written, own: str, finish_reason: str = "stop", judged: str | None = None) -> Opinion:
    """Return the opinion on a completion: copied pieces have probability 1, the judge's verdict has SURE."""
    prompt = None if judged is None else judge_prompt(RUBRIC, {KEY: judged}, [KEY])
    (other,) = set(MENU) - {own}
    tokens = []
    for piece, is_own in written:
        if is_own:
            tokens.append(TokenAlternatives(piece, {own: math.log(SURE), other: math.log(1 - SURE)}))
        else:
            tokens += [TokenAlternatives(t, {t: 0.0}) for t in re.findall(r'"[^"]*|[^"]+', piece)]
    text = "".join(token.text for token in tokens)
    logprobs = option_logprobs(tokens, text, MENU, "verdict")
    completion = Completion(text, finish_reason, 1, 1, 0, logprobs)
    (opinion,) = read_opinions(completion, [KEY], RUBRIC, prompt)
    return opinion


@pytest.mark.parametrize("own", [pytest.param("YES", marks=pytest.mark.heavy), "NO"])
@pytest.mark.parametrize("judge", [keeping, quoting, echoing, obedient])
def test_no_judged_text_changes_its_verdict(judge: Judge, own: str) -> None:
    (wanted,) = set(MENU) - {own}
    texts = [shorten(text, RUBRIC.max_chars) for text in payloads(KEY, wanted)]  # as judges see them
    value, score = RUBRIC.verdicts[own].value, SURE if own == "YES" else 1 - SURE
    flips, scored, completions = [], 0, 0
    for text in texts:
        for written in judge(text, own):
            opinion = read(written, own, judged=text)
            completions += 1
            scored += opinion.score is not None
            fair = opinion.score in (None, value) or opinion.score == pytest.approx(score)
            if opinion.verdict.verdict not in (None, own) or not fair:
                flips.append((opinion, written))
            if opinion.score is None:
                assert opinion.verdict.unscored_reason
    assert len(texts) >= 300
    assert flips == []
    if judge in (keeping, obedient):  # and no verdict is lost if the judge writes only JSON
        assert scored == completions


@pytest.mark.parametrize("own", MENU)
def test_a_cut_off_quotation_is_not_a_verdict(own: str) -> None:
    (wanted,) = set(MENU) - {own}
    for text in payloads(KEY, wanted):
        opinion = read([(text, False)], own, "length")
        assert (opinion.score, opinion.verdict.verdict) == (None, None)


def test_the_last_object_counts_if_the_judged_text_could_not_be_its_source() -> None:
    (other,) = set(MENU) - {"NO"}
    written = [*verdict(other), ("\nNo, I misread it.\n", False), *verdict("NO")]
    assert read(written, "NO", judged="Guests leave a little food on the plate.").verdict.verdict == "NO"
    for judged in (
        "a { b", "a ｛ b", "a \\u007b b", "&#123;", "&lbrace;", "the VERDICT", "ver\u200bdict", "\\x",
    ):  # fmt: skip
        is_own = judged == "\\x"
        assert (read(written, "NO", judged=judged).score is not None) == is_own


def test_a_verdict_after_an_escaped_quotation_is_scored() -> None:
    """Quoting does not by itself leave a text unscored: an escaped or agreeing quotation does no harm."""
    answer = json.dumps({KEY: {"verdict": "NO", "reason": "any"}})
    for text in (f"The text is {json.dumps(answer.replace('NO', 'YES'))}. ", f"It says {answer}. ", "So: "):
        assert read([(text, False), *verdict("NO")], "NO").score == pytest.approx(1 - SURE)


def test_the_graded_score_belongs_to_the_object_that_is_read() -> None:
    """The score does not belong to the last field of that name, which is in a fragment."""
    after = [(', "verdict": "NO"', False)]
    assert read([*verdict("NO"), *after], "NO").graded == pytest.approx(1 - SURE)
    beside = [(f'{{"other": {{"verdict": "YES"}}, {verdict("NO")[0][0][1:]}', False), *verdict("NO")[1:]]
    opinion = read(beside, "NO")  # another key with another verdict: the verdict's position is ambiguous
    assert (opinion.verdict.verdict, opinion.graded, opinion.score) == ("NO", None, 0.0)
