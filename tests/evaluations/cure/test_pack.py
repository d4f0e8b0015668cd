"""Items, prompts and rubrics of a pack; faults name file, line and column."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.evaluations.cure.pack import PACK, WORDINGS, CureItemRow
from tasks.evaluations.cure.params import BENCHMARKS
from tasks.evaluations.cure.published import LABELS
from tasks.evaluations.cure.read import most_calls
from tasks.packs.files import checked_row, read_csv
from tasks.packs.shape import Wording
from tests.evaluations.cure.conftest import MakeStudy, tables

CELLS = {
    "item": "a", "country": "CH", "group_name": "g", "persona": "p", "situation": "s", "question": "q",
    "label": "yes", "gold": "n", "cues": "c", "rule": "r",
}  # fmt: skip


def faults(**cells: Any) -> list[str]:
    """Return the faults of a right row with these cells changed; None: an empty cell."""
    row = {name: text for name, text in (CELLS | cells).items() if text is not None}
    return [str(fault) for fault in checked_row(CureItemRow, row, "cure/item.csv", 3)[1]]


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_benchmark_of_a_pack_has_name_and_labels_of_a_published_kind(kind: str) -> None:
    assert faults(benchmark=f"{kind}-mine") == []
    assert faults(benchmark=kind) == []  # the items replace the shipped sample
    (fault,) = faults(benchmark="mine")
    assert fault.startswith("cure/item.csv, line 3, column benchmark: 'mine': a name begins with")
    for name in ("mine", f"{kind}s-mine", f"{kind}-", f"{kind}-Mine", f"{kind}-my-own"):
        assert len(faults(benchmark=name)) == 1
    for label in {"yes", "no", "neutral"} - set(LABELS[kind]):
        (fault,) = faults(benchmark=f"{kind}-mine", label=label)
        assert fault.startswith("cure/item.csv, line 3, column label: ")
        assert f"a benchmark like {kind} has the labels yes, no; correct it" in fault
    for label in LABELS[kind]:
        assert faults(benchmark=f"{kind}-mine", label=label) == []


@pytest.mark.parametrize(
    ("kind", "column"), [("culturebank", "persona"), ("culturebank", "group_name"), ("specnorm", "cues")]
)
def test_empty_column_that_a_kind_needs_is_refused(kind: str, column: str) -> None:
    (fault,) = faults(benchmark=f"{kind}-mine", **{column: None})
    message = f"column {column}: it is empty, but a benchmark like {kind} needs this text: "
    assert fault.startswith(f"cure/item.csv, line 3, {message}")
    assert fault.endswith("; fill it in")
    assert faults(benchmark="normad-mine", **{column: None}) == []


def test_all_faults_of_a_row_are_reported_at_once() -> None:
    """Missing columns too."""
    text = "benchmark,item,country,situation,question,label,gold\nculturebank-mine,a,CH,s,q,neutral,n\n"
    rows, row_faults = read_csv(text.encode(), "cure/item.csv", PACK.files[0])
    assert rows == []
    assert {fault.column for fault in row_faults} == {"group_name", "persona", "label"}


def built(
    make_study: MakeStudy, prompts: dict[str, str], more: list[dict[str, Any]] | None = None, **params: Any
) -> Any:
    shipped = tables()
    added = PACK.added({"item": more or [], "prompts": [prompts]}, shipped)
    return make_study({name: list(rows) for name, rows in added.items()}, **params)


def test_prompts_of_a_pack_change_their_benchmark_and_the_config_hash(make_study: MakeStudy) -> None:
    plain = make_study()
    study = built(make_study, {"normad_thick": "In {{ country }}: {{ situation }} {{ options }}?"})
    (message,) = study.prompts["normad", "thick", "normad-f0-in"].conversation
    assert message["content"] == (
        "In India: What happens in normad-f0-in. yes, no, neutral?\n\n"
        'Write one JSON object: "label" (your answer), then "explanation".'
    )
    thin = ("normad", "thin", "normad-f0-in")
    assert study.prompts[thin].id == plain.prompts[thin].id
    assert study.config_hash() != plain.config_hash()


def test_rubric_of_a_pack_replaces_all_phrasings(make_study: MakeStudy) -> None:
    """A pack's rubric of specificity is one phrasing, so each judge votes once."""
    words = {"specificity_rules": "Of the group?", "specificity_question": "{{ explanation }} / {{ norm }}"}
    study = built(make_study, words, judge_style="reasoned")
    assert study.votes("specnorm") == 1
    calls, _ = most_calls(study)
    system, question = next(c for c in calls if c.item.benchmark == "specnorm").prompt.conversation
    assert system["content"].startswith("Of the group?\n\n")
    assert question["content"] == '<data>""</data> / <data>"The norm of specnorm-in-1."</data>'


def test_items_of_a_pack_replace_the_shipped_ones(make_study: MakeStudy) -> None:
    row = {**CELLS, "benchmark": "normad", "country": "IN", "judged": "no"}
    study = built(make_study, {}, [row])
    assert study.names("normad") == ["a"]
    assert len(study.names("casa")) == 4
    assert study.items("normad")[0].not_judged


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: wording.name)
def test_each_wording_renders_its_declared_fields(make_study: MakeStudy, wording: Wording) -> None:
    """Every declared field can be rendered."""
    text = " ".join(f"{{{{ {name} }}}}" for name in wording.example) or "Words."
    study = built(make_study, {wording.name: wording.checked(text)}, judge_style="reasoned")
    calls, _ = most_calls(study)
    assert all(call.prompt.conversation for call in calls)
    assert all(prompt.conversation for prompt in study.prompts.values())
