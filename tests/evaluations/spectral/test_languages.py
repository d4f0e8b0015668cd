"""The shipped texts and names of every language, a study in several, and the rows that compare them."""

from __future__ import annotations

import csv
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.engines.fake import FakeEngine
from tasks.engines.protocols import Framed
from tasks.engines.specs import EngineSpec
from tasks.evaluations.contract import Cohort
from tasks.evaluations.spectral.across import across_rows
from tasks.evaluations.spectral.evaluation import SpectralAnswers, make_rows, request, study
from tasks.evaluations.spectral.languages import in_order
from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.read import ModelScore, QuestionAnswers, score_model, score_with_copy
from tasks.evaluations.spectral.study import SpectralQuestion, SpectralStudy
from tasks.identity import UnknownName
from tasks.loop.items import ItemScores
from tasks.loop.rows import OVERALL, Metric
from tests.evaluations.spectral.conftest import COUNTRIES, LISTS

FILES = Path(__file__).parents[3] / "warehouse" / "reference"
LANGUAGES = ["ar", "de", "es", "fr", "hi", "ja", "pt", "ru", "sw", "tr", "zh"]
DOMAINS = {"currency", "holidays", "house_numbers", "languages", "religions"}

Rows = list[dict[str, Any]]


def table(name: str) -> Rows:
    with (FILES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


NAMES = [*table("item_name/cldr.csv"), *table("item_name/hand.csv")]
TEXTS = table("question_text.csv")


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_three_wordings_of_each_domain(language: str) -> None:
    own = {row["question"]: row for row in TEXTS if row["language"] == language}
    assert own.keys() == {f"{domain}-{variant}" for domain in DOMAINS for variant in (1, 2, 3)}
    assert len({row["template"] for row in own.values()}) == 15
    assert len({row["prefix"] for row in own.values()}) == 5
    for row in own.values():
        assert row["template"].count("{country}") == 1
        assert row["template"].endswith((":", "："))
        assert row["template"].endswith("：") == (language in ("ja", "zh"))
        assert row["back_translation"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_names_all_countries_and_most_items(language: str) -> None:
    named: dict[str, list[str]] = defaultdict(list)
    for row in NAMES:
        if row["language"] == language:
            named[row["item_list"]].append(row["name"])
    assert len(named["country"]) == len(table("country.csv"))
    least = {"currencies": 150, "languages": 290, "religions": 20, "holidays": 40}
    for item_list, fewest in least.items():
        assert len(named[item_list]) >= fewest, item_list
    assert ("house_numbers" in named) == (language in ("ar", "hi"))
    for item_list, names in named.items():
        assert max(Counter(names).values()) == 1, item_list


def test_every_name_is_of_an_item_and_has_nothing_hidden() -> None:
    items = {
        file.stem: {row["item"] for row in table(f"item_list/{file.name}")}
        for file in (FILES / "item_list").glob("*.csv")
    }
    items["country"] = {row["country"] for row in table("country.csv")}
    for row in NAMES:
        assert row["item"] in items[row["item_list"]], row
    for text in [row["name"] for row in NAMES] + [
        row[key] for row in TEXTS for key in ("prefix", "template")
    ]:
        assert text == " ".join(text.replace("\u00a0", " ").split()), text
        assert not any(unicodedata.category(sign) in ("Cc", "Cf", "Co", "Cn") for sign in text), text


def tables(**more: Rows) -> dict[str, Rows]:
    """The small study's tables, with one language, xx, that has no name of a dish."""
    domains = ("numbers", "faiths", "coins")
    lists = {"numbers": "numbers", "foods": "dishes", "faiths": "faiths", "coins": "coins"}
    categories = {"numbers": "LH", "foods": "HH", "faiths": "LL", "coins": "HL"}
    names = [
        {"item_list": name, "item": item, "language": "xx", "name": f"x-{item}"}
        for name in ("faiths", "coins")
        for item in LISTS[name]
        if item != "dalasi"
    ]
    own: dict[str, Rows] = {
        "country": [{"country": code, "name": name} for code, name in COUNTRIES.items()],
        "question": [
            {
                "question": f"{domain}-{variant}",
                "domain": domain,
                "variant": variant,
                "template": f"The {domain} ({variant}) of {{country}} are",
                "prefix": f"About {domain}.",
                "item_list": items,
                "human_score": place,
                "human_category": categories[domain],
            }
            for place, (domain, items) in enumerate(lists.items(), 1)
            for variant in (1, 2, 3)
        ],
        "item": [
            {"item_list": name, "item": item, "countries": codes.split()}
            for name, items in LISTS.items()
            for item, codes in items.items()
        ],
        "human": [],
        "question_text": [
            {
                "question": f"{d}-{v}",
                "language": "xx",
                "prefix": f"X {d}.",
                "template": f"X {{country}} {d} {v}:",
            }
            for d in domains
            for v in (1, 2, 3)
        ],
        "item_name": [
            *names,
            *({"item_list": "country", "item": c, "language": "xx", "name": f"X{c}"} for c in COUNTRIES),
        ],
        "spoken": [{"country": "FR", "language": "xx"}, {"country": "GM", "language": "en"}],
    }
    return own | more


def made(
    languages: list[str] | None = None, rows: Mapping[str, Rows] | None = None, **params: Any
) -> SpectralStudy:
    chosen = SpectralParams(models=["m"], languages=languages, half_samples=20, **params)
    return study(chosen, rows or tables(), {})


def test_english_alone_is_the_study_without_languages() -> None:
    assert made(["en"]).config_hash() == made().config_hash()
    assert in_order(["en", "en"]) == []
    assert in_order(["fr", "en", "ar"]) == ["en", "ar", "fr"]
    both = {made(order).config_hash() for order in (["en", "xx"], ["xx", "en"])}
    assert len(both) == 1
    assert made().config_hash() not in both


def test_languages_share_countries_and_items() -> None:
    english = made(["en", "xx"])
    other = english.others["xx"]
    assert english.language == "en"
    assert list(other.countries) == list(english.countries)
    assert english.lists["coins"].items == ("US dollar", "euro")  # dalasi has no name in xx
    assert other.lists["coins"].items == ("x-US dollar", "x-euro")
    assert other.lists["coins"].countries == english.lists["coins"].countries
    assert other.lists["numbers"].items == english.lists["numbers"].items  # digits are their own names
    assert {q.domain for q in english.questions} - {q.domain for q in other.questions} == {"foods"}
    assert len(english.lists["dishes"].items) == len(LISTS["dishes"])  # one language has dishes: whole
    assert other.questions[0].prompt(other.countries["FR"]).startswith("X ")
    alone = made(["xx"])
    assert alone.language == "xx"
    assert not alone.others
    assert not alone.spoken


@pytest.mark.parametrize(
    ("languages", "params", "rows", "error", "message"),
    [
        (["en", "yy"], {}, {}, UnknownName, "no language 'yy'"),
        (["en", "xx"], {"elicit": "sampling"}, {}, ValueError, "leave `languages` out"),
        (["en", "xx"], {"domains": ["foods"]}, {}, ValueError, "no chosen domain is in the language 'xx'"),
        (["en", "xx"], {}, {"item_name": []}, ValueError, "no name of France"),
    ],
)
def test_what_a_language_lacks_is_named(
    languages: list[str], params: dict[str, Any], rows: dict[str, Rows], error: type[ValueError], message: str
) -> None:
    with pytest.raises(error, match=message):
        made(languages, tables(**rows), **params)


def test_two_items_of_one_name_are_left_out() -> None:
    rows = tables()
    rows["item_name"] = [
        row | ({"name": "same"} if row["item"] in ("Islam", "Shinto") else {}) for row in rows["item_name"]
    ]
    rows["item"] = [*rows["item"], {"item_list": "faiths", "item": "Bahai", "countries": []}]
    rows["item_name"].append({"item_list": "faiths", "item": "Bahai", "language": "xx", "name": "x-Bahai"})
    assert made(["en", "xx"], rows).lists["faiths"].items == ("Bahai", "Christianity")


class _Recorder(FakeEngine):
    """Keeps what it scores."""

    style = "base"

    def frame(self, questions: Any) -> Framed:
        return (
            Framed([f"<{q}>" for q in questions], "", "chat")
            if self.style == "chat"
            else super().frame(questions)
        )

    def score(self, prefixes: Any, continuations: Any, progress: Any = None) -> Any:
        self.seen = (prefixes[0], continuations[0])
        return super().score(prefixes, continuations)


@pytest.mark.parametrize(
    ("style", "cue", "expected"),
    [
        ("base", ":", ("X 1:", " a")),
        ("base", "：", ("X 1：", "a")),
        ("chat", ":", ("<X 1:>", "a")),
    ],
)
def test_a_question_with_a_cue_stands_alone_before_the_item(
    style: str, cue: str, expected: tuple[str, str]
) -> None:
    engine = _Recorder(EngineSpec(name="f", kind="fake", model="f"))
    engine.style = style
    asked = ItemScores(
        topic="d",
        label="d-1",
        batch=2,
        questions={"FR": f"X 1{cue}"},
        items=["a", "b"],
        about=["spectral"],
        has_cue=True,
    )
    asked.compute(engine, ["FR"], lambda n: None)
    assert engine.seen == expected


def test_requests_of_other_languages_are_apart_in_hash_and_name() -> None:
    english = made(["en", "xx"])
    other = english.others["xx"]
    first, second = (request(each, each.questions[0]) for each in (english, other))
    assert (second.topic, second.label) == (f"xx/{first.topic}", f"xx/{first.label}")
    assert first.about != second.about
    assert second.has_cue
    assert not first.has_cue
    house = next(q for q in english.questions if q.domain == "numbers")
    assert request(english, house).about == request(made(), house).about  # the plain run's answers are reused


def large(n: int = 16, domains: int = 3) -> SpectralStudy:
    """A study of n countries, each with an item of its own in each list, half of them of the language xx."""
    codes = [f"{chr(65 + i // 5)}{chr(65 + i % 5)}" for i in range(n)]
    items = {f"d{d}": [f"{code}{d}" for code in codes] for d in range(domains)}
    rows: dict[str, Rows] = {
        "country": [{"country": code, "name": code} for code in codes],
        "question": [
            {
                "question": f"{name}-{v}",
                "domain": name,
                "variant": v,
                "template": "{country} is",
                "prefix": name,
                "item_list": name,
                "human_score": d + 1,
                "human_category": "LH",
            }
            for d, name in enumerate(items)
            for v in (1, 2, 3)
        ],
        "item": [
            {"item_list": name, "item": item, "countries": [item[:2]]}
            for name, own in items.items()
            for item in own
        ],
        "human": [],
        "question_text": [
            {"question": f"{name}-{v}", "language": code, "prefix": name, "template": "{country}:"}
            for name in items
            for v in (1, 2, 3)
            for code in ("xx", "yy")
        ],
        "item_name": [
            {"item_list": name, "item": item, "language": code, "name": f"{code} {item}"}
            for name, own in [*items.items(), ("country", codes)]
            for item in own
            for code in ("xx", "yy")
        ],
        "spoken": [{"country": code, "language": "xx" if i % 2 else "zz"} for i, code in enumerate(codes)],
    }
    return made(["en", "xx", "yy"], rows)


def answers_in(of: SpectralStudy, noise: float, gain: float = 0.0) -> SpectralAnswers:
    """Answers that agree between languages but for noise; ``gain``: log-odds of own items of xx in xx."""

    def load(each: SpectralStudy, q: SpectralQuestion) -> QuestionAnswers:
        n = len(each.countries)
        shared = np.random.default_rng([int(q.domain[1:])]).normal(size=(n, n))
        own = np.random.default_rng([*each.language.encode(), *q.question.encode()]).normal(size=(n, n))
        logprobs = shared + noise * own
        if each.language == "xx" and gain:
            for place, country in enumerate(each.countries):
                if of.spoken.get(country) == "xx":
                    logprobs[place, each.lists[q.item_list].countries.index(frozenset({country}))] += gain
        return QuestionAnswers(logprobs, np.ones(n, dtype=np.int64))

    def read(each: SpectralStudy) -> tuple[ModelScore, ModelScore]:
        return score_with_copy(each, lambda q: load(each, q))

    return SpectralAnswers(
        *read(of), {code: SpectralAnswers(*read(other)) for code, other in of.others.items()}
    )


def find(rows: Any, metric: str, where: tuple[str, str] = OVERALL) -> Metric:
    (found,) = [row for row in rows if row[:3] == (metric, *where)]
    assert isinstance(found, Metric)
    return found


def test_rows_say_how_far_languages_agree_and_nulls_do_not() -> None:
    of = large()
    found = make_rows(of, Cohort({"m": (own := answers_in(of, 0.3))}, {"m": own}, {}), None)
    rows = found.metrics["m"]
    agreement = find(rows, "language_agreement")
    assert agreement.value is not None
    assert agreement.value > 0.6
    assert agreement.null_value == 0.0
    assert agreement.n_scored == 3 * 3
    assert agreement.ci_low is not None
    assert agreement.ci_low > 0.3
    assert agreement.points is not None
    assert agreement.points.design == "left_out"
    assert find(rows, "language_agreement_p").value == 0.001
    assert find(rows, "language_agreement", ("language_pair", "xx/yy")).n_scored == 3
    assert find(rows, "language_agreement", ("language_pair_domain", "en/xx/d0")).n_scored == 1
    shuffled = find(found.metrics["null:shuffled(m)"], "language_agreement")
    assert shuffled.value is not None
    assert abs(shuffled.value) < 0.2
    lookup = find(found.metrics["null:list-frequency"], "reference_mass", ("language", "xx"))
    assert lookup.value == find(found.metrics["null:list-frequency"], "reference_mass").value
    same = find(found.metrics["null:list-frequency"], "language_agreement")
    assert same.value is None  # a list with one item for each country has no map
    # Every number of the first language is there for the others, as a slice.
    own_rows = {row.metric for row in rows if row.slice_kind == "overall"}
    in_xx = {row.metric for row in rows if row.slice_kind == "language" and row.slice == "xx"}
    assert own_rows - in_xx == {
        "language_agreement",
        "language_agreement_p",
        "er_agreement",
        "order_agreement",
        "own_language_advantage",
    }
    assert all(row.points is None for row in rows if row.slice_kind != "overall")
    keys = [row[:3] for row in rows]
    assert len(keys) == len(set(keys))


def test_the_first_languages_rows_are_those_of_it_alone() -> None:
    of = large()
    own = answers_in(of, 0.3)
    alone = SpectralStudy(of.params, of.countries, of.questions, of.lists, of.reference_hash)
    rows = make_rows(of, Cohort({"m": own}, {"m": own}, {}), None).metrics["m"]
    expected = make_rows(alone, Cohort({"m": own}, {"m": own}, {}), None).metrics["m"]
    assert [row for row in rows if row[:3] in {each[:3] for each in expected}] == expected


def test_languages_that_share_nothing_are_not_found_to_agree() -> None:
    of = large()
    scores = {
        code: score_model(each, lambda q, c=code: _random(of, q, c)) for code, each in of.in_languages.items()
    }
    rows = across_rows(of, scores)
    p = find(rows, "language_agreement_p").value
    assert p is not None
    assert p > 0.05
    # Random answers agree on effective ranks only as far as their lists do.
    er = find(rows, "er_agreement")
    assert er.value is not None
    assert er.null_value is not None
    assert er.ci_low is not None
    assert find(rows, "order_agreement").ci_low is None  # no interval holds


def _random(of: SpectralStudy, q: SpectralQuestion, code: str) -> QuestionAnswers:
    n = len(of.countries)
    own = np.random.default_rng([*code.encode(), *q.question.encode()]).normal(size=(n, n))
    return QuestionAnswers(own, np.ones(n, dtype=np.int64))


def test_a_language_that_helps_its_countries_is_found_and_no_other() -> None:
    of = large()
    answers = answers_in(of, 0.1, gain=3.0)
    scores = {"en": answers.own, **{code: each.own for code, each in answers.others.items()}}
    rows = across_rows(of, scores)
    countries = [code for code, language in of.spoken.items() if language == "xx"]
    gains = [find(rows, "own_language_advantage", ("country", code)) for code in countries]
    assert all(
        row.value is not None and row.value > 0.05 and abs(row.null_value or 0.0) < 0.03 for row in gains
    )
    assert max(find(rows, "own_language_p", ("country", code)).value or 1.0 for code in countries) < 0.05
    assert find(rows, "own_language_advantage").n_scored == len(countries)
    assert {row.slice for row in rows if row.metric == "own_language_p"} == set(countries)
    nothing = answers_in(of, 0.1)
    scores = {"en": nothing.own, **{code: each.own for code, each in nothing.others.items()}}
    p = [row.value for row in across_rows(of, scores) if row.metric == "own_language_p"]
    assert min(value for value in p if value is not None) > 0.05
