"""Conditions and their prompts, and the hashes of requests and configurations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.engines.prompting import candidate_rule, fill
from tasks.evaluations.fmlama.judge import rubric
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
        # As in the paper, switched prompts never name the country.
        (BOTH | {"code_switching": True, "mention_country": "yes"}, "en:en:yes zh:zh:yes en:zh:no zh:en:no"),
        ({"code_switching": True}, "en:en:no"),
    ],
)
def test_params_choose_the_conditions(make_study: MakeStudy, params: dict[str, Any], slugs: str) -> None:
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


def test_code_switching_needs_dishes_with_labels_in_both_languages(make_study: MakeStudy) -> None:
    rows = [r for r in dish_rows() if (r["language"], r["url"]) not in {("zh", "Q1"), ("en", "Q2")}]
    study = make_study(rows, **BOTH, code_switching=True, aligned=False)
    urls = {p.condition.slug: "".join(d.url for d in p.dishes) for p in study.probes}
    assert urls == {"en:en:no": "Q1Q3Q4", "zh:zh:no": "Q2Q3Q4", "en:zh:no": "Q3Q4", "zh:en:no": "Q3Q4"}
    apart = [r for r in dish_rows() if (r["language"] == "zh") == (r["url"] == "Q1")]
    with pytest.raises(ValueError, match="no dish has labels in both 'en' and 'zh'"):
        make_study(apart, **BOTH, code_switching=True, aligned=False)


def test_probe_has_candidates_and_reference_ingredients(make_study: MakeStudy) -> None:
    (probe,) = make_study().probes
    assert probe.candidates == ("cheese", "flour", "rice", "salt")
    assert probe.relevant.astype(int).tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]]
    assert probe.names == ("pizza", "pasta", "sushi", "onigiri")
    assert probe.n_pairs == 2 * 4 * 4
    assert probe.n_relevant.tolist() == [2, 1, 1, 2]
    assert probe.dish_of_top.tolist() == [0, 0, 1, 2, 3, 3]


def test_prompt_names_the_country_in_the_templates_language(make_study: MakeStudy) -> None:
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


def changed(url: str, **cells: Any) -> list[dict[str, Any]]:
    return [r | cells if r["url"] == url and r["language"] == "en" else r for r in dish_rows()]


@pytest.mark.parametrize(
    ("params", "changes"),
    [
        ({"judged_dishes_per_origin": 2}, False),  # there is no judge
        ({"judge_style": "reasoned"}, False),
        ({"dish_set": "a copy"}, False),
        ({"max_dishes_per_origin": 2}, False),  # no origin has more
        ({"origins": ["Italy", "Japan"]}, False),
        ({"languages": ["zh"]}, True),
        ({"origins": ["Italy"]}, True),
        ({"max_dishes_per_origin": 1}, True),
        ({"judges": ["fake"]}, True),
        ({"dishes": changed("Q1", name="calzone")}, True),
        ({"dishes": changed("Q1", ingredients=["cheese"])}, True),
        ({"dishes": changed("Q1", ingredients=["cheese", "flour", "water"])}, True),
        ({"dishes": changed("Q1", origin="Japan")}, True),
        ({"groups": [{"origin": "Italy", "origin_group": "Europe"}]}, True),
        ({"templates": [r | {"text": r["text"].replace("contains", "has")} for r in template_rows()]}, True),
    ],
)
def test_config_hash_changes_with_dishes_templates_and_judges(
    make_study: MakeStudy, params: dict[str, Any], changes: bool
) -> None:
    assert (make_study(**params).config_hash() != make_study().config_hash()) == changes


def test_config_hash_changes_with_the_name_of_a_country(make_study: MakeStudy) -> None:
    group = [{"origin": origin, "origin_group": "U.K."} for origin in ("England", "Scotland", "Italy")]
    rows = [changed("Q1", origin=origin, origin_name=None) for origin in ("England", "Scotland")]
    one, other = (make_study(r, groups=group, mention_country="yes") for r in rows)
    assert one.probes[0].prompts(one.probes[0].templates[0]) != other.probes[0].prompts(
        other.probes[0].templates[0]
    )
    assert one.config_hash() != other.config_hash()


def test_config_hash_changes_with_judge_rubric_and_judge_style(make_study: MakeStudy) -> None:
    def judged(**params: Any) -> str:
        return make_study(judges=["fake"], **params).config_hash()

    assert judged() != judged(judged_dishes_per_origin=6)
    assert judged() != judged(judge_style="reasoned")
    study = make_study(judges=["fake"])
    judges = (JUDGE, replace(JUDGE, hash="other"), replace(JUDGE, name="of another name"))
    by_name = [{}, *({"fake": judge} for judge in judges), {"fake": judges[0], "more": judges[1]}]
    configs = [FmlamaStudy(study.params, study.probes, each).config_hash() for each in by_name]
    assert len(set(configs)) == 4
    assert configs[1] == configs[3]  # only the judge's engine is hashed
    own, other = judged(), rubric().model_copy(update={"version": 99})
    rubric.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.evaluations.fmlama.judge.load_rubric", lambda path: other)
        assert study.config_hash() != own
    rubric.cache_clear()


def test_config_hash_of_one_judge_is_that_of_stored_runs(make_study: MakeStudy) -> None:
    """Stored configurations have the key ``judge``, and hashes of its engine and rubric."""
    study = make_study(judges=["fake"])
    digested: list[Any] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tasks.evaluations.fmlama.study.digest", lambda parts: digested.append(parts) or "d")
        study.config_hash()
    assert digested[0] == [JUDGE.hash, rubric().hash()]
    assert digested[-1][2]["judge"] == "fake"
    assert digested[-1][2]["judged_by"] == "d"
    assert "judges" not in digested[-1][2]


def test_sentence_cut_at_the_blank_is_another_request_and_configuration(make_study: MakeStudy) -> None:
    """The paper's program cuts."""
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
    assert {cloze.after for cloze in sent} == {" a lot."}  # masked models still read it
    assert whole.config_hash() != cut.config_hash()


