"""Which items a pack may bring, and what is said of others, with the column that is wrong."""

from __future__ import annotations

from typing import Any

import pytest

from tasks.evaluations.cure.benchmarks import LABELS
from tasks.evaluations.cure.pack import PACK, WORDINGS, CureItemRow
from tasks.evaluations.cure.params import BENCHMARKS
from tasks.evaluations.cure.read import most_calls
from tasks.packs.files import checked_row, read_csv
from tasks.packs.shape import Wording
from tests.evaluations.cure.conftest import MakeStudy, tables

CELLS = {
    "item": "a", "country": "CH", "group_name": "g", "persona": "p", "situation": "s", "question": "q",
    "label": "yes", "gold": "n", "cues": "c", "rule": "r",
}  # fmt: skip


def faults(**cells: Any) -> list[str]:
    """What is said of the row with these cells in place of right ones; None: an empty cell."""
    given = {name: text for name, text in (CELLS | cells).items() if text is not None}
    return [str(fault) for fault in checked_row(CureItemRow, given, "cure/item.csv", 3)[1]]


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_a_benchmark_is_made_like_any_published_one(kind: str) -> None:
    assert faults(benchmark=f"{kind}-mine") == []
    assert faults(benchmark=kind) == []  # in place of the shipped sample
    (fault,) = faults(benchmark="mine")
    assert fault.startswith(
        "cure/item.csv, line 3, column benchmark: 'mine': a name begins with the published"
    )
    for name in ("mine", f"{kind}s-mine", f"{kind}-", f"{kind}-Mine", f"{kind}-my-own"):
        assert len(faults(benchmark=name)) == 1


@pytest.mark.parametrize(
    ("kind", "column", "why"),
    [
        ("culturebank", "persona", "explanations must take it into account"),
        ("culturebank", "group_name", "the question names that group"),
        ("specnorm", "cues", "a specific answer has to name them"),
    ],
)
def test_what_a_kind_cannot_do_without(kind: str, column: str, why: str) -> None:
    (fault,) = faults(benchmark=f"{kind}-mine", **{column: None})
    said = f"it is empty, but a benchmark like {kind} needs one: {why}; fill it in"
    assert fault == f"cure/item.csv, line 3, column {column}: {said}"
    assert faults(benchmark="normad-mine", **{column: None}) == []


@pytest.mark.parametrize("kind", BENCHMARKS)
def test_labels_are_those_of_the_kind(kind: str) -> None:
    for label in ("yes", "no", "neutral"):
        said = faults(benchmark=f"{kind}-mine", label=label)
        assert [fault.partition(": ")[0] for fault in said] == (
            [] if label in LABELS[kind] else ["cure/item.csv, line 3, column label"]
        )
        assert all(f"a benchmark like {kind} has the labels yes, no; correct it" in fault for fault in said)


def test_every_fault_of_a_row_is_reported_at_once() -> None:
    """Also where the columns are not in the file at all."""
    file = PACK.files[0]
    text = "benchmark,item,country,situation,question,label,gold\nculturebank-mine,a,CH,s,q,neutral,n\n"
    rows, said = read_csv(text.encode(), "cure/item.csv", file)
    assert rows == []
    assert {fault.column for fault in said} == {"group_name", "persona", "label"}


def built(
    make_study: MakeStudy, prompts: dict[str, str], more: list[dict[str, Any]] | None = None, **params: Any
) -> Any:
    shipped = tables()
    added = PACK.added({"item": more or [], "prompts": [prompts]}, shipped)
    return make_study({name: list(rows) for name, rows in added.items()}, **params)


def test_prompts_of_a_pack_are_sent(make_study: MakeStudy) -> None:
    """And change the configuration, of the benchmarks that they are for."""
    plain = make_study()
    study = built(make_study, {"normad_thick": "In {{ country }}: {{ situation }} {{ options }}?"})
    (message,) = study.prompts["normad", "thick", "normad-f0-in"].conversation
    assert message["content"] == (
        "In India: What happens in normad-f0-in. yes, no, neutral?\n\n"
        'Write one JSON object: "label" (your answer), then "explanation".'
    )
    same = ("normad", "thin", "normad-f0-in")
    assert study.prompts[same].id == plain.prompts[same].id
    assert study.config_hash() != plain.config_hash()


def test_a_rubric_of_a_pack_is_judged_by(make_study: MakeStudy) -> None:
    """Specificity has one phrasing then, so that each judge is asked once."""
    words = {
        "specificity_rules": "Is it of the group?",
        "specificity_question": "{{ explanation }} / {{ norm }}",
    }
    study = built(make_study, words, judge_style="reasoned")
    assert study.votes("specnorm") == 1
    calls, _ = most_calls(study)
    system, question = next(c for c in calls if c.item.benchmark == "specnorm").prompt.conversation
    assert system["content"].startswith("Is it of the group?\n\n")
    assert question["content"] == '<data>""</data> / <data>"The norm of specnorm-in-1."</data>'


def test_items_of_a_pack_go_in_place_of_a_sample(make_study: MakeStudy) -> None:
    row = {**CELLS, "benchmark": "normad", "country": "IN", "judged": "no"}
    study = built(make_study, {}, [row])
    assert study.names("normad") == ["a"]
    assert len(study.names("casa")) == 4
    assert study.items("normad")[0].not_judged


@pytest.mark.parametrize("wording", WORDINGS, ids=lambda wording: wording.name)
def test_every_wording_has_its_fields(make_study: MakeStudy, wording: Wording) -> None:
    """A text with all its fields is sent: those that are declared are those that there are."""
    text = " ".join(f"{{{{ {name} }}}}" for name in wording.example) or "Words."
    study = built(make_study, {wording.name: wording.checked(text)}, judge_style="reasoned")
    calls, _ = most_calls(study)
    assert all(call.prompt.conversation for call in calls)
    assert all(prompt.conversation for prompt in study.prompts.values())
