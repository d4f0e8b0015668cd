"""Selection of questions and items, and the hashes of requests and configurations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.engines import prompting
from tasks.evaluations.spectral.evaluation import request
from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.study import SpectralStudy, build_study
from tasks.identity import UnknownName, digest
from tasks.loop.requests import Engine

Rows = list[dict[str, Any]]
MakeStudy = Callable[..., SpectralStudy]

ENGINE = Engine("m", "packed_trie", "m", "hash of m")


def request_hash(study: SpectralStudy, question: int = 0, engine: Engine = ENGINE, occasion: str = "") -> str:
    return request(study, study.questions[question]).hash(replace(engine, occasion=occasion))


# --- selection


@pytest.mark.parametrize(
    ("wanted", "codes"),
    [
        (["FR", "JP"], ["FR", "JP"]),
        (["Japan", "France"], ["FR", "JP"]),  # in the order of codes
        (["fr", "jApAn "], ["FR", "JP"]),
        (["Gambia", "US"], ["GM", "US"]),
        (["the Gambia", "The United States"], ["GM", "US"]),
        (["FR", "France", "fr", "IT"], ["FR", "IT"]),
        (None, ["FR", "GM", "IT", "JP", "US"]),
        ([], ["FR", "GM", "IT", "JP", "US"]),
    ],
)
def test_countries_by_code_or_name(make_study: MakeStudy, wanted: list[str] | None, codes: list[str]) -> None:
    assert list(make_study(countries=wanted).countries) == codes


def test_prompts_keep_the_article_of_a_country(make_study: MakeStudy) -> None:
    study = make_study(countries=["GM", "FR"], domains=["coins"])
    prompt = study.questions[0].prompt(study.countries["GM"])
    assert prompt == "Answer about coins. The coins (1) of the Gambia are"


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"countries": ["FR", "Itly"]}, "no country 'Itly' in the reference data; near: Italy"),
        ({"countries": ["FR", "the untied states"]}, "near: the United States"),
        ({"domains": ["coin"]}, "no domain 'coin' in the reference data; near: coins"),
        ({"countries": ["FR"]}, r"at least two countries to compare; chosen: FR\. Name more in `countries`"),
        ({"countries": ["FR", "France"]}, "at least two countries"),
        ({"variants": []}, "no question selected"),
    ],
)
def test_unknown_names_and_studies_of_one_country_are_refused(
    make_study: MakeStudy, params: dict[str, Any], message: str
) -> None:
    with pytest.raises((UnknownName, ValueError), match=message):
        make_study(**params)


def test_domains_and_phrasings_select_questions_and_lists(make_study: MakeStudy) -> None:
    study = make_study(domains=["foods", "coins"], variants=[3, 1])
    assert [q.question for q in study.questions] == ["coins-1", "coins-3", "foods-1", "foods-3"]
    assert list(study.lists) == ["coins", "dishes"]


def test_a_list_without_items_is_refused(country_rows: Rows, question_rows: Rows, item_rows: Rows) -> None:
    some = [r for r in item_rows if r["item_list"] != "coins"]
    with pytest.raises(ValueError, match="'coins' has no items"):
        build_study(SpectralParams(models=["m"]), country_rows, question_rows, some)


# --- items


def items_of(n: int | None, names: list[str]) -> tuple[str, ...]:
    countries = [{"country": c, "name": c} for c in ("AA", "BB")]
    question = {"question": "q", "domain": "d", "variant": 1, "template": "{country}", "prefix": ""}
    question |= {"item_list": "l", "human_score": 1.0, "human_category": "LH"}
    rows = [{"item_list": "l", "item": name, "countries": ["AA"]} for name in names]
    return (
        build_study(SpectralParams(models=["m"], max_items=n), countries, [question], rows).lists["l"].items
    )


names = st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=2, max_size=20, unique=True)


@given(names, st.integers(2, 20), st.randoms())
def test_fewer_items_are_a_subset_of_more_in_any_row_order(all_names: list[str], n: int, rng: Any) -> None:
    mixed = rng.sample(all_names, len(all_names))
    few, more = items_of(n, all_names), items_of(n + 1, all_names)
    assert few == items_of(n, mixed)
    assert set(few) <= set(more) <= set(items_of(None, all_names)) == set(all_names)
    assert len(few) == min(n, len(all_names))
    assert list(few) == sorted(few)


def test_countries_of_items_stay_with_their_items(make_study: MakeStudy) -> None:
    dishes = make_study().lists["dishes"]
    listed = dict(zip(dishes.items, dishes.countries, strict=True))
    assert listed["pizza"] == {"IT", "US"}
    assert dishes.items == ("benachin", "burger", "pizza", "ratatouille", "sushi")


# --- hashes


@given(st.randoms())
def test_hashes_do_not_depend_on_the_order_of_rows(
    country_rows: Rows, question_rows: Rows, item_rows: Rows, rng: Any
) -> None:
    def study(mix: Callable[[Rows], Rows]) -> SpectralStudy:
        return build_study(
            SpectralParams(models=["m"]), mix(country_rows), mix(question_rows), mix(item_rows)
        )

    one, other = study(list), study(lambda rows: rng.sample(rows, len(rows)))
    assert one.config_hash() == other.config_hash()
    assert [request_hash(one, i) for i in range(12)] == [request_hash(other, i) for i in range(12)]


@pytest.mark.parametrize(
    ("params", "changes"),
    [
        ({"countries": ["US", "Japan", "FR", "GM", "IT"]}, False),  # all of them, by other names
        ({"countries": ["FR", "IT"]}, True),
        ({"domains": ["coins"]}, True),
        ({"max_items": 2}, True),
    ],
)
def test_config_hash_has_the_selection(make_study: MakeStudy, params: dict[str, Any], changes: bool) -> None:
    assert (make_study(**params).config_hash() != make_study().config_hash()) == changes


@pytest.mark.parametrize(
    "changed",
    [{"prefix": "Say:"}, {"template": "{country}:"}, {"human_score": 9.0}, {"human_category": "HH"}],
)
def test_config_hash_has_prompts_and_human_categories(make_study: MakeStudy, changed: dict[str, Any]) -> None:
    study = make_study()
    first = replace(study.questions[0], **changed)
    assert replace(study, questions=(first, *study.questions[1:])).config_hash() != study.config_hash()


def test_config_hash_changes_with_the_countries_of_an_item(
    make_study: MakeStudy, country_rows: Rows, question_rows: Rows, item_rows: Rows
) -> None:
    other = [r | {"countries": ["FR"]} if r["item"] == "sushi" else r for r in item_rows]
    study = make_study()
    changed = build_study(study.params, country_rows, question_rows, other)
    assert changed.config_hash() != study.config_hash()
    # An item's countries do not affect its answers.
    assert [request_hash(changed, i) for i in range(4)] == [request_hash(study, i) for i in range(4)]


def test_request_hash_ignores_countries_models_and_scoring(make_study: MakeStudy) -> None:
    scoring = {"seed": 5, "half_samples": 30, "normalisation": "per_byte"}
    assert request_hash(make_study(countries=["FR", "IT"], models=["n"], **scoring)) == request_hash(
        make_study()
    )


def test_a_shorter_list_changes_the_request_hash(make_study: MakeStudy) -> None:
    """Answers are stored by list, so answers over a part of the list do not count for the whole."""
    assert request_hash(make_study(max_items=2)) != request_hash(make_study())
    assert request_hash(make_study(max_items=100)) == request_hash(make_study())


def test_request_hash_changes_with_engine_occasion_wording_and_items(
    make_study: MakeStudy, country_rows: Rows, question_rows: Rows, item_rows: Rows
) -> None:
    study = make_study()
    seen = {request_hash(study, i) for i in range(4)}
    seen |= {request_hash(study, engine=replace(ENGINE, hash="other")), request_hash(study, occasion="2026")}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prompting, "BOUNDARY_RULE", "another")
        seen.add(request_hash(study))
    for change in ({"prefix": "Say:"}, {"template": "{country}:"}):
        first = replace(study.questions[0], **change)
        seen.add(request(study, first).hash(ENGINE))
    renamed = [r | {"name": "Gaul"} if r["country"] == "FR" else r for r in country_rows]
    seen.add(request_hash(build_study(study.params, renamed, question_rows, item_rows)))
    more = [*item_rows, {"item_list": "coins", "item": "yen", "countries": ["JP"]}]
    seen.add(request_hash(build_study(study.params, country_rows, question_rows, more)))
    assert len(seen) == 11


def test_request_hash_of_stored_answers_is_unchanged(make_study: MakeStudy) -> None:
    """Stored answers are found by this hash."""
    study = make_study()
    (first, *_) = study.questions
    wording = [first.prefix, first.template, study.lists["coins"].hash, "coins", "coins-1"]
    about = ["spectral", ENGINE.hash, prompting.BOUNDARY_RULE, *wording, study.reference_hash]
    assert request_hash(study) == digest(about)


def test_digest_ignores_the_order_of_keys_and_has_the_given_length() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert (len(digest(1)), len(digest(1, 32))) == (16, 32)


# --- the request


def test_a_request_has_one_prompt_per_country(make_study: MakeStudy) -> None:
    study = make_study(
        countries=["FR", "GM"], domains=["coins", "foods"], variants=[1, 2], countries_per_part=1
    )
    requests = [request(study, question) for question in study.questions]
    assert [(r.topic, r.label, r.batch) for r in requests[:2]] == [("coins", f"coins-{n}", 1) for n in (1, 2)]
    assert requests[0].questions == {
        "FR": "Answer about coins. The coins (1) of France are",
        "GM": "Answer about coins. The coins (1) of the Gambia are",
    }
    assert sum(r.size(r.units) for r in requests) == 2 * (3 + 3 + 5 + 5)


def human_rows(**categories: str) -> Rows:
    survey = {"study": "survey", "snapshot": "ab12"}
    return [
        {**survey, "domain": name, "human_score": float(n), "human_category": category}
        for n, (name, category) in enumerate(categories.items())
    ]


def test_participants_of_a_study_replace_the_papers_ranking(
    make_study: MakeStudy, country_rows: Rows, question_rows: Rows, item_rows: Rows
) -> None:
    def study_with(ranking: Rows, **params: Any) -> SpectralStudy:
        chosen = SpectralParams(models=["m"], variants=[1], half_samples=20, **params)
        return build_study(chosen, country_rows, question_rows, item_rows, ranking)

    ranking = human_rows(coins="LH", foods="HL")
    study = study_with(ranking, human="survey", domains=["coins", "foods"])
    people = [(q.domain, q.human_score, q.human_category) for q in study.questions]
    assert people == [("coins", 0.0, "LH"), ("foods", 1.0, "HL")]
    # The run names its snapshot of the answers.
    assert study.params.human == "survey:ab12"
    table_1 = make_study(domains=["coins", "foods"])
    assert study.config_hash() != table_1.config_hash()
    assert request_hash(study) == request_hash(table_1)
    with pytest.raises(ValueError, match="no ranking of a study 'other' is stored"):
        study_with([], human="other")
    with pytest.raises(ValueError, match="have no category for faiths, numbers"):
        study_with(ranking, human="survey")
