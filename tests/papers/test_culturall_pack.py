"""A pack of CulturALL's items and prompts, and how its texts count beside the paper's."""

from __future__ import annotations

import csv
import io
import tomllib
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import shipped_profiles
from tasks.evaluations.culturall.evaluation import EVALUATION
from tasks.evaluations.culturall.items import CulturallItemRow
from tasks.evaluations.culturall.pack import PACK
from tasks.evaluations.culturall.params import CulturallParams
from tasks.evaluations.culturall.study import build_study
from tasks.evaluations.settings import OwnPack, compared, settings
from tasks.loop.prompts import Completion
from tasks.loop.requests import Engine
from tasks.packs.files import read_csv
from tasks.packs.shape import Wording
from tasks.papers.culturall.importer import IMPORTER, fill
from tasks.papers.importing import Pack, pack_from
from tests.evaluations.culturall.conftest import ROWS

ITEMS = """language,region,topic,scenario,question,answer,explanation,eval_sum,english_scenario,\
english_question,english_answer
zh,cn,Food,甲,何?,茶,因为,12,A case.,Which?,tea
zh,CN,Work,乙,几?,七,,0,,,
en,uk,Food,C,Which? A. tea B. rye C. salt D. oil,B,,7,,,
en,us,Magic,D,Who?,me,,7,,,
"""


@pytest.fixture
def items(tmp_path: Path) -> list[dict[str, Any]]:
    """The rows of the pack out of ITEMS."""
    (tmp_path / "annotated_items.csv").write_text(ITEMS)
    pack = pack_from(IMPORTER, tmp_path, {})
    assert "1 rows of annotated_items.csv: unknown_topic" in pack.left_out
    replaces = tomllib.loads(pack.files["culturall/replaces.toml"])
    assert (replaces["files"], list(replaces["made"])) == (["item"], ["item"])
    placed, faults = read_csv(pack.files["culturall/item.csv"].encode(), "culturall/item.csv", PACK.files[0])
    assert faults == []
    assert len(list(csv.DictReader(io.StringIO(pack.files["culturall/item.csv"])))) == 3
    return [row for *_, row in placed]


def study(
    items: list[dict[str, Any]], prompts: dict[str, str] | None = None, *judges: str, **more: Any
) -> Any:
    rows = {"item": items, "replaces": [{"files": ["item"]}]} if items else {}
    tables = PACK.added(rows | ({"prompts": [prompts]} if prompts else {}), {"culturall_item": ROWS})
    engines = {name: Engine(name, "fake", f"model-{name}", f"hash-{name}") for name in judges}
    params = CulturallParams(models=["m"], judges=list(judges), **more)
    return EVALUATION.study(params, tables, engines)


def test_items_of_a_pack_give_the_prompts_of_the_file(items: list[dict[str, Any]]) -> None:
    ours = study(items)
    theirs = build_study(CulturallParams(models=["m"]), list(csv.DictReader(io.StringIO(ITEMS))), {})
    assert {p.id for p in ours.prompts.values()} == {p.id for p in theirs.prompts.values()}
    solved, expected = ([(i.solved, bool(i.english)) for i in study.items] for study in (ours, theirs))
    assert solved == expected
    assert {item.solved for item in ours.items} == {0, 7, 12}


def test_items_without_translations_have_no_english_condition(items: list[dict[str, Any]]) -> None:
    """The default conditions, as in `pack check`, leave English out; English alone is refused."""
    bare = [{name: cell for name, cell in row.items() if not name.endswith("_en")} for row in items]
    assert {condition for condition, _ in study(bare).prompts} == {"native", "question"}
    assert all(request.prompts for request in study(bare).requests())
    with pytest.raises(ValueError, match="no English translations"):
        study(bare, conditions=["english"])


def test_columns_of_translations_are_read_under_both_names() -> None:
    for name in ("scenario_en", "english_scenario"):
        cells = {"language": "zh", "region": "CN", "topic": "Food", "scenario": "s", "question": "q"}
        assert CulturallItemRow.model_validate({**cells, "answer": "a", name: "e"}).scenario_en == "e"


FIGURES = {
    "prompt": "Case: {{ scenario }}\nAsked: {{ question }}\nSaid:",
    "judge_rules": "Is it right?",
    "judge_question": "{{ scenario }} {{ question }} {{ gold }} {{ explanation }} {{ prediction }}",
    "judge_form": "Only 1 or 0.",
}
"""Invented texts of the shapes of figures 11 and 12."""


