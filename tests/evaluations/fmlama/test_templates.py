"""Templates: slots, the cut of a sentence for the model, and refusals."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.study import Template, choose_templates

REPOSITORY = Path(__file__).parents[3]
LANGUAGES = ("en", "zh", "ar", "ko", "ru", "he")


def template(text: str, mentions_country: bool = False, language: str = "en") -> Template:
    return Template("t", language, 1, mentions_country, text)


def shipped() -> list[dict[str, Any]]:
    with (REPOSITORY / "warehouse/reference/template.csv").open(encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if r["evaluation"] == "fmlama"]
    return [
        r | {"variant": int(r["variant"]), "mentions_country": r["mentions_country"] == "true"} for r in rows
    ]


SHIPPED = {
    row["template"]: Template(**{k: v for k, v in row.items() if k != "evaluation"}) for row in shipped()
}


def test_five_wordings_are_shipped_in_six_languages_with_and_without_country() -> None:
    found = choose_templates(FmlamaParams(models=["m"], languages=list(LANGUAGES)), shipped())
    have = [(t.language, t.mentions_country, t.variant) for t in found]
    assert have == [(lang, c, v) for lang in sorted(LANGUAGES) for c in (False, True) for v in range(1, 6)]
    assert len({t.text for t in found}) == 60


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_templates_have_their_slots_and_are_cut_without_loss(name: str) -> None:
    chosen = SHIPPED[name]
    slots = re.findall(r"\[.\]", chosen.text)
    assert sorted(slots) == sorted(["[X]", "[Y]"] + ["[C]"] * chosen.mentions_country)
    assert slots[-1] == "[Y]"
    assert "  " not in chosen.text
    assert chosen.text == chosen.text.strip()
    cloze = chosen.cloze([chosen.before("NAME", "LAND"), chosen.before("OTHER", "ELSEWHERE")])
    for before, dish, country in zip(cloze.before, ("NAME", "OTHER"), ("LAND", "ELSEWHERE"), strict=True):
        whole = chosen.text.replace("[X]", dish).replace("[C]", country).replace("[Y]", "salt")
        assert before + cloze.lead + "salt" + cloze.after == whole
        assert before.endswith(cloze.tail)
    assert not re.search("NAME|LAND|OTHER|ELSEWHERE", cloze.tail)


@pytest.mark.parametrize(
    ("name", "before", "lead", "after", "tail"),
    [
        ("fmlama-en-1c", "In Italy, pizza is a dish made with", " ", "", " is a dish made with"),
        ("fmlama-zh-1", "披萨是一道用", "", "做成的菜", "是一道用"),
        ("fmlama-ar-3", "أحد مكونات بيتزا هو", " ", "", " هو"),
        ("fmlama-ko-1", "피자은(는)", " ", "(으)로 만든 요리이다", "은(는)"),
        ("fmlama-ko-3c", "이탈리아에서 피자의 재료 중 하나는", " ", "이다", "의 재료 중 하나는"),
        ("fmlama-ru-3", "Один из ингредиентов блюда «пицца» —", " ", "", "» —"),
        # Hebrew writes "in" without a space.
        ("fmlama-he-1c", "באיטליה, פיצה הוא מאכל שמכינים עם", " ", "", " הוא מאכל שמכינים עם"),
    ],
)  # fmt: skip
def test_sentence_is_cut_at_its_blank_in_each_language(
    name: str, before: str, lead: str, after: str, tail: str
) -> None:
    chosen = SHIPPED[name]
    names = {"en": ("pizza", "Italy"), "zh": ("披萨", "意大利"), "ar": ("بيتزا", "إيطاليا"),
             "ko": ("피자", "이탈리아"), "ru": ("пицца", "Италия"), "he": ("פיצה", "איטליה")}  # fmt: skip
    assert chosen.before(*names[chosen.language]) == before
    assert (chosen.lead, chosen.after, chosen.tail) == (lead, after, tail)


@given(st.text(), st.text())
@example("[C]", r"\1 [X] [Y]")
def test_names_are_inserted_verbatim(name: str, country: str) -> None:
    # Slots, backslashes and groups of regular expressions in names are text.
    before = template("In [C], [X] has [Y]", True).before(name, country)
    assert before == f"In {country}, {name} has"


@pytest.mark.parametrize(
    ("text", "mentions_country"),
    [
        ("a dish has [Y]", False),
        ("[X] has salt", False),
        ("[Y] is in [X]", False),
        ("[X] has [Y] and [Y]", False),
        ("[X] and [X] have [Y]", False),
        ("[X] has [Y] in [C]", True),
        ("In [C], [X] has [Y]", False),
        ("[X] has [Y]", True),
        ("[X] has [Y] like [X]", False),
    ],
)
def test_malformed_template_is_refused_with_its_slots(text: str, mentions_country: bool) -> None:
    row = {"template": "t-9", "language": "en", "variant": 1, "mentions_country": mentions_country}
    needed = r"\[X\] and \[C\]" if mentions_country else r"\[X\]"
    with pytest.raises(ValueError, match=rf"template t-9: .* must have {needed} once each, and then \[Y\]"):
        choose_templates(FmlamaParams(models=["m"]), [row | {"text": text}])


def test_language_without_the_wording_is_refused() -> None:
    rows = [r for r in shipped() if r["language"] != "zh" or r["variant"] == 1]
    params = FmlamaParams(models=["m"], languages=["en", "zh"], variants=[2])
    with pytest.raises(ValueError, match="there is no template in zh"):
        choose_templates(params, rows)
