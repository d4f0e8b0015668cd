"""What is asked under which condition, and under which hashes answers are found again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.engines.prompting import candidate_rule, fill
from tasks.evaluations.fmlama.judge import rubric
from tasks.evaluations.fmlama.params import FmlamaParams
from tasks.evaluations.fmlama.study import FmlamaStudy, ranking
from tasks.identity import digest
from tasks.loop.requests import Engine
from tests.evaluations.fmlama.conftest import JUDGE, MakeStudy, dish_rows, template_rows

ENGINE = Engine("m", "packed_trie", "m", "hash of m")
BOTH = {"languages": ["en", "zh"]}


def hashes(study: FmlamaStudy, engine: Engine = ENGINE, occasion: str = "") -> list[str]:
    engine = replace(engine, occasion=occasion)
    return [ranking(study, p, t).hash(engine) for p in study.probes for t in p.templates]


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
        {"occasion": "again"},
        {"batch": 7},
        {"dishes_per_part": 7},
        {"max_usd": 1.0},
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
        {"seed": 1},
        {"variants": [1]},
        {"mention_country": "both"},
        {"languages": ["zh"]},
        {"origins": ["Italy"]},
        {"max_dishes_per_origin": 1},
        {"judges": ["fake"]},
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
    judged: Callable[..., str] = lambda **p: make_study(judges=["fake"], **p).config_hash()  # noqa: E731
    assert judged() != judged(judged_dishes_per_origin=6)
    study = make_study(judges=["fake"])
    judges = (JUDGE, replace(JUDGE, hash="other"), replace(JUDGE, name="of another name"))
    by_name = [{}, *({"fake": judge} for judge in judges), {"fake": judges[0], "more": judges[1]}]
    configs = [FmlamaStudy(study.params, study.probes, each).config_hash() for each in by_name]
    assert len(set(configs)) == 4
    assert configs[1] == configs[3]  # its engine counts, whatever it is called
    assert judged(judge_style="reasoned") != judged()
    assert make_study(judge_style="reasoned").config_hash() == make_study().config_hash()  # nobody judges


def test_one_judge_is_hashed_as_when_there_was_but_one(make_study: MakeStudy) -> None:
    """What runs of before are found again by: the key ``judge``, and hashes of its engine and rubric."""
    study = make_study(judges=["fake"])
    patched: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.evaluations.fmlama.study.digest", lambda parts: patched.append(parts) or "d")
        study.config_hash()
    assert patched[0] == [JUDGE.hash, rubric().hash()]
    assert patched[-1][2]["judge"] == "fake"
    assert patched[-1][2]["judged_by"] == "d"
    assert "judges" not in patched[-1][2]
    of_before = FmlamaParams.stored({"models": ["m"], "judge": "fake"})
    assert of_before.judges == ["fake"]
    assert FmlamaParams.stored({"models": ["m"], "judge": None}).judges == []


def test_decoders_may_end_the_sentence_at_the_blank(make_study: MakeStudy) -> None:
    """As the paper's program has it: another request, and another configuration."""
    plain = [row for row in template_rows() if row["language"] == "en" and not row["mentions_country"]]
    rows = [row | {"text": "[X] uses [Y] a lot."} for row in plain]
    whole, cut = (make_study(templates=rows, cut_at_blank=is_cut) for is_cut in (False, True))
    sent = []
    for study in (whole, cut):
        probe = study.probes[0]
        request = ranking(study, probe, probe.templates[0])
        sent.append(request.cloze(["pizza uses"]))
        assert ("cut at the blank" in request.about) == study.params.cut_at_blank
    assert [fill(cloze, ["salt"]) for cloze in sent] == [[" salt a lot."], [" salt"]]
    assert {cloze.after for cloze in sent} == {" a lot."}  # which models that see both sides still read
    assert whole.config_hash() != cut.config_hash()


def test_the_rubric_again(make_study: MakeStudy) -> None:
    judged: Callable[..., str] = lambda **p: make_study(judges=["fake"], **p).config_hash()  # noqa: E731
    study, configs = make_study(judges=["fake"]), [judged()]
    other = rubric().model_copy(update={"version": 99})
    rubric.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.evaluations.fmlama.judge.load_rubric", lambda path: other)
        assert study.config_hash() not in configs
    rubric.cache_clear()


