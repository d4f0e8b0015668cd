"""A survey asked in another program, from the export to the ground truth of a run, with simulated people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from deployments.cli.app import app
from deployments.people.results import export
from deployments.people.studies import DRAWS, KINDS
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
from tests.deployments.test_cli_people import BESIDE_TABLE_1, DOMAINS
from tests.evaluations.spectral.reference_patterns import are_many
from warehouse import Warehouse

N = 12


def people(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["people", *map(str, arguments)])


def answered(study: Path, project: Path, n_failing: int) -> list[dict[str, Any]]:
    """What Label Studio exports of simulated people, of whom the first ones fail a check."""
    folder = read_folder(study)
    (form,), ((_, origin),) = forms(folder), quotas(folder)
    many = {d: "high" if are_many(d) else "low" for d in DOMAINS}
    by_name = {task.name: task for task in form.tasks}
    ranks = simulated_rankings(np.linspace(-2, 2, 9), N, People(0.5, 0), seed=0)
    rows = json.loads((project / "tasks.json").read_text())
    for number, row in enumerate(rows):
        task = by_name[row["data"]["task"]]
        said: dict[str, Any] = {
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
            value = said.get(field.name)
            if isinstance(value, dict):
                slots = enumerate(task.slots(page, field, form.language))
                result += [(f"{field.name}.{n}", value[entry]) for n, (entry, _) in slots]
            elif value:
                result.append((field.name, value))
        row["annotations"] = [
            {
                "completed_by": {"email": "ana@example.org"},
                "was_cancelled": False,
                "updated_at": "2026-11-22T12:00:00.000000Z",
                "lead_time": 300,
                "result": [{"from_name": name, "value": {"choices": [v]}} for name, v in result],
            }
        ]
    return rows


def test_a_survey_asked_elsewhere_becomes_a_ground_truth(warehouse: Warehouse, tmp_path: Path) -> None:
    assert people("new", "survey", "--study", "spectral-ranking", "--people", N).exit_code == 0
    out, study = tmp_path / "projects", warehouse.home / "people" / "survey"
    result = people("export", "survey", "--to", "labelstudio", "--out", out)
    assert result.exit_code == 0, result.output
    project = out / "annotator-once-en"
    missing = people("pull", "survey", "--from", out)
    assert missing.exit_code == 1
    assert "export as JSON from Label Studio" in " ".join(missing.output.split())
    (project / "export.json").write_text(json.dumps(answered(study, project, n_failing=2)))
    pulled = people("pull", "survey", "--from", out)
    assert pulled.exit_code == 0, pulled.output
    assert "failed an attention check: 2" in pulled.output
    rows = warehouse.query(BESIDE_TABLE_1).rows()
    assert len(rows) == 9
    assert all(ours == papers and n == N - 2 for _, ours, papers, n in rows)
    stored = warehouse.query("FROM human_answer")
    assert set(stored["tool"]) == {"labelstudio"}
    # Everyone has an order of their own, and it is stored.
    orders = (
        stored.filter(field="ranking").sort("annotator", "place").group_by("annotator", maintain_order=True)
    )
    assert len({tuple(own["entry"]) for _, own in orders}) == N
    assert "@" not in (study / "answers.jsonl").read_text()
    shown = people("agreement", "survey")
    assert shown.exit_code == 0, shown.output
    assert "Mean ranks by region" in shown.output
    halves = people("agreement", "survey", "--table", "halves", "--format", "json").output
    numbers = {row["metric"]: row for row in json.loads(halves)}
    assert (
        0.5 < numbers["macro_f1"]["ci_low"] < numbers["macro_f1"]["value"] <= numbers["macro_f1"]["ci_high"]
    )
    assert numbers["split_half_reliability"]["n_people"] == N - 2
    regions = people("agreement", "survey", "--table", "regions", "--format", "csv").output.splitlines()
    assert regions[0] == "region,n_people," + ",".join(sorted(DOMAINS))
    assert len(regions) == 1 + N - 2
    other = people("agreement", "survey", "--table", "validation")
    assert "has no table validation" in " ".join(other.output.split())
    again = people("export", "survey", "--to", "potato", "--out", out)
    assert "exists already" in " ".join(again.output.split())


@pytest.mark.parametrize("kind", sorted(DRAWS))
def test_every_study_but_an_interview_can_be_asked_elsewhere(kind: str, tmp_path: Path) -> None:
    languages = ("ar", "en", "he", "ko", "ru", "zh")
    path = tmp_path / kind
    path.mkdir()
    head = f'name = "x"\nkind = "{kind}"\nlanguages = {json.dumps(languages)}\nannotators_per_item = 1\n'
    menu = '[{ value = "yes", label = "Yes" }, { value = "no", label = "No" }]'
    pages = (KINDS / f"{kind}.toml").read_text().replace("@name@", "fits").replace("@options@", menu)
    (path / STUDY).write_text(head + pages.replace("@is_ordered@", "false"))
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
