"""What is asked under which condition, and under which hashes answers are found again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.evaluations.fmlama.requests import Study, plan_units, request_hash
from tests.evaluations.fmlama.conftest import DISHES, MakeStudy, dish_rows, template_rows

ENGINE, BOUNDARY = "engine", "boundary"
BOTH = {"languages": ["en", "zh"]}


def hashes(study: Study, engine: str = ENGINE, boundary: str = BOUNDARY) -> list[str]:
    return [request_hash(p, t, engine, boundary) for p in study.probes for t in p.templates]


# --- conditions


@pytest.mark.parametrize(
    ("params", "slugs"),
    [
        ({"mention_country": "no"}, "en:en:no"),
        ({"mention_country": "yes"}, "en:en:yes"),
        ({"mention_country": "both"}, "en:en:no en:en:yes"),
        ({"languages": ["zh", "en"], "mention_country": "both"}, "zh:zh:no zh:zh:yes en:en:no en:en:yes"),
        ({"languages": ["en", "en"]}, "en:en:no"),
        (BOTH | {"code_switching": True}, "en:en:no zh:zh:no en:zh:no zh:en:no"),
        # The paper switches without the country; the pairs stay so whatever the others do.
        (BOTH | {"code_switching": True, "mention_country": "yes"}, "en:en:yes zh:zh:yes en:zh:no zh:en:no"),
        ({"code_switching": True}, "en:en:no"),
    ],
)
def test_conditions(make_study: MakeStudy, params: dict[str, Any], slugs: str) -> None:
    study = make_study(**params)
    assert [p.condition.slug for p in study.probes] == slugs.split()
    for probe in study.probes:
        assert {t.mentions_country for t in probe.templates} == {probe.condition.mentions_country}
        assert {t.language for t in probe.templates} == {probe.condition.main}
        assert [t.variant for t in probe.templates] == [1, 2]


def test_code_switching_names_the_dish_in_the_other_language(make_study: MakeStudy) -> None:
    study = make_study(**BOTH, code_switching=True)
    probe = {p.condition.slug: p for p in study.probes}["zh:en:no"]
    assert probe.prompts(probe.templates[0])[0] == "pizza是用"
    assert probe.candidates == ("奶酪", "盐", "米", "面粉")
    assert probe.dishes[0].name == "披萨"


def test_code_switching_takes_the_dishes_of_both_languages(make_study: MakeStudy) -> None:
    rows = [r for r in dish_rows() if (r["language"], r["url"]) not in {("zh", "Q1"), ("en", "Q2")}]
    study = make_study(rows, **BOTH, code_switching=True, aligned=False)
    urls = {p.condition.slug: "".join(d.url for d in p.dishes) for p in study.probes}
    assert urls == {"en:en:no": "Q1Q3Q4", "zh:zh:no": "Q2Q3Q4", "en:zh:no": "Q3Q4", "zh:en:no": "Q3Q4"}
    apart = [r for r in dish_rows() if (r["language"] == "zh") == (r["url"] == "Q1")]
    with pytest.raises(ValueError, match="no dish has labels in both 'en' and 'zh'"):
        make_study(apart, **BOTH, code_switching=True, aligned=False)


def test_candidates_and_references(make_study: MakeStudy) -> None:
    (probe,) = make_study().probes
    assert probe.candidates == ("cheese", "flour", "rice", "salt")
    assert probe.relevant.astype(int).tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    assert probe.names == ("pizza", "pasta", "sushi", "onigiri")
    assert probe.n_pairs == 2 * 4 * 4


def test_the_country_is_named_in_the_language_of_the_template(make_study: MakeStudy) -> None:
    study = make_study(**BOTH, mention_country="yes")
    first = [p.prompts(p.templates[0])[0] for p in study.probes]
    assert first == ["In Italy, pizza is made of", "在意大利，披萨是用"]
    rows = [r | {"origin_name": None} for r in dish_rows()]
    unknown = make_study(rows, mention_country="yes").probes[0]
    assert unknown.prompts(unknown.templates[0])[0] == "In Italy, pizza is made of"


# --- hashes


@given(st.randoms())
def test_hashes_do_not_depend_on_the_order_of_rows(make_study: MakeStudy, rng: Any) -> None:
    one = make_study(**BOTH, mention_country="both")
    mixed = [r | {"ingredients": rng.sample(r["ingredients"], len(r["ingredients"]))} for r in dish_rows()]
    rng.shuffle(mixed)
    templates = rng.sample(template_rows(), len(template_rows()))
    other = make_study(mixed, templates, **BOTH, mention_country="both")
    assert one.config_hash() == other.config_hash()
    assert hashes(one) == hashes(other)
    assert all(np.array_equal(a.relevant, b.relevant) for a, b in zip(one.probes, other.probes, strict=True))


@pytest.mark.parametrize(
    "same",
    [
        {"models": ["other", "m"]},
        {"refresh": True},
        {"dishes_per_part": 7},
        {"profile": "demo"},
        {"judged_dishes_per_origin": 2},  # nobody judges
        {"dish_set": "a copy"},
        {"max_dishes_per_origin": 2},  # there are no more
        {"origins": ["Italy", "Japan"]},
    ],
)
def test_what_changes_no_number_is_not_in_the_configuration(
    make_study: MakeStudy, same: dict[str, Any]
) -> None:
    assert make_study(**same).config_hash() == make_study().config_hash()


def changed(url: str, **cells: Any) -> list[dict[str, Any]]:
    return [r | cells if r["url"] == url and r["language"] == "en" else r for r in dish_rows()]


@pytest.mark.parametrize(
    "other",
    [
        {"pooling": "sum_logprob"},
        {"word_vectors": "other.vec"},
        {"baseline_top": 9},
        {"bootstrap": 21},
        {"seed": 1},
        {"variants": [1]},
        {"mention_country": "both"},
        {"languages": ["zh"]},
        {"origins": ["Italy"]},
        {"max_dishes_per_origin": 1},
        {"judge": "fake"},
        {"dishes": changed("Q1", name="calzone")},
        {"dishes": changed("Q1", ingredients=["cheese"])},
        {"dishes": changed("Q1", ingredients=["cheese", "flour", "water"])},
        {"dishes": changed("Q1", origin="Japan")},
        {"groups": [{"origin": "Italy", "origin_group": "Europe"}]},
        {"templates": [r | {"text": r["text"].replace("contains", "has")} for r in template_rows()]},
    ],
)
def test_what_changes_a_number_is_in_the_configuration(make_study: MakeStudy, other: dict[str, Any]) -> None:
    assert make_study(**other).config_hash() != make_study().config_hash()


def test_the_country_as_it_stands_in_the_sentence_is_in_the_configuration(make_study: MakeStudy) -> None:
    group = [{"origin": origin, "origin_group": "U.K."} for origin in ("England", "Scotland", "Italy")]
    rows = [changed("Q1", origin=origin, origin_name=None) for origin in ("England", "Scotland")]
    one, other = (make_study(r, groups=group, mention_country="yes") for r in rows)
    assert one.probes[0].prompts(one.probes[0].templates[0]) != other.probes[0].prompts(
        other.probes[0].templates[0]
    )
    assert one.config_hash() != other.config_hash()


def test_the_judge_and_its_rubric_are_in_the_configuration(make_study: MakeStudy) -> None:
    judged: Callable[..., str] = lambda **p: make_study(judge="fake", **p).config_hash()  # noqa: E731
    assert judged() != judged(judged_dishes_per_origin=6)
    study = make_study(judge="fake")
    assert len({Study(study.params, study.probes, by).config_hash() for by in (None, "a", "b")}) == 3


def test_requests_of_conditions_engines_and_boundary_rules_differ(make_study: MakeStudy) -> None:
    study = make_study(**BOTH, mention_country="both", code_switching=True)
    everything = hashes(study) + hashes(study, engine="other") + hashes(study, boundary="other")
    assert len(set(everything)) == len(everything) == 3 * 6 * 2


def test_requests_are_found_again_by_other_configurations(make_study: MakeStudy) -> None:
    both = make_study(mention_country="both", pooling="sum_logprob", bootstrap=30, dishes_per_part=1)
    assert set(hashes(make_study())) <= set(hashes(both))
    # Other candidates are another question.
    assert not set(hashes(make_study(origins=["Italy"]))) & set(hashes(make_study()))


# --- units


@given(st.integers(1, 6), st.sets(st.sampled_from(sorted(d[1] for d in DISHES.values()))))
def test_units_cover_what_is_missing_once(make_study: MakeStudy, size: int, names: set[str]) -> None:
    (probe,) = make_study().probes
    template = probe.templates[0]
    missing = [template.before(name, "") for name in names]
    units = list(plan_units(probe, template, "r", missing, size))
    assert sorted(p for u in units for p in u.prompts) == sorted(missing)
    assert all(0 < len(u.prompts) <= size for u in units)
    assert len({u.part for u in units}) == len(units) == -(-len(missing) // size)
    assert sum(u.n_pairs for u in units) == 4 * len(missing)


def test_a_unit_is_named_by_what_it_answers(make_study: MakeStudy) -> None:
    (probe,) = make_study().probes
    one, other = probe.templates
    (a,) = plan_units(probe, one, "r", ["b", "a"], 9)
    (b,) = plan_units(probe, one, "r", ["a", "b"], 9)
    (c,) = plan_units(probe, other, "r2", ["a", "b"], 9)
    assert a.part == b.part != c.part
    assert a.cloze.before == ("a", "b")
    assert (a.cloze.lead, a.cloze.after, a.cloze.tail) == (" ", "", " is made of")


def test_dishes_of_one_name_share_their_sentence(make_study: MakeStudy) -> None:
    (probe,) = make_study(changed("Q2", name="pizza")).probes
    prompts = probe.prompts(probe.templates[0])
    assert prompts[0] == prompts[1]
    assert len(set(prompts)) == 3
