"""Shuffled answers of the judge check: from another free item of the language."""

from __future__ import annotations

from tasks.evaluations.culturall.read import checks
from tasks.judging.controls import SHUFFLED
from tests.evaluations.culturall.conftest import MakeStudy, row

ROWS = [
    *(row(f"a{k}", "es", "MX", f"{10 + k} pesos", variants=f"{k} soles") for k in range(4)),
    *(row(f"b{k}", "ja", "JP", f"{50 + k} yen") for k in range(4)),
    row("c1", "es", "MX", "A"),
    row("c2", "ja", "JP", "B"),
    row("d1", "fi", "FI", "one of its own"),
]


def test_shuffled_answer_is_another_free_items_of_the_language(make_study: MakeStudy) -> None:
    study = make_study("j", rows=ROWS)
    own = {item.item: item.native.answer for item in study.items}
    others = {call.item: call.text for call in checks(study) if call.source == SHUFFLED}
    assert others.keys() == {f"{language}{k}" for language in "ab" for k in range(4)}
    for language, currency in (("a", "pesos"), ("b", "yen")):
        texts = {item: text for item, text in others.items() if item[0] == language}
        assert all(text.endswith(currency) and text != own[item] for item, text in texts.items())
        assert len(set(texts.values())) == 4  # each is used once


def test_shuffled_answer_is_never_an_accepted_variant(make_study: MakeStudy) -> None:
    """A variant counts: 11 is right for the first, whose own answer is 10."""
    rows = [row("a", "es", "MX", "10", variants="11"), row("b", "es", "MX", "11"), row("c", "es", "MX", "12")]
    others = {call.item: call.text for call in checks(make_study("j", rows=rows)) if call.source == SHUFFLED}
    assert others == {"a": "12", "b": "12"} | {"c": others["c"]}
    assert others["c"] in ("10", "11")
