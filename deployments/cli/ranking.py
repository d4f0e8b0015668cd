"""``culturescope ranking``: rankings of other benchmarks, held against the evaluations here."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from deployments.cli.common import As, Wide, errors
from deployments.show.display import Format, interval, number, say, show
from deployments.show.report import configuration
from warehouse import Warehouse, save_ranking

_AGREEMENT = """
SELECT * EXCLUDE (other_evaluation, other_label, other_n_apart, ranks, other_ranks)
    RENAME (other_metric AS benchmark)
FROM evaluation_agreement WHERE other_evaluation = 'external' ORDER BY benchmark, evaluation, metric
"""
_RANKS = "SELECT * FROM external_ranking ORDER BY benchmark, place, model, our_model"
_META = "SELECT * FROM meta_explication WHERE config_hash = ? ORDER BY place"
_META_CAPTION = (
    "rho: Spearman's over the models that have both, with its 95 % interval; p Holm: over this table. "
    "needed: models that would tell such a rho from none in 80 of 100 samples."
)
_APART_CAPTION = (
    "Over the models that have all three; p by exchanging the ranks of models in the two, p Holm over this "
    "table. needed: models that would show such a difference in 80 of 100 samples."
)
_CAPTION = (
    "rho: Spearman's over the models that both have. tells: the least |rho| that so many models tell from "
    "none, for one row alone. apart: pairs of models whose intervals on the headline do not overlap."
)


def ranking(
    file: Annotated[
        Path | None, typer.Argument(help="CSV: model, place (1 is best) or score (more is better), benchmark")
    ] = None,
    explication: Annotated[
        bool,
        typer.Option("--explication", help="what explication's numbers go with, of its newest configuration"),
    ] = False,
    form: As = Format.table,
    wide: Wide = False,
) -> None:
    """Hold rankings of other benchmarks against the evaluations here; a file adds one of your own.

    Models are named as on leaderboards or by their Hugging Face id; without a column benchmark the file's
    name is the benchmark's. What a benchmark had before is replaced.

    Examples:

    - `culturescope ranking`

    - `culturescope ranking blend.csv -f csv`

    - `culturescope ranking --explication`
    """
    with errors():
        warehouse = Warehouse.open()
        if file is not None:
            rows = read_ranking(file)
            save_ranking(warehouse, rows)
            for (benchmark,), of_benchmark in rows.group_by("benchmark", maintain_order=True):
                say(f"{benchmark}: {of_benchmark.height} models", "stored")
        if explication:
            return show_explication(warehouse, form, wide)
        agreement = warehouse.query(_AGREEMENT)
        if form is not Format.table:
            return show(agreement, form)
        ranks = warehouse.query(_RANKS)
        show(ranks.select("benchmark", "place", "model", "our_model", "source"), form, is_wide=wide)
        if agreement.is_empty():
            return say("no ranking names a model that was run here", style="")
        lines = [
            {
                "benchmark": row["benchmark"], "evaluation": row["evaluation"], "headline": row["label"],
                "models": row["n_models"], "rho": interval(row["rho"], row["ci_low"], row["ci_high"]),
                "tells": number(row["least_rho"]), "apart": row["n_apart"],
            }
            for row in agreement.to_dicts()
        ]  # fmt: skip
        show(pl.DataFrame(lines), form, "Agreement", _CAPTION, is_wide=wide)


def show_explication(warehouse: Warehouse, form: Format, wide: bool) -> None:
    """The rows of ``meta_explication`` with intervals and tests; in a table also the differences of two rhos.

    Raises:
        WarehouseError: no run of explication has finished; says what to start.
    """
    from tasks.evaluations.explication.report.meta import correlations, differences

    _, config, _ = configuration(warehouse, "explication", None)
    rows = warehouse.query(_META, [config]).to_dicts()
    found, apart = correlations(rows), differences(rows)
    if form is not Format.table:
        hidden = ("config_hash", "model_hashes", "own_values", "other_values", "place")
        kept = [
            {name: cell for name, cell in line.items() if name not in hidden} for line in [*found, *apart]
        ]
        return show(pl.DataFrame(kept, infer_schema_length=None), form)
    if not rows:
        return say("no model of explication has a number of another evaluation", style="")
    show(_lines(found, "rho", "spearman"), form, "Explication and knowledge", _META_CAPTION, is_wide=wide)
    if apart:
        lines = _lines(apart, "rho of macro-F1 less this", "difference")
        show(lines, form, "Structure against facts", _APART_CAPTION, is_wide=wide)


def _lines(rows: list[dict[str, Any]], head: str, value: str) -> pl.DataFrame:
    """Tested rows as a table for people; value: the column of the number, shown under `head`."""
    lines = [
        {
            "explication": row["metric"], "condition": row["condition"],
            "with": f"{row['other_evaluation']}: {row['other_metric']}",
            head: interval(row[value], row["ci_low"], row["ci_high"], 2),
            "p": number(row["p_value"]), "p Holm": number(row["p_holm"]),
            "models": row["n_models"], "needed": row["needed"], "note": row["unscored_reason"] or "",
        }
        for row in rows
    ]  # fmt: skip
    return pl.DataFrame(lines, infer_schema_length=None)


def read_ranking(file: Path) -> pl.DataFrame:
    """The rows of a user's file as ``save_ranking`` takes them; equal scores share a place.

    Raises:
        BenchmarkError: not readable, other columns, or a row without a place or score; says which.
    """
    from tasks.packs.published import BenchmarkError, PublishedRow, Text, read_rows, validate

    class Ranked(PublishedRow):
        """A line of the file."""

        model: Text
        benchmark: Text = file.stem
        place: int | None = None
        score: float | None = None

    rows = read_rows(file)
    ranked, dropped = validate(str(file), rows, Ranked)
    bad = sum(row.place is None and row.score is None for row in ranked) + dropped.total()
    if bad:
        raise BenchmarkError(
            f"{file}: {bad} of {len(rows)} rows lack a model, or a place or score: fill them in"
        )
    frame = pl.DataFrame([row.model_dump() for row in ranked])
    if frame.select("benchmark", "model").is_duplicated().any():
        raise BenchmarkError(f"{file}: a model stands twice in a benchmark: leave one of its rows")
    by_score = pl.col("score").rank("min", descending=True).over("benchmark")
    place = pl.coalesce("place", by_score).cast(pl.Int32)
    if frame.select(place.min()).item() < 1:
        raise BenchmarkError(f"{file}: a place is below 1, the best: count from 1, or name the column score")
    return frame.select("benchmark", "model", place.alias("place"), source=pl.lit(file.name))