def test_scores_along_the_own_text_are_another_request_and_configuration(make_study: MakeStudy) -> None:
    """The paper's program scores decoders so; its sentence ends at the blank."""
    plain, own = (make_study(later_tokens=rule) for rule in ("candidate", "own"))
    requests = [ranking(study, study.probes[0], study.probes[0].templates[0]) for study in (plain, own)]
    assert [request.cloze(["pizza uses"]).is_own for request in requests] == [False, True]
    assert requests[1].cloze(["pizza uses"]).is_cut
    assert len({request.hash(ENGINE) for request in requests}) == 2
    assert plain.config_hash() != own.config_hash()


def test_request_hash_changes_with_condition_engine_rule_and_occasion(make_study: MakeStudy) -> None:
    study = make_study(**BOTH, mention_country="both", code_switching=True)
    other = replace(ENGINE, hash="other")
    masked = replace(ENGINE, kind="masked")  # another boundary rule
    assert candidate_rule("masked") != candidate_rule(ENGINE.kind)
    everything = hashes(study) + hashes(study, other) + hashes(study, masked) + hashes(study, ENGINE, "2026")
    assert len(set(everything)) == len(everything) == 4 * 6 * 2


def test_request_hash_of_stored_answers_is_unchanged(make_study: MakeStudy) -> None:
    """Stored answers are found by this hash."""
    study = make_study()
    (probe,) = study.probes
    rule = candidate_rule(ENGINE.kind)
    about = [probe.templates[0].text, "en", digest(("cheese", "flour", "rice", "salt"))]
    assert hashes(study)[0] == digest(["fmlama", ENGINE.hash, rule, *about])


def test_request_hash_ignores_pooling_and_other_conditions(make_study: MakeStudy) -> None:
    both = make_study(mention_country="both", pooling="sum_logprob", dishes_per_part=1)
    assert set(hashes(make_study())) <= set(hashes(both))
    # With other candidates the request is another one.
    assert not set(hashes(make_study(origins=["Italy"]))) & set(hashes(make_study()))


# --- units


def test_request_has_one_unit_per_sentence(make_study: MakeStudy) -> None:
    study = make_study(dishes_per_part=3)
    (probe,) = study.probes
    request = ranking(study, probe, probe.templates[0])
    assert (request.topic, request.label, request.batch) == ("en:en:no", "t-en-1", 3)
    assert list(request.units) == [f"{name} is made of" for name in ("pizza", "pasta", "sushi", "onigiri")]
    assert request.size(request.units[:3]) == 3 * 4
    (renamed,) = make_study(changed("Q2", name="pizza")).probes
    assert len(set(renamed.prompts(renamed.templates[0]))) == 3  # dishes of one name share their sentence
    cloze = request.cloze(("a", "b"))
    assert (cloze.before, cloze.lead, cloze.after, cloze.tail) == (("a", "b"), " ", "", " is made of")


# --- judged dishes


@pytest.mark.parametrize(("limit", "n"), [(1, 2), (2, 4), (5, 4)])
def test_judged_dishes_are_a_stable_sample_of_each_origin(make_study: MakeStudy, limit: int, n: int) -> None:
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


def test_judged_dishes_share_the_request_of_all_dishes(make_study: MakeStudy) -> None:
    study = make_study(judges=["fake"], judged_dishes_per_origin=1)
    whole, judged = study.probes[0], study.judged_probe
    some, everything = (ranking(study, probe, probe.templates[0]) for probe in (judged, whole))
    assert some.hash(ENGINE) == everything.hash(ENGINE)
    assert set(some.units) < set(everything.units)
