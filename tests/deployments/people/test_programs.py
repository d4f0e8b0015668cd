"""A survey in another program, from the export to human scores, with simulated people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deployments.people.results import export
from deployments.people.studies import DRAWS
from tasks.people.answers import quotas
from tasks.people.assignment import Person, assign
from tasks.people.elsewhere import forms
from tasks.people.simulation import People, simulated_rankings
from tasks.people.study import (
    ASSIGNMENTS,
    ITEMS,
    STUDY,
    WITH_ENTRIES,
    PeopleItem,
    StudyError,
    read_folder,
    read_study,
    write_assignments,
    write_rows,
)
from tests.deployments.commands import table
from tests.deployments.people.served import pages_of
from tests.deployments.test_cli_people import BESIDE_TABLE_1, DOMAINS, people
from tests.evaluations.spectral.reference_patterns import are_many
from warehouse import Warehouse

N = 12


def answered(study: Path, project: Path, n_failing: int) -> list[dict[str, Any]]:
    """Return Label Studio's export of simulated people, the first `n_failing` of whom fail a check."""
    folder = read_folder(study)
    (form,), ((_, origin),) = forms(folder), quotas(folder)
    many = {d: "high" if are_many(d) else "low" for d in DOMAINS}
    by_name = {task.name: task for task in form.tasks}
    ranks = simulated_rankings(np.linspace(-2, 2, 9), N, People(0.5, 0), seed=0)
    rows = json.loads((project / "tasks.json").read_text())
    for number, row in enumerate(rows):
        task = by_name[row["data"]["task"]]
        values: dict[str, Any] = {
            "ranking": {d: str(int(r)) for d, r in zip(DOMAINS, ranks[number], strict=True)},
            "patterns": many,
            "rank_one": "common",
            "instructed": "3" if number < n_failing else "2",
            "most_different": DOMAINS[int(np.argmax(ranks[number]))],
            "confidence": "very",
            "region": origin.quota_for[number],
        }
        result = []
        for page, field in form.fields:
            value = values.get(field.name)
            if isinstance(value, dict):
                slots = enumerate(task.slots(page, field, form.language))
                result += [(f"{field.name}.{n}", value[entry]) for n, (entry, _) in slots]
            elif value:
                result.append((field.name, value))
        choices = [{"from_name": name, "value": {"choices": [value]}} for name, value in result]
        times = {"updated_at": "2026-11-22T12:00:00.000000Z", "lead_time": 300}
        who = {"completed_by": {"email": "ana@example.org"}, "was_cancelled": False}
        row["annotations"] = [{**who, **times, "result": choices}]
    return rows


def test_survey_from_label_studio_becomes_human_scores(warehouse: Warehouse, tmp_path: Path) -> None:
    people("new", "survey", "--study", "spectral-ranking", "--people", N)
    out, study = tmp_path / "projects", warehouse.home / "people" / "survey"
    people("export", "survey", "--to", "labelstudio", "--out", out)
    project = out / "annotator-once-en"
    assert "nowhere does not exist" in people("pull", "survey", "--from", f"{out}/nowhere", code=1)
    assert "export as JSON from Label Studio" in people("pull", "survey", "--from", out, code=1)
    (project / "export.json").write_text(json.dumps(answered(study, project, n_failing=2)))
    assert "failed an attention check: 2" in people("pull", "survey", "--from", out)
    rows = warehouse.query(BESIDE_TABLE_1).rows()
    assert len(rows) == 9
    assert all(ours == papers and n == N - 2 for _, ours, papers, n in rows)
    stored = warehouse.query("FROM human_answer")
    assert set(stored["tool"]) == {"labelstudio"}
    # Each person's own order is stored.
    orders = (
        stored.filter(field="ranking").sort("annotator", "place").group_by("annotator", maintain_order=True)
    )
    assert len({tuple(own["entry"]) for _, own in orders}) == N
    assert "@" not in (study / "answers.jsonl").read_text()
    agreement = ("agreement", "survey", "--table")
    numbers = {row["metric"]: row for row in table("people", *agreement, "halves")}
    f1 = numbers["macro_f1"]
    assert 0.5 < f1["ci_low"] < f1["value"] <= f1["ci_high"]
    assert numbers["split_half_reliability"]["n_people"] == N - 2
    regions = table("people", *agreement, "regions")
    assert list(regions[0]) == ["region", "n_people", *sorted(DOMAINS)]
    assert len(regions) == N - 2
    assert "has no table validation" in people(*agreement, "validation", code=1)
    assert "exists already" in people("export", "survey", "--to", "potato", "--out", out, code=1)


@pytest.mark.parametrize("kind", sorted(DRAWS))
def test_every_study_except_an_interview_is_exported_to_other_programs(kind: str, tmp_path: Path) -> None:
    languages = ("ar", "en", "he", "ko", "ru", "zh")
    path = tmp_path / kind
    path.mkdir()
    head = f'name = "x"\nkind = "{kind}"\nlanguages = {json.dumps(languages)}\nannotators_per_item = 1\n'
    (path / STUDY).write_text(head + pages_of(kind))
    study = read_study(path / STUDY)
    items = []
    for page in (page for page in study.pages if page.per == "item"):
        lists = {f.of for f in page.fields if f.kind in WITH_ENTRIES}
        parts = {f.of for f in page.fields if f.of} | {part.name for part in page.shows}
        content = {part: ["one", "اثنان", "三"] if part in lists else "said" for part in parts}
        items += [
            PeopleItem(item=f"{page.name}-{code}", page=page.name, language=code, content=content)
            for code in languages
        ]
    (role,) = {page.role for page in study.pages}
    write_rows(path / ITEMS, items)
    write_assignments(path / ASSIGNMENTS, assign(study, items, {}, [Person(c, role, c) for c in languages]))
    for tool in ("potato", "labelstudio"):
        out = tmp_path / tool
        if kind == "persona-interview":
            with pytest.raises(StudyError, match="use people serve"):
                export(path, tool, out)
            continue
        names = export(path, tool, out)
        assert [name.rpartition("-")[2] for name in names] == list(languages)
        assert {len(list((out / name).iterdir())) for name in names} == {3}
