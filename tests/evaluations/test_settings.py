"""The settings of papers as data: comparable with a run, and set by profile paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from deployments.evaluations import doors, evaluation, params, shipped_profiles
from tasks.evaluations.settings import (
    ENGINES,
    SELECTING,
    OwnPack,
    Setting,
    compared,
    differing,
    digest_of_words,
    settings,
)
from tasks.packs.shape import content_hash

FROM_PAPERS = [name for name in doors() if settings(name)]
PROFILES = [
    (name, label) for name in FROM_PAPERS for label in shipped_profiles(name) if label.startswith("paper")
]


UNLISTED = {
    "batch", "countries_per_part", "dishes_per_part", "max_lost", "max_total_tokens", "max_usd",  # the work
    "occasion", "profile", "pack", "cohort", "dtype",  # names, and what other rows or engines hold
    "half_samples", "nulls", "seed",  # intervals, null models and draws, not a model's numbers
    "judge_max_tokens", "simulator_max_tokens",  # an answer beyond them is lost, with a reason
    "passages",  # only with documents, which have a row
    "order", "decision", "values_weight",  # of our embedded text, in whose place a pack's stands
    "personas_file", "files", "limit",
    "dish_set", "until",  # rows without a line in the file
}  # fmt: skip
"""Options that need no row of settings.toml."""
NOT_SAID = {"cure": {"max_tokens"}, "explication": {"max_tokens"}}
"""Options for which the paper gives no value."""
FACTS = {
    "culturall": {
        "temperature",
        "tokens of an answer at most",
        "reasoning",
        "web search",
        "what a judge is given",
        "what a judge is asked about answers in English",
    },
    "worldwise": {"decisions other than A, B and Decline"},
    "cure": {"which 1,000 items", "form of answers", "what a judge is given", "coherence"},
    "explication": {"penalties"},
    "fmlama": { "precision of the baseline", "what MES counts", "messages to the judge of MES"},
}  # fmt: skip
"""Settings that differ whatever a run chooses."""
USER_FILES = {"word_vectors"}
"""Options that name a file of the user's."""


def test_evaluations_with_a_paper_have_its_profile() -> None:
    assert {"worldwise", "spectral", "explication"} <= set(FROM_PAPERS)
    assert {name for name, label in PROFILES if label == "paper"} == set(FROM_PAPERS)


@pytest.mark.parametrize("name", FROM_PAPERS)
def test_each_setting_is_comparable_with_a_run(name: str) -> None:
    shape, fields = evaluation(name).pack, params(name).model_fields
    assert shape is not None
    files = {file.name for file in shape.files} | {f"prompts.{wording.name}" for wording in shape.wordings}
    for row in settings(name):
        assert row.section, row
        assert not row.field or row.field in fields, row
        assert not row.pack or row.pack in files, row
        if row.field and row.field not in ENGINES and row.value is not None:
            params(name)(models=["m"], **{row.field: row.value})
    labels = [(row.setting, row.profile) for row in settings(name)]
    assert len(labels) == len(set(labels))


@pytest.mark.parametrize(("name", "label"), PROFILES)
def test_profile_of_the_paper_has_its_parameters(name: str, label: str) -> None:
    knobs = params(name)(**{"models": ["m"], **shipped_profiles(name)[label]})
    rows = [row for row in settings(name) if row.field and row.field not in {*ENGINES, *USER_FILES}]
    rows = [row for row in rows if not row.is_unsaid]
    if label != "paper":  # its other rows are the program's, by which published numbers were made
        assert any(row.profile == label for row in settings(name))
        rows = [row for row in rows if row.profile == label]
    assert [row.setting for row in compared(rows, knobs, profile=label) if not row.is_equal] == []