def test_prompts_and_rubric_of_a_pack_are_sent() -> None:
    own = study([], FIGURES, "j", judge_style="reasoned")
    (message,) = own.prompts["native", "a1"].conversation
    assert message["content"] == "Case: Case of a1.\nAsked: How many, a1?\nSaid:"
    assert own.prompts["question", "a1"].id == study([]).prompts["question", "a1"].id
    call = own.call("native", "a1", "24")
    system, question = (m["content"] for m in call.prompt.conversation)
    assert system.startswith("Is it right?")
    assert system.endswith("Only 1 or 0.")
    assert '<data>"24"</data>' in question
    assert call.prompt.schema is None
    for text, score in (("1", 1.0), ("0", 0.0), ("maybe", None)):
        opinions = own.panel.read([call], lambda _, t=text: {call.prompt.id: Completion(t, "stop", 1, 1)})  # type: ignore[misc]
        assert opinions["j"][call.key].score == score
    assert own.config_hash() != study([], None, "j", judge_style="reasoned").config_hash()


@pytest.mark.parametrize("wording", PACK.wordings, ids=lambda wording: wording.name)
def test_every_text_of_a_pack_fills_its_fields(wording: Wording) -> None:
    text = " ".join(f"{{{{ {name} }}}}" for name in wording.example) or "Words."
    own = study([], {wording.name: wording.checked(text)}, "j", judge_style="reasoned")
    assert own.call("native", "a1", "24").prompt.conversation
    assert all(prompt.conversation for prompt in own.prompts.values())


def paper(**more: Any) -> CulturallParams:
    return CulturallParams(**{**shipped_profiles("culturall")["paper"], "models": ["m"], **more})


PROGRAM = '''
def prompt_sqa(sample):
    return f"""
    Be short and answer the question.
    Scenario: {sample["scenario"]}
    Question: {sample["question"]}
    Answer:
    """

def prompt_sqa_eng(sample):
    return f"""
    Answer the question in English.
    Scenario: {sample["english_scenario"]}
    Question: {sample["english_question"]}
    """

def prompt_eval(sample, prediction):
    return f"""
    Is it right?
    Read all.

    Scenario: {sample["scenario"]}
    Question: {sample["question"]}
    Answer: {sample["answer"]}
    Explanation: {sample["explanation"]}

    Model prediction: {prediction}

    Output only 1 or 0.
    """

def prompt_country_code(row):
    return f"""
    Which country?
    Scenario: {row["scenario"]}
    Question: {row["question"]}
    """
'''
"""Invented prompts in the shape of the published program."""


@pytest.mark.parametrize("name", ["prompts.py", "src/utils.py"])
def test_prompts_come_from_the_program_and_count_as_the_papers(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(PROGRAM)
    (tmp_path / "annotated_items.csv").write_text(ITEMS)
    pack = pack_from(IMPORTER, tmp_path, {})
    texts = tomllib.loads(pack.files["culturall/prompts.toml"])
    assert texts["prompt"].split("\n")[0] == "Be short and answer the question."
    assert "Scenario: {{ scenario }}" in texts["prompt"]
    assert texts["judge_rules"].split() == ["Is", "it", "right?", "Read", "all."]
    assert texts["judge_question"].startswith("Scenario: {{ scenario }}\n")
    assert texts["judge_question"].endswith("Model prediction: {{ prediction }}")
    assert texts["judge_form"] == "Output only 1 or 0."
    assert not any("prompts" in line or "judge" in line for line in pack.left_out)
    own = study([], texts, "j", judge_style="reasoned")
    (message,) = own.prompts["native", "a1"].conversation
    assert "Case of a1." in message["content"]
    made = tomllib.loads(pack.files["culturall/replaces.toml"])
    run = OwnPack("own", {"prompts": [texts], "replaces": [made]})
    table = {row.setting: row.may_be_equal for row in compared(settings("culturall"), paper(), [run])}
    assert table["prompt"]
    assert table["what a judge is asked"]
    edited = OwnPack("own", {"prompts": [texts | {"prompt": "Hello."}], "replaces": [made]})
    assert not {r.setting: r.may_be_equal for r in compared(settings("culturall"), paper(), [edited])}[
        "prompt"
    ]


def test_program_without_prompts_is_said() -> None:
    pack = Pack()
    fill({"items": [], "program": []}, pack)
    assert sum("no function of the program" in line for line in pack.left_out) == 2
