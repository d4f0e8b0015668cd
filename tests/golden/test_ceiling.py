"""The human ceiling of evaluations of texts and choices: people's answers scored as a model's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import pytest

from deployments.people import ceiling
from deployments.people.draw import Wishes
from deployments.people.results import pull, read
from deployments.people.store import StudyStore
from deployments.people.studies import new_study
from deployments.show import boards
from flows.stored import finished_runs
from tasks.people.asked import CHOICE, TEXT
from tasks.people.study import Entry, read_folder
from tests.golden.conftest import Homes
from warehouse import Warehouse

LABELS = {
    "culturall": ("native",),
    "cure": (),
    "worldwise": (),
    "proverbs": (),
    "money": (),
    "whence": (),
}
"""Evaluation -> labels whose prompts people answer; () for all."""
LANGUAGES = {"culturall": ("en", "es"), "proverbs": ("en", "de")}
_REPLIES = "SELECT item, text FROM response WHERE model = 'fake-a'"
_CHOSEN = """
SELECT item, arg_max(place, logprob) AS place FROM option_score WHERE model = 'fake-a' GROUP BY item
"""
_STORED = """
SELECT metric, slice_kind, slice, value FROM metric_value JOIN run USING (run_id, model)
WHERE model = 'fake-a' AND value IS NOT NULL
"""

Values = Callable[[str, str, int], Mapping[str, str]]
"""(page, prompt, number of the person) -> field -> text"""


def answered(
    warehouse: Warehouse,
    name: str,
    evaluation: str,
    labels: tuple[str, ...],
    values: Values,
    n_people: int = 6,
) -> None:
    """Have people answer all prompts of some requests, and pull."""
    folder = warehouse.home / "people" / name
    languages = LANGUAGES.get(evaluation, ("en",))
    wishes = Wishes(name, ceiling.KIND, 100_000, n_people, n_people, languages, 0, of=labels)
    new_study(warehouse, wishes, folder)
    (folder / "study.toml").write_text((folder / "study.toml").read_text().replace("min_seconds = 4", ""))
    study, store = read_folder(folder), StudyStore(folder)
    for person, language in {each.annotator: each.language for each in study.assignments}.items():
        store.invite(person, "annotator", language)
        store.mark(person, "consented")
    for each in study.assignments:
        item, unit = study.items[each.item], study.private[each.item].code
        for field, value in values(item.page, unit, int(each.annotator[1:])).items():
            store.save(each.annotator, each.item, field, Entry(value=value))
    store.close()
    pull(warehouse, folder)


def model_a(warehouse: Warehouse) -> Values:
    """Return the answers of fake-a, as its forms have them."""
    texts, chosen = (dict(warehouse.query(sql).rows()) for sql in (_REPLIES, _CHOSEN))

    def values(page: str, unit: str, person: int) -> Mapping[str, str]:
        if page == CHOICE:
            return {CHOICE: "ABCDEF"[chosen[unit]]}
        if page == TEXT:
            return {TEXT: texts[unit]}
        return {f"{page}_{name}": value for name, value in json.loads(texts[unit]).items() if value}

    return values


@pytest.mark.heavy
@pytest.mark.parametrize("evaluation", LABELS)
def test_people_who_answer_as_a_model_get_its_numbers_and_change_no_row(
    finished: Homes, evaluation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = finished(evaluation)
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))
    warehouse = Warehouse.open(home)
    (run, *_) = finished_runs(evaluation)
    stored = {tuple(row[:3]): row[3] for row in warehouse.query(_STORED).rows()}
    tables = ("run", "run_request", "metric_value", "cohort")
    before = [warehouse.query(f"FROM {table} ORDER BY ALL") for table in tables]
    answered(warehouse, "people", evaluation, LABELS[evaluation] or all_labels(run), model_a(warehouse))
    rows = ceiling.score(warehouse, read(warehouse.home / "people" / "people"))
    assert rows
    for row in rows:
        where = row["metric"], row["slice_kind"], row["slice"]
        assert row["value"] == pytest.approx(stored[where]), where
        assert row["n_people"] in (6, 12)
    again = [warehouse.query(f"FROM {table} ORDER BY ALL") for table in tables]
    assert all(one.equals(other) for one, other in zip(before, again, strict=True))
    assert warehouse.query("SELECT * EXCLUDE computed_at FROM human_ceiling").height == len(rows)
    assert boards.ceiling_lines(warehouse, run.config_hash)[0]["n people"] in (6, 12)


def all_labels(run: object) -> tuple[str, ...]:
    from deployments.evaluations import evaluation as evaluation_of
    from flows.ceiling import asked_of

    return tuple(asked_of(evaluation_of(run.evaluation), run))  # type: ignore[attr-defined]