@pytest.mark.parametrize("name", FROM_PAPERS)
def test_full_pack_and_profile_differ_only_in_engines_and_known_facts(name: str) -> None:
    every = [row for row in of_any_words(name) if row.field not in {*ENGINES, *USER_FILES}]
    rows = tuple(row for row in every if (row.field and not row.is_unsaid) or row.pack or row.is_equal)
    assert {row.setting for row in every} - {row.setting for row in rows} == FACTS.get(name, set())
    knobs = params(name)(**{"models": ["m"], **shipped_profiles(name)["paper"]})
    table = compared(rows, knobs, [full_pack(rows)])
    assert [row.setting for row in table if not row.may_be_equal and not row.is_model] == []
    assert {row.setting for row in table if row.is_open} == {
        row.setting for row in rows if row.pack and not row.words and row.profile in ("", "paper")
    }  # the authors' files are not here, so no hash of them is
    models = {row.setting for row in compared(settings(name), knobs) if row.is_model}
    assert models == {row.setting for row in settings(name) if row.field == "models"}
    without = {row.setting for row in compared(rows, knobs) if not row.is_equal and not row.is_model}
    assert without == {row.setting for row in rows if row.pack and row.profile in ("", "paper")}


@pytest.mark.parametrize("name", FROM_PAPERS)
def test_every_option_that_changes_a_number_has_a_row(name: str) -> None:
    listed = {row.field for row in settings(name)}
    assert set(params(name).model_fields) - listed - UNLISTED - NOT_SAID.get(name, set()) == set()


def full_pack(rows: tuple[Setting, ...]) -> OwnPack:
    """Return a pack with as many rows as the paper has, and every text."""
    texts = {row.pack.partition(".")[2]: FORM for row in rows if row.pack.startswith("prompts.")}
    own = {row.pack: some(row) for row in rows if row.pack and "." not in row.pack}
    return OwnPack("own", {**own, "prompts": [texts], "replaces": [replaces(own)]})


def some(row: Setting) -> list[dict[str, Any]]:
    """Return as many rows as the paper has."""
    return [{"n": n} for n in range(row.rows or not row.least)] + [
        {"n": n, row.each: value} for value, least in row.least.items() for n in range(least)
    ]


def of_any_words(name: str) -> tuple[Setting, ...]:
    """Return the settings as if no text were printed, for tests without the authors' texts."""
    return tuple(row.model_copy(update={"words": ""}) for row in settings(name))


FORM = "Respond YES only if it is."