def test_requests_of_conditions_engines_boundary_rules_and_occasions_differ(make_study: MakeStudy) -> None:
    study = make_study(**BOTH, mention_country="both", code_switching=True)
    other = replace(ENGINE, hash="other")
    masked = replace(ENGINE, kind="masked")  # another boundary rule
    assert candidate_rule("masked") != candidate_rule(ENGINE.kind)
    everything = hashes(study) + hashes(study, other) + hashes(study, masked) + hashes(study, ENGINE, "2026")
    assert len(set(everything)) == len(everything) == 4 * 6 * 2


def test_a_request_is_named_as_it_always_was(make_study: MakeStudy) -> None:
    """Answers that are stored are found by this hash."""
    study = make_study()
    (probe,) = study.probes
    rule = candidate_rule(ENGINE.kind)
    about = [probe.templates[0].text, "en", digest(("cheese", "flour", "rice", "salt"))]
    assert hashes(study)[0] == digest(["fmlama", ENGINE.hash, rule, *about])


def test_requests_are_found_again_by_other_configurations(make_study: MakeStudy) -> None:
    both = make_study(mention_country="both", pooling="sum_logprob", dishes_per_part=1)
    assert set(hashes(make_study())) <= set(hashes(both))
    # Other candidates are another question.
    assert not set(hashes(make_study(origins=["Italy"]))) & set(hashes(make_study()))


# --- units


def test_a_request_has_every_sentence_as_a_unit(make_study: MakeStudy) -> None:
    study = make_study(dishes_per_part=3)
    (probe,) = study.probes
    request = ranking(study, probe, probe.templates[0])
    assert (request.topic, request.label, request.batch) == ("en:en:no", "t-en-1", 3)
    assert list(request.units) == [f"{name} is made of" for name in ("pizza", "pasta", "sushi", "onigiri")]
    assert request.size(request.units[:3]) == 3 * 4
    cloze = request.cloze(("a", "b"))
    assert (cloze.before, cloze.lead, cloze.after, cloze.tail) == (("a", "b"), " ", "", " is made of")


def test_dishes_of_one_name_share_their_sentence(make_study: MakeStudy) -> None:
    (probe,) = make_study(changed("Q2", name="pizza")).probes
    prompts = probe.prompts(probe.templates[0])
    assert prompts[0] == prompts[1]
    assert len(set(prompts)) == 3


# --- what the judge sees


@pytest.mark.parametrize(("limit", "n"), [(1, 2), (2, 4), (5, 4)])
def test_the_judge_sees_some_dishes_of_each_origin(make_study: MakeStudy, limit: int, n: int) -> None:
    study = make_study(mention_country="both", judges=["fake"], judged_dishes_per_origin=limit)
    judged, whole = study.judged_probe, study.probes[0]
    assert len(judged.dishes) == n
    assert set(judged.origins) == {"Italy", "Japan"}
    for origin in ("Italy", "Japan"):
        smallest = sorted((d.url for d in whole.dishes if d.group == origin), key=digest)[:limit]
        assert {dish.url for dish in judged.dishes if dish.group == origin} == set(smallest)
    assert [t.template for t in judged.templates] == ["t-en-1"]
    place = [whole.dishes.index(dish) for dish in judged.dishes]
    assert place == sorted(place) == study.judged.tolist()
    assert judged.names == tuple(whole.names[i] for i in place)
    assert np.array_equal(judged.relevant, whole.relevant[place])


def test_what_the_judge_sees_is_read_from_the_answers_to_all(make_study: MakeStudy) -> None:
    study = make_study(judges=["fake"], judged_dishes_per_origin=1)
    whole, judged = study.probes[0], study.judged_probe
    some, everything = (ranking(study, probe, probe.templates[0]) for probe in (judged, whole))
    assert some.hash(ENGINE) == everything.hash(ENGINE)
    assert set(some.units) < set(everything.units)


def test_top_predictions_are_as_many_as_ingredients(make_study: MakeStudy) -> None:
    (probe,) = make_study().probes
    assert probe.n_relevant.tolist() == [2, 1, 1, 2]
    assert probe.dish_of_top.tolist() == [0, 0, 1, 2, 3, 3]
