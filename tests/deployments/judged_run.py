"""Made-up judged explanations in a real warehouse, and people's ratings of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
from typer.testing import CliRunner, Result

from deployments.cli import app
from tasks.evaluations.cure.benchmarks.common import read_rows
from tasks.evaluations.cure.human_ratings import code
from tasks.evaluations.cure.materials import Materials, build_materials
from tasks.evaluations.cure.params import CureParams
from warehouse import Run, Warehouse, finish_run, register_parts, registration, save_run, write_part

runner = CliRunner()

METRICS = {"normad": "coverage", "culturebank": "coherence", "specnorm": "specificity", "casa": "connotation"}
STORED = "SELECT judge, dimension, metric, value, n FROM judge_validation ORDER BY ALL"

Said = Sequence[tuple[str | None, float | None]]
"""A judge's samples: verdict and graded score."""

Judgements = Mapping[str, Mapping[str, Mapping[str, Said]]]
"""Benchmark -> item -> judge -> its samples."""

# The six items of the golden test: the judge's verdict and graded score, and what Ana and Ben say.
GOLDEN = [("YES", 0.9), ("YES", 0.8), ("NO", 0.1), ("YES", 0.6), ("NO", 0.2), ("NO", 0.4)]
ANA, BEN = ("yes", "1", "no", "0", "no", "yes"), ("yes", "yes", "no", "yes", "0", "")


def shipped(warehouse: Warehouse, benchmark: str, n: int) -> list[str]:
    sql = "SELECT item FROM cure_item WHERE benchmark = ? ORDER BY item LIMIT ?"
    return warehouse.query(sql, [benchmark, n])["item"].to_list()


def materials(warehouse: Warehouse, params: CureParams) -> Materials:
    """The items of a run, as its steps make them."""
    rows = {
        "cure_item": warehouse.query("SELECT * FROM cure_item").to_dicts(),
        "country": warehouse.query("SELECT country, name FROM country").to_dicts(),
    }
    return build_materials(
        params, rows, {b: {path: read_rows(path) for path in paths} for b, paths in params.files.items()}
    )


def explanation(model: str, item: str, edition: str = "") -> str:
    return f"In {model}'s words{edition}: {item} follows from a norm."


def store(
    warehouse: Warehouse,
    judgements: Judgements,
    model: str = "m1",
    config: str = "c1",
    edition: str = "",
    judges: Sequence[str] = ("fake-b",),
    rerun: str = "",
    status: Literal["finished", "failed"] = "finished",
    **params: Any,
) -> None:
    """A run of a model, its explanations and the verdicts on them, and on worthless ones."""
    run_id = f"{config}-{model}{rerun}"
    stored = CureParams(models=[model], judges=list(judges), **params)
    run = Run(
        run_id, "cure", model, False, "test", config, "e", stored.model_dump(exclude={"models", "refresh"}),
        {}, {"materials": materials(warehouse, stored).hash()}, "none", "v",
    )  # fmt: skip
    answers, verdicts = [], []
    for benchmark, items in judgements.items():
        for item, by_judge in items.items():
            answers += [_answer(benchmark, item, mode, model, edition) for mode in ("thin", "thick")]
            for judge, samples in by_judge.items():
                for sample, (verdict, graded) in enumerate(samples):
                    cells = {
                        "judge": judge,
                        "judge_hash": f"hash of {judge}",
                        "item": item,
                        "rubric": f"{METRICS[benchmark]} 0123456789abcdef",
                    }
                    verdicts.append(_verdict(f"real:{sample}", verdict, graded) | cells)
                    # The opposite: would be seen if explanations and nulls were mixed up.
                    opposite = "NO" if verdict == "YES" else "YES"
                    verdicts.append(_verdict(f"shuffled:{sample}", opposite, 1 - (graded or 0)) | cells)
    with warehouse.write() as connection:
        save_run(connection, run)
        _store(warehouse, connection, "cure_answer", run_id, model, answers, {"condition": config})
        for number, one in enumerate(sorted({(v["judge"], v["rubric"]) for v in verdicts})):
            of_one = [v for v in verdicts if (v["judge"], v["rubric"]) == one]
            _store(warehouse, connection, "verdict", run_id, model, of_one, {}, f"-{number}")
        finish_run(connection, run_id, status)


def _store(
    warehouse: Warehouse, connection: Any, kind: str, run_id: str, model: str,
    rows: list[dict[str, Any]], more: dict[str, str], suffix: str = "",
) -> None:  # fmt: skip
    own = {"request_hash": run_id + suffix, "run_id": run_id, "model": model} | more
    frame = pl.DataFrame([row | own for row in rows], infer_schema_length=None)
    write_part(warehouse.home, kind, run_id + suffix, frame)
    register_parts(connection, [registration(kind, run_id + suffix, frame)])


def _answer(benchmark: str, item: str, mode: str, model: str, edition: str) -> dict[str, Any]:
    thick = mode == "thick"
    return {
        "benchmark": benchmark, "mode": mode, "item": item, "country": None, "label": "yes",
        "gold_label": "yes", "correct": True,
        "explanation": explanation(model, item, edition) if thick else None,
        "score": 0.5 if thick else None, "verdict": "YES" if thick else None, "disagreement": None,
        "unscored_reason": None,
    }  # fmt: skip


def _verdict(judged: str, verdict: str | None, graded: float | None) -> dict[str, Any]:
    return {
        "item_name": "?", "origin": "NO", "judged": judged, "verdict": verdict, "reason": None,
        "value": None if verdict is None else float(verdict == "YES"), "graded": graded, "disagreement": None,
        "unscored_reason": None if verdict else "the judge left this key out",
    }  # fmt: skip


def one_judge(items: Sequence[str], said: Said = GOLDEN, judge: str = "fake-b") -> dict[str, Any]:
    return {item: {judge: [sample]} for item, sample in zip(items, said, strict=True)}


def rated(
    path: Path,
    items: Sequence[str],
    by_annotator: Mapping[str, Sequence[str]],
    benchmark: str = "normad",
    model: str = "m1",
    edition: str = "",
) -> Path:
    """A file of ratings as annotators hand it in, one line a rating."""
    lines = ["item,annotator,dimension,rating"]
    for annotator, ratings in by_annotator.items():
        for item, rating in zip(items, ratings, strict=True):
            row = {"model": model, "benchmark": benchmark, "item": item}
            name = code(row | {"explanation": explanation(model, item, edition)})
            lines.append(f"{name},{annotator},{METRICS[benchmark]},{rating}")
    path.write_text("\n".join(lines) + "\n")
    return path


def judge(*arguments: object) -> Result:
    return runner.invoke(app, ["judge", *map(str, arguments)])


def table(*arguments: object) -> list[dict[str, Any]]:
    """The rows that a command gives to programs."""
    result = judge(*arguments, "--format", "json")
    assert result.exit_code == 0, result.output
    found: list[dict[str, Any]] = json.loads(result.stdout)
    return found


def words(result: Result) -> str:
    """What people are told, without its line breaks."""
    return " ".join(result.stderr.split())


def audited(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))