def replaces(own: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of replaces.toml that ``pack from`` writes."""
    return {"files": list(own), "made": {file: content_hash(rows) for file, rows in own.items()}}


KNOB = Setting(setting="so often", section="1", field="repetitions", value=1, metrics=("alignment",))
CONTENT = Setting(setting="items", section="2", pack="item", rows=2, ours="ours", paper="theirs")


def test_differing_settings_concern_their_own_metrics() -> None:
    knobs = params("worldwise")(models=["m"], repetitions=2)
    table = compared([KNOB, CONTENT], knobs)
    found = [(row.ours, row.paper, row.is_equal) for row in table[:2]]
    assert found == [("2", "1", False), ("ours", "theirs", False)]
    assert [row.setting for row in differing(table, "alignment")] == ["so often", "items"]
    assert [row.setting for row in differing(table, "tvd")] == ["items"]
    for wrong in ({}, {"field": "seed", "pack": "item"}):
        with pytest.raises(ValueError, match="has either field, or pack, or ours"):
            Setting(setting="x", section="1", **wrong)
    assert settings("no_such_thing") == settings("../contract") == ()


@pytest.mark.parametrize(
    ("n", "alone", "ours", "is_equal"),
    [
        (2, True, "2 of pack own, not verified", True),
        (3, True, "3 of pack own", False),
        (2, False, "2 of pack own, beside the shipped ones", False),
    ],
)
def test_content_of_a_pack_is_compared_by_rows(n: int, alone: bool, ours: str, is_equal: bool) -> None:
    content = {"item": [{}] * n}
    rows = content | {"replaces": [replaces(content) if alone else replaces(content) | {"files": []}]}
    (row, *_) = compared([CONTENT], params("worldwise")(models=["m"]), [OwnPack("own", rows)])
    assert (row.ours, row.is_open, row.is_equal) == (ours, is_equal, False)


def test_content_is_the_papers_only_by_the_hash_of_the_authors_own() -> None:
    content = {"item": [{"text": "one"}, {"text": "two"}]}
    pack = OwnPack("own", content | {"replaces": [replaces(content)]})
    for known, ours, is_equal in (
        (content_hash(content["item"]), "2 of pack own", True),
        ("0123", "2 of pack own, other than the authors'", False),
    ):
        row = CONTENT.model_copy(update={"hash": known})
        (own, *_) = compared([row], params("worldwise")(models=["m"]), [pack])
        assert (own.ours, own.is_equal, own.is_open) == (ours, is_equal, False)
    (own, *_) = compared([CONTENT], params("worldwise")(models=["m"]), [pack])
    assert (own.is_equal, own.is_open) == (False, True)
    assert [row.setting for row in differing([own], "alignment")] == ["items"]


@pytest.mark.parametrize(
    ("judge", "is_equal"),
    [
        ("openai/gpt-5", True),
        ("openrouter/openai/GPT-5", True),
        ("http://host:8000/v1#gpt-5", True),
        ("gpt-5-mini", False),
        ("gpt-5/other", False),
    ],
)
def test_setting_of_a_model_equals_the_papers_behind_any_server(judge: str, is_equal: bool) -> None:
    (row,) = (row for row in settings("cure") if row.field == "judges")
    (own, *_) = compared([row], params("cure")(models=["m"], judges=[judge]))
    assert own.is_equal == is_equal


@pytest.mark.parametrize(
    ("name", "model", "is_equal"),
    [
        ("explication", "meta-llama/Llama-3.1-8B-Instruct", True),
        ("explication", "meta-llama/Meta-Llama-3.1-70B-Instruct", True),
        ("explication", "hf:CohereForAI/aya-23-8B", True),
        ("explication", "CohereLabs/aya-23-8B", True),
        ("explication", "CohereLabs/aya-23-35B", False),
        ("explication", "google/gemma-2-2b-it", True),
        ("explication", "google/gemma-3-2b-it", False),
        ("explication", "meta-llama/Llama-3.2-3B-Instruct", False),
        ("spectral", "openai-community/gpt2", True),
        ("spectral", "EleutherAI/gpt-j-6b", True),
        ("spectral", "openai-community/gpt2-xl", False),
        ("worldwise", "anthropic/claude-3-5-haiku-20241022", True),
        ("worldwise", "openai/gpt-4o-mini-2024-07-18", True),
        ("worldwise", "openai/gpt-4o-2024-05-13", False),
    ],
)
def test_the_papers_models_are_known_by_their_repositories(name: str, model: str, is_equal: bool) -> None:
    (row,) = (row for row in settings(name) if row.field == "models")
    (own, *_) = compared([row], params(name)(models=[model]))
    assert own.is_equal is is_equal


def test_a_date_counts_where_the_paper_prints_one() -> None:
    dated = Setting(setting="m", section="1", field="models", value=["gpt-4o-2024-08-06"])
    for model, is_equal in (("gpt-4o-2024-08-06", True), ("gpt-4o-2024-05-13", False), ("gpt-4o", False)):
        (own, *_) = compared([dated], params("worldwise")(models=[model]))
        assert own.is_equal is is_equal


def test_settings_have_the_facts_of_the_papers() -> None:
    """Worldwise: sections 2 and 3.1, and its program's config.py. Others: 3.3 and 5.1, and Table 3."""
    worldwise, spectral, own = (
        {row.setting: row for row in settings(name)} for name in ("worldwise", "spectral", "explication")
    )
    assert worldwise["models"].value == ["GPT-4o-mini", "Claude 3.5 Haiku", "Gemini 2.0 Flash", "DeepSeek"]
    assert (worldwise["scenarios"].rows, worldwise["values to choose from"].rows) == (30, 18)
    assert sorted(worldwise["cultures"].value) == ["AE", "IN", "JP", "MX", "US"]
    assert (worldwise["answers to each prompt"].value, worldwise["temperature"].value) == (1, 0.7)
    assert worldwise["tokens of an answer at most"].value == 1000
    assert worldwise["targets"].section == "7.4"
    assert worldwise["tests"].paper.startswith("Student's t")
    assert len(spectral["models"].value) == 8
    assert (spectral["precision"].value, spectral["log-probability of an item"].value) == ("float16", "sum")
    assert spectral["wordings of each question"].value == [1, 2, 3]
    assert spectral["countries"].value is None
    assert len(own["models"].value) == 6
    assert (own["simulator"].value, own["judges"].value) == ("GPT-4o", ["GPT-4o"])
    assert own["personas"].rows == 10
    assert own["conversations of each persona and condition"].value == 10
    assert (own["temperature of both sides"].value, own["turns at most"].value) == (1.0, 0)
    knobs = params("explication")(models=["m"], simulator="gpt-4o", judges=["GPT4o", "other"])
    table = {row.setting: row.is_equal for row in compared(settings("explication"), knobs)}
    assert (table["simulator"], table["judges"], table["models"]) == (True, False, False)


@pytest.mark.parametrize(
    ("chosen", "setting"),
    [
        (("worldwise", {"limit": 6}), "items at most"),
        (("fmlama", {"limit": 132}), "items at most"),
        (("fmlama", {"dish_set": "fmlama-all"}), "dish set"),
        (("explication", {"personas_file": "own.jsonl"}), "personas file"),
        (("cure", {"countries": ["IN"]}), "countries"),
        *(
            ((name, {"until": "width 0.05"}), "items sent")
            for name in ("cure", "culturall", "worldwise", "fmlama")
        ),
    ],
)
def test_a_part_of_the_items_is_never_the_papers(chosen: tuple[str, dict[str, Any]], setting: str) -> None:
    name, options = chosen
    before, after = (
        {row.setting: row.is_equal for row in compared(settings(name), params(name)(models=["m"], **more))}
        for more in ({}, options)
    )
    assert (before.get(setting, True), after[setting]) == (True, False)


@pytest.mark.parametrize("name", FROM_PAPERS)
def test_every_option_that_chooses_items_has_a_row(name: str) -> None:
    fields = {field for field in params(name).model_fields if field in SELECTING or field.endswith("_file")}
    listed = {row.field for row in settings(name)}
    table = {row.setting for row in compared(settings(name), params(name)(models=["m"]))}
    others = {field.replace("_", " ").replace("limit", "items at most") for field in fields - listed}
    assert others <= table


def test_a_pack_that_was_edited_or_typed_in_is_not_the_papers() -> None:
    knobs = params("worldwise")(models=["m"])
    made = {"item": [{"text": "one"}, {"text": "two"}]}
    edited = {"item": [{"text": "one"}, {"text": "three"}]}
    for rows, stamps, why in (
        (made, replaces(made), ", not verified"),
        (edited, replaces(made), ", edited"),
        (made, {"files": ["item"]}, ", not made by pack from"),
    ):
        (row, *_) = compared([CONTENT], knobs, [OwnPack("own", {**rows, "replaces": [stamps]})])[:1]
        assert (row.ours, row.is_open) == (f"2 of pack own{why}", why == ", not verified")
    text = Setting(setting="t", section="1", pack="prompts.persona", ours="ours", paper="theirs")
    stamp = {"files": ["item"], "made": {"prompts.persona": content_hash([{"persona": "Be kind."}])}}
    for words, is_equal in (("Be kind.", True), ("Be good.", False)):
        pack = OwnPack("own", {"prompts": [{"persona": words}], "replaces": [stamp]})
        assert compared([text], knobs, [pack])[0].is_open is is_equal


def test_further_content_of_a_pack_and_rubrics_without_a_form_are_listed() -> None:
    knobs = params("worldwise")(models=["m"])
    rubric = Setting(setting="r", section="1", pack="prompts.x_rules", ours="o", paper="p", is_rubric=True)
    for texts, is_equal in (
        ({"x_rules": "Judge it."}, False),
        ({"x_rules": FORM}, True),
        ({"x_rules": "Judge it.", "x_question": FORM}, True),
        ({"x_rules": "Judge it.", "judge_form": "End with 1 or 0."}, True),
    ):
        table = compared([rubric], knobs, [OwnPack("own", {"prompts": [texts]})])
        assert (table[0].is_open, "form" in table[0].ours) == (is_equal, not is_equal)
    table = compared([rubric], knobs, [OwnPack("own", {"item": [{}], "prompts": [{"other": "x"}]})])
    assert [(row.ours, row.is_equal) for row in table if row.setting == "further content"] == [
        ("of pack own: item, prompts.other", False)
    ]


PROMPT = "Using the scenario as context, answer the question in as few words as possible."


@pytest.mark.parametrize(
    ("text", "is_equal"),
    [
        (f"{PROMPT}\n\nScenario: {{{{ scenario }}}}\nQuestion: {{{{ question }}}}\nAnswer:", True),
        (f"{PROMPT.upper()} Scenario: {{scenario}} Question: [QUESTION] Answer:", True),
        (f"{PROMPT} Scenario: {{{{ scenario }}}} Question: {{{{ question }}}} Short answer:", False),
        ("Answer: {{ question }}", False),
    ],
)
def test_a_typed_text_has_the_words_that_the_paper_prints(text: str, is_equal: bool) -> None:
    """Lin et al. (2026), figure 11."""
    (row,) = (row for row in settings("culturall") if row.pack == "prompts.prompt")
    pack = OwnPack("own", {"prompts": [{"prompt": text}]})
    (own, *_) = compared([row], params("culturall")(models=["m"]), [pack])
    assert (own.ours, own.is_equal) == (f"of pack own{'' if is_equal else ', in other words'}", is_equal)


def test_words_of_a_rubric_are_read_from_all_its_texts() -> None:
    words = digest_of_words("Is it right? {{ gold }} Only 1 or 0.")
    rubric = Setting(
        setting="r", section="1", pack="prompts.judge_question", ours="o", paper="p", words=words,
        parts=("judge_rules", "judge_question", "judge_form"),
    )  # fmt: skip
    whole = {"judge_rules": "Is it right?", "judge_question": "{{ gold }}", "judge_form": "Only 1 or 0."}
    for texts, is_equal in ((whole, True), (whole | {"judge_form": "Only 1."}, False)):
        (own, *_) = compared(
            [rubric], params("culturall")(models=["m"]), [OwnPack("own", {"prompts": [texts]})]
        )
        assert own.is_equal is is_equal


def test_a_pack_of_part_of_a_benchmark_is_not_the_papers() -> None:
    (row,) = (row for row in settings("cure") if row.pack == "item")
    whole, part = some(row), some(row)[:-1]
    for rows, why in ((whole, ", not verified"), (part, ", only 999 of specnorm")):
        pack = OwnPack("own", {"item": rows, "replaces": [replaces({"item": rows})]})
        (own, *_) = compared([row], params("cure")(models=["m"]), [pack])
        assert (own.ours, own.is_open) == (f"{len(rows)} of pack own{why}", why == ", not verified")


DECODERS = {"a decoder's sentence is cut at the blank", "a decoder's later tokens"}


@pytest.mark.parametrize(
    ("kinds", "shown"),
    [
        ({"masked"}, set()),
        ({"masked", "seq2seq"}, set()),
        ({"masked", "packed_trie"}, DECODERS),
        (set(), DECODERS),
    ],
)
def test_a_setting_of_decoders_does_not_concern_other_kinds(kinds: set[str], shown: set[str]) -> None:
    table = compared(settings("fmlama"), params("fmlama")(models=["m"]), kinds=frozenset(kinds))
    assert {row.setting for row in table} & DECODERS == shown


@pytest.mark.parametrize(("column", "charged"), [("Bb", False), ("T5", False), ("Llama3", True), ("", True)])
def test_a_setting_of_decoders_is_charged_to_their_columns(column: str, charged: bool) -> None:
    table = compared(settings("fmlama"), params("fmlama")(models=["m"]))
    named = {row.setting for row in differing(table, "map", column)}
    assert (named >= DECODERS) is charged
    assert charged or not named & DECODERS
