"""What is asked, and under which hashes answers are found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluations.spectral.params import SpectralParams
from tasks.evaluations.spectral.requests import Study, build_study, plan_units
from tasks.identity import UnknownName, digest

Rows = list[dict[str, Any]]
MakeStudy = Callable[..., Study]

ENGINE, BOUNDARY = "engine", "boundary"


def request_hash(study: Study, question: int = 0, engine: str = ENGINE, boundary: str = BOUNDARY) -> str:
    return study.request_hash(study.questions[question], engine, boundary)


# --- selection


@pytest.mark.parametrize(
    ("wanted", "codes"),
    [
        (["FR", "JP"], ["FR", "JP"]),
        (["Japan", "France"], ["FR", "JP"]),  # in the order of codes, whatever was typed
        (["fr", "jApAn "], ["FR", "JP"]),
        (["Gambia", "US"], ["GM", "US"]),
        (["the Gambia", "The United States"], ["GM", "US"]),
        (["FR", "France", "fr", "IT"], ["FR", "IT"]),
        (None, ["FR", "GM", "IT", "JP", "US"]),
        ([], ["FR", "GM", "IT", "JP", "US"]),
    ],
)
def test_countries_are_chosen_by_code_or_name(
    make_study: MakeStudy, wanted: list[str] | None, codes: list[str]
) -> None:
    assert list(make_study(countries=wanted).countries) == codes


def test_names_of_countries_keep_their_article_in_prompts(make_study: MakeStudy) -> None:
    study = make_study(countries=["GM", "FR"], domains=["coins"])
    prompt = study.questions[0].prompt(study.countries["GM"])
    assert prompt == "Answer about coins. The coins (1) of the Gambia are"


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"countries": ["FR", "Itly"]}, "no country 'Itly' in the reference data; near: Italy"),
        ({"countries": ["FR", "the untied states"]}, "near: the United States"),
        ({"domains": ["coin"]}, "no domain 'coin' in the reference data; near: coins"),
    ],
)
def test_an_unknown_name_is_refused_with_suggestions(
    make_study: MakeStudy, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(UnknownName, match=said):
        make_study(**params)


def test_domains_and_phrasings_are_chosen(make_study: MakeStudy) -> None:
    study = make_study(domains=["foods", "coins"], variants=[3, 1])
    assert [q.question for q in study.questions] == ["coins-1", "coins-3", "foods-1", "foods-3"]
    assert list(study.lists) == ["coins", "dishes"]


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"countries": ["FR"]}, r"two at least; chosen: FR\. Name more in `countries`"),
        ({"countries": ["FR", "France"]}, "two at least"),
        ({"variants": []}, "no question is chosen"),
    ],
)
def test_a_study_that_compares_nothing_is_refused(
    make_study: MakeStudy, params: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        make_study(**params)


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
def test_fewer_items_are_a_part_of_more_whatever_the_order(all_names: list[str], n: int, rng: Any) -> None:
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
    def study(mix: Callable[[Rows], Rows]) -> Study:
        return build_study(
            SpectralParams(models=["m"]), mix(country_rows), mix(question_rows), mix(item_rows)
        )

    one, other = study(list), study(lambda rows: rng.sample(rows, len(rows)))
    assert one.config_hash() == other.config_hash()
    for a, b in zip(one.questions, other.questions, strict=True):
        assert one.request_hash(a, ENGINE, BOUNDARY) == other.request_hash(b, ENGINE, BOUNDARY)


@pytest.mark.parametrize(
    "same",
    [
        {"models": ["other", "third"]},
        {"refresh": True},
        {"profile": "demo"},
        {"countries_per_part": 1},
        {"countries": ["US", "Japan", "FR", "GM", "IT"]},  # all of them, said otherwise
    ],
)
def test_what_does_not_change_the_numbers_is_not_in_config_hash(
    make_study: MakeStudy, same: dict[str, Any]
) -> None:
    assert make_study(**same).config_hash() == make_study().config_hash()


@pytest.mark.parametrize(
    "other",
    [
        {"countries": ["FR", "IT"]},
        {"domains": ["coins"]},
        {"variants": [2]},
        {"max_items": 2},
        {"normalisation": "per_byte"},
        {"bootstrap": 21},
        {"seed": 1},
    ],
)
def test_what_changes_the_numbers_is_in_config_hash(make_study: MakeStudy, other: dict[str, Any]) -> None:
    assert make_study(**other).config_hash() != make_study().config_hash()


@pytest.mark.parametrize(
    "changed",
    [{"prefix": "Say:"}, {"template": "{country}:"}, {"human_score": 9.0}, {"human_category": "HH"}],
)
def test_config_hash_holds_prompts_and_human_answers(make_study: MakeStudy, changed: dict[str, Any]) -> None:
    study = make_study()
    first = replace(study.questions[0], **changed)
    assert replace(study, questions=(first, *study.questions[1:])).config_hash() != study.config_hash()


def test_config_hash_holds_who_is_listed_with_what(
    make_study: MakeStudy, country_rows: Rows, question_rows: Rows, item_rows: Rows
) -> None:
    other = [r | {"countries": ["FR"]} if r["item"] == "sushi" else r for r in item_rows]
    study = make_study()
    changed = build_study(study.params, country_rows, question_rows, other)
    assert changed.config_hash() != study.config_hash()
    # Who has the item listed changes no answer.
    assert [request_hash(changed, i) for i in range(4)] == [request_hash(study, i) for i in range(4)]


def test_answers_are_found_again_by_another_choice_of_countries(make_study: MakeStudy) -> None:
    some = {
        "countries": ["FR", "IT"],
        "models": ["n"],
        "seed": 5,
        "bootstrap": 30,
        "normalisation": "per_byte",
    }
    assert request_hash(make_study(**some)) == request_hash(make_study())


def test_a_shorter_list_is_another_request(make_study: MakeStudy) -> None:
    """Answers are stored by list: those of a part of the list are not taken for the whole."""
    assert request_hash(make_study(max_items=2)) != request_hash(make_study())
    assert request_hash(make_study(max_items=100)) == request_hash(make_study())


def test_request_hash_holds_all_that_determines_the_answers(
    make_study: MakeStudy, country_rows: Rows, question_rows: Rows, item_rows: Rows
) -> None:
    study = make_study()
    seen = {request_hash(study, i) for i in range(4)}
    seen |= {request_hash(study, engine="other"), request_hash(study, boundary="other")}
    for change in ({"prefix": "Say:"}, {"template": "{country}:"}):
        first = replace(study.questions[0], **change)
        seen.add(study.request_hash(first, ENGINE, BOUNDARY))
    renamed = [r | {"name": "Gaul"} if r["country"] == "FR" else r for r in country_rows]
    seen.add(request_hash(build_study(study.params, renamed, question_rows, item_rows)))
    more = [*item_rows, {"item_list": "coins", "item": "yen", "countries": ["JP"]}]
    seen.add(request_hash(build_study(study.params, country_rows, question_rows, more)))
    assert len(seen) == 10


def test_digest_is_a_value_hash_of_the_length_asked() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert (len(digest(1)), len(digest(1, 32))) == (16, 32)


# --- the plan


@given(st.sets(st.sampled_from([a + b for a in "ABCDE" for b in "ABCDE"])), st.integers(1, 30))
def test_units_cover_exactly_what_is_missing(make_study: MakeStudy, missing: set[str], size: int) -> None:
    question = make_study().questions[0]
    units = list(plan_units(question, "hash", sorted(missing, reverse=True), size))
    covered = [country for unit in units for country in unit.countries]
    assert covered == sorted(missing)  # each once
    assert all(1 <= len(unit.countries) <= size for unit in units)
    assert len({unit.part for unit in units}) == len(units)


def test_a_part_is_named_by_what_it_answers(make_study: MakeStudy) -> None:
    question = make_study().questions[0]
    (one,) = plan_units(question, "hash", ["FR", "IT"], 34)
    (same,) = plan_units(question, "hash", ["IT", "FR"], 2)
    (other,) = plan_units(question, "other", ["FR", "IT"], 34)
    (fewer,) = plan_units(question, "hash", ["FR"], 34)
    assert one.part == same.part
    assert len({one.part, other.part, fewer.part}) == 3


def test_pairs_are_countries_times_items_of_every_question(make_study: MakeStudy) -> None:
    study = make_study(countries=["FR", "IT"], domains=["coins", "foods"], variants=[1, 2])
    assert study.n_pairs == 2 * (3 + 3 + 5 + 5)
