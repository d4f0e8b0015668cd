"""Files for the Hugging Face hub: a data set of all published numbers, and results for models' own pages.

Pushing them is the user's own command. A model's results are written in the hub's format of evaluation
results (``.eval_results/*.yaml`` in the model's repository), the benchmark's in ``eval.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from deployments.evaluations import doors, sound
from deployments.publish.data import PublishedTable, SiteAbout, croissant, write_tables
from deployments.publish.rule import refuse_secrets
from warehouse import Warehouse, WarehouseError

DATASET, MODELS = "dataset", "models"
"""Folders: the data set's files, and for each model those of its repository."""
_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*", re.ASCII)
_NEWEST = "SELECT max(finished_at) FROM run WHERE status = 'finished' AND NOT is_null"
_SCORES = """
SELECT s.evaluation, s.model, s.model_id, s.metric, s.label, s.value, s.ci_low, s.ci_high, s.null_value,
    s.n_scored, s.n_unscored, s.finished_at, r.engine->>'kind' AS kind, r.engine->>'revision' AS revision,
    r.params->>'task' AS task
FROM model_scores AS s JOIN run AS r USING (run_id)
WHERE s.value IS NOT NULL AND isfinite(s.value)
ORDER BY s.model_id, s.evaluation, s.metric
"""
_SERVED = frozenset({"openai", "anthropic", "google", "fake", "published"})
"""Kinds whose model names are no repositories of the hub."""


def write_hub(
    warehouse: Warehouse,
    folder: Path,
    dataset: str,
    about: SiteAbout,
    include_answers: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Write the files to a new folder; return their paths.

    Args:
        dataset: the data set's id on the hub, OWNER/NAME.

    Raises:
        WarehouseError: the folder is not empty, the id is none, no run has finished, or a text is a secret.
    """
    if not _ID.fullmatch(dataset):
        raise WarehouseError(f"--dataset {dataset!r}: name it as OWNER/NAME, as on the hub")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise WarehouseError(f"{folder} is not empty: name a new folder")
    scores = warehouse.query(_SCORES).to_dicts()
    if not scores:
        raise WarehouseError("no finished run has a number to write")
    home = folder / DATASET
    home.mkdir(parents=True)
    tables = write_tables(warehouse, home, include_answers, progress)
    date: datetime | None = warehouse.query(_NEWEST).item()
    texts = {
        home / "README.md": card(tables, dataset, about, date),
        home / "croissant.json": croissant(tables, about, version("culturemeter"), date),
        home / "eval.yaml": _yaml(benchmark(scores, about)),
    }
    for model in sorted({row["model_id"] for row in scores if _is_on_hub(row)}):
        own = [entry(row, dataset) for row in scores if row["model_id"] == model and _is_on_hub(row)]
        path = folder / MODELS / model.replace("/", "__") / ".eval_results" / "culturemeter.yaml"
        texts[path] = _yaml(own)
    for path, text in texts.items():
        refuse_secrets(text, path.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return [*(home / table.file for table in tables), *texts]


def card(tables: Sequence[PublishedTable], dataset: str, about: SiteAbout, date: datetime | None) -> str:
    """Return the data set's card: its metadata for the hub, then what it holds."""
    head: dict[str, Any] = {
        "pretty_name": about.title,
        **({"license": about.licence.lower()} if about.licence else {}),
        "tags": ["culturemeter", "evaluation", "culture"],
        "configs": [{"config_name": table.name, "data_files": table.file} for table in tables],
    }
    rows = "\n".join(f"| `{t.name}` | {t.n_rows:,} | {_cell(t.comment)} |" for t in tables)
    licence = f"Licence: {about.licence}." if about.licence else "Licence: none is stated."
    return f"""---
{_yaml(head)}---

# {about.title}

How well language models know and handle the world's cultures, measured with Culturemeter
{version("culturemeter")}. Every number has the count of scored and unscored answers, an interval and the
score of a null model.

{licence} Cite as: {about.citation(date)}

| table | rows | what it is |
| --- | --- | --- |
{rows}

Load one with `datasets.load_dataset("{dataset}", "{tables[0].name}")`. `croissant.json` has
the type and meaning of every column.
"""


def benchmark(scores: Sequence[Mapping[str, Any]], about: SiteAbout) -> dict[str, Any]:
    """Return the description of the benchmark with its tasks, one for each evaluation's headline."""
    known = sound()
    tasks = {}
    for row in scores:
        what = doors()[row["evaluation"]].title if row["evaluation"] in known else row["label"]
        tasks[task_id(row)] = {"id": task_id(row), "description": f"{what} {row['label']}"}
    return {
        "name": about.title,
        "description": "How well language models know and handle the world's cultures.",
        "evaluation_framework": "culturemeter",
        "tasks": [tasks[name] for name in sorted(tasks)],
    }


def entry(row: Mapping[str, Any], dataset: str) -> dict[str, Any]:
    """Return one result of a model's page."""
    interval = "" if row["ci_low"] is None else f"95 % interval {row['ci_low']:.4g} to {row['ci_high']:.4g}, "
    null = "no null" if row["null_value"] is None else f"null {row['null_value']:.4g}"
    notes = f"{row['label']}: {interval}{null}, n {row['n_scored']}, {row['n_unscored']} unscored"
    return {
        "dataset": {"id": dataset, "task_id": task_id(row)},
        "value": float(f"{row['value']:.6g}"),
        "date": f"{row['finished_at']:%Y-%m-%dT%H:%M:%SZ}",
        "notes": f"{notes}, weights at {row['revision']}" if row["revision"] else notes,
    }


def task_id(row: Mapping[str, Any]) -> str:
    """Return the name of a headline among the benchmark's tasks."""
    parts = [row["evaluation"], row["task"] or "", row["metric"]]
    return "-".join(re.sub(r"[^\w.]+", "_", part, flags=re.ASCII).strip("_") for part in parts if part)


def _is_on_hub(row: Mapping[str, Any]) -> bool:
    return row["kind"] not in _SERVED and bool(_ID.fullmatch(row["model_id"] or ""))


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "/").split())


def _yaml(value: Any) -> str:
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110)
    return text
