"""The report of a real warehouse: what the SQL finds, and how the file is written."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import polars as pl
import pytest
from bs4 import BeautifulSoup

from deployments.evaluations.spectral.report import read_data
from deployments.report import write_report
from warehouse import (
    Run,
    Warehouse,
    WarehouseError,
    finish_run,
    register_parts,
    registration,
    save_metrics,
    save_run,
    save_run_requests,
    write_part,
)

CODES = ["DE", "FR", "IT", "JP"]
QUESTIONS = [("currency", "currency-1"), ("religions", "religions-1"), ("holidays", "holidays-1")]


def metric(name: str, kind: str, part: str, value: float | None, **more: object) -> dict[str, object]:
    """One row of metric_value, without run and model."""
    reason = "1 of 8 log-probabilities are stored" if value is None else None
    row = dict.fromkeys(("ci_low", "ci_high", "null_value"))
    row |= {"metric": name, "slice_kind": kind, "slice": part, "value": value, "unscored_reason": reason}
    return {**row, "n_scored": 0 if value is None else 4, "n_unscored": 4 if value is None else 0, **more}


def store_run(warehouse: Warehouse, model: str, config: str, is_null: bool = False) -> None:
    """A finished run with one unscored question, and for a model its parts."""
    run = Run(
        run_id=f"{config}-{model}", evaluation="spectral", model=model, is_null=is_null, profile="smoke",
        config_hash=config, engine_hash="e", params={"normalisation": "sum", "bootstrap": 20, "max_items": 2},
        engine={"kind": "fake"}, item_lists={}, boundary_rule="a rule", code_version="0.1.0",
    )  # fmt: skip
    rows = [
        metric("macro_f1", "overall", "", 0.5, ci_low=0.4, ci_high=0.6, null_value=0.2),
        metric("rank_spearman", "overall", "", 0.5),
        metric("reference_mass", "overall", "", 0.3, null_value=0.1),
        metric("reference_mass", "domain", "currency", 0.3, null_value=0.1),
    ]
    for i, (_, question) in enumerate(QUESTIONS):
        value = None if i == 2 else 2.0 + i
        rows += [
            metric(m, "question", question, value if m[2:] != "_high" else value and i % 2)
            for m in ("effective_rank", "spectral_gap_ratio", "er_high", "sr_high")
        ]
    rows += [metric("competence", "domain_country", f"currency/{c}", 0.9) for c in CODES]
    requests = pl.DataFrame(
        [(f"{run.run_id}/{q}", d, q) for d, q in QUESTIONS],
        schema=["request_hash", "domain", "question"],
        orient="row",
    )
    with warehouse.write() as connection:
        save_run(connection, run)
        save_run_requests(connection, run.run_id, requests)
        frame = pl.DataFrame(rows, infer_schema_length=None)
        save_metrics(connection, run.run_id, frame.with_columns(model=pl.lit(model)))
        finish_run(connection, run.run_id)
    if not is_null:
        store_parts(warehouse, run)


def store_parts(warehouse: Warehouse, run: Run) -> None:
    """Log-probabilities of two items for the first question, and the countries' similarities."""
    shared = {"run_id": run.run_id, "model": run.model, "domain": "currency"}
    answers = pl.DataFrame(
        [(c, i, -1.0, 1) for c in CODES for i in ("euro", "yen")],
        schema=["country", "item", "logprob", "n_tokens"],
        orient="row",
    ).with_columns(
        question=pl.lit("currency-1"), request_hash=pl.lit(f"{run.run_id}/currency-1"),
        **{k: pl.lit(v) for k, v in shared.items()},
    )  # fmt: skip
    pairs = pl.DataFrame(
        [(a, b, 0.5) for a, b in combinations(CODES, 2)],
        schema=["country_a", "country_b", "similarity"],
        orient="row",
    ).with_columns(request_hash=pl.lit(run.run_id), **{k: pl.lit(v) for k, v in shared.items()})
    for kind, frame in (("item_logprob", answers), ("country_similarity", pairs)):
        name = f"{kind}-{run.run_id}"
        write_part(warehouse.home, kind, name, frame)
        with warehouse.write() as connection:
            register_parts(connection, [registration(kind, name, frame)])


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    warehouse = Warehouse.open(tmp_path_factory.mktemp("home"))
    store_run(warehouse, "model-a", "older")
    store_run(warehouse, "model-a", "newer")
    store_run(warehouse, "null:list-frequency", "newer", is_null=True)
    return warehouse


def test_empty_warehouse_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(WarehouseError, match="culturescope run spectral --profile smoke"):
        write_report(Warehouse.open(tmp_path), tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_every_frame_is_filled_from_the_newest_configuration(warehouse: Warehouse) -> None:
    data = read_data(warehouse)
    assert data.config_hash == "newer"
    assert data.leaderboard["model"].to_list() == ["model-a", "null:list-frequency"]
    assert data.countries["country"].to_list() == CODES
    assert data.similarity.height == 6
    assert data.competence.height == 4
    assert data.items.select("domain", "n_items").rows() == [
        ("religions", None),
        ("holidays", None),
        ("currency", 2),
    ]
    assert data.by_domain.select("metric", "domain").unique().rows() == [("reference_mass", "currency")]
    assert data.by_question.height == 6
    assert data.configurations["config_hash"].to_list() == ["newer", "older"]
    assert data.metrics.height > 10
    assert data.sources.height > 5


def test_unscored_metrics_of_one_reason_are_one_row(warehouse: Warehouse) -> None:
    (row,) = read_data(warehouse).unscored.to_dicts()
    assert row["metric"] == "effective_rank, er_high, spectral_gap_ratio, sr_high"
    assert (row["slice"], row["n_unscored"]) == ("holidays-1", 4)


def test_page_is_written_whole(warehouse: Warehouse, tmp_path: Path) -> None:
    path = write_report(warehouse, tmp_path / "new" / "report.html")
    page = BeautifulSoup(path.read_text(encoding="utf-8"), "lxml")
    assert "Configuration newer" in page.select_one(".facts").get_text(" ", strip=True)
    assert page.select_one("footer")
    assert [p.name for p in path.parent.iterdir()] == ["report.html"]


def test_older_configuration_can_be_asked_for(warehouse: Warehouse, tmp_path: Path) -> None:
    assert "older" in write_report(warehouse, tmp_path / "r.html", "older").read_text(encoding="utf-8")
    with pytest.raises(WarehouseError, match="there are: newer, older"):
        write_report(warehouse, tmp_path / "none.html", "unknown")


def test_failure_leaves_the_old_page(
    warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("warehouse.storage.publish", full)
    with pytest.raises(WarehouseError, match="no room to write"):
        write_report(warehouse, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
