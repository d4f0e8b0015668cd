"""``culturemeter leaderboard``, ``report``, ``compare``, ``drift``, ``ranking``: show finished runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from deployments.cli.common import As, Occasion, Wide, as_shown, check_evaluation, errors, of_evaluations
from deployments.cli.which import Config, Profile, chosen, whole
from deployments.evaluations import doors
from deployments.serve.server import configure, connect
from deployments.show import display
from deployments.show.display import Format, interval, number, say, show, show_rows, working
from warehouse import Warehouse, WarehouseError, save_ranking
from warehouse.querying import ResultSet

Of = Annotated[str | None, of_evaluations("evaluation of the newest run")]

OVERVIEW_TOO = "write an overview of all evaluations and models, and each evaluation's page beside it"
PUBLISHED = "show all numbers of the papers beside ours, or none (default: of the first headline, below)"
SHORT = 12  # published values under a leaderboard without --wide
NOT_RANKED = (
    "Sorted by name, not ranked: the papers had other models, items and prompts. equal, near: how close "
    "the definition is to ours. All cells: csv, or the table published_result."
)
NAME = "as named on leaderboards; NAME#1a2b picks the engine whose hash begins with 1a2b"
OF = f"one of {', '.join(doors())}; default: all"
HELD = "occasion of both models (with --against: of the first); default: the newest"
CAPTION = """Holm: p-value adjusted for the {n} rows. MDD: smallest difference detectable with 80 % power. \
items: scored for both models (clusters, if the number is not a mean)."""

Evaluation = Annotated[str | None, typer.Option("--evaluation", "-e", metavar="NAME", help=OF)]
_AGREEMENT = """
SELECT * EXCLUDE (other_evaluation, other_label, other_n_apart, ranks, other_ranks)
    RENAME (other_metric AS benchmark)
FROM evaluation_agreement WHERE other_evaluation = 'external' ORDER BY benchmark, evaluation, metric"""
_OF_RUNS = "SELECT DISTINCT {column} FROM run WHERE status = 'finished' AND NOT is_null ORDER BY ALL"
_RANKS = "SELECT * FROM external_ranking ORDER BY benchmark, place, model, our_model"
_META = "SELECT * FROM meta_explication WHERE config_hash = ? ORDER BY place"
_META_CAPTION = (
    "rho: Spearman's, over the models that have both numbers, with its 95 % interval. p Holm: adjusted for "
    "the headline's rows alone. needed: number of models that detects such a rho with 80 % power."
)
_APART_CAPTION = (
    "Over the models that have all three numbers; p by permuting the two rankings; p Holm: adjusted for "
    "the headline's rows alone. needed: number of models that detects such a difference with 80 % power."
)
_CAPTION = (
    "rho: Spearman's, over the models that both rank. min rho: smallest |rho| significant at 5 % with this "
    "number of models, unadjusted. apart: pairs of models whose intervals on the headline do not overlap."
)


def leaderboard(
    evaluation: Of = None,
    occasion: Occasion = None,
    with_history: Annotated[bool, typer.Option("--history", help="show headlines on every occasion")] = False,
    published: Annotated[bool | None, typer.Option("--published/--no-published", help=PUBLISHED)] = None,
    form: As = Format.table,
    profile: Profile = None,
    config: Config = None,
    wide: Wide = False,
) -> None:
    """Print a leaderboard: the main columns as a table, all columns as csv or json.

    Examples:

    - `culturemeter leaderboard spectral`

    - `culturemeter leaderboard fmlama --format csv`

    - `culturemeter leaderboard cure --history`

    - `culturemeter leaderboard fmlama --published`
    """
    from deployments.show import boards, report
    from deployments.show.configurations import cohort_line, other_configurations
    from deployments.show.losses import sent_and_lost

    with errors():
        if (with_history or published) and occasion is not None:
            raise ValueError(
                "--history shows every occasion and --published the newest: leave --occasion out"
            )
        warehouse = Warehouse.existing()
        name, key, labels = chosen(warehouse, evaluation, profile, config)
        title = f"{name}, profile {labels}, config {key}"
        if with_history:
            rows = boards.history(warehouse, name, key)
            rows = boards.history_for_people(rows) if form is Format.table else rows
            return show(rows, form, title, is_wide=wide)
        if published:
            rows = report.beside_published(warehouse, name, key)
            if form is Format.table:
                rows = report.published_for_people(rows)
            return show(rows, form, f"{title}: measured and published", NOT_RANKED, is_wide=wide or None)
        title += "" if occasion is None else f", occasion {occasion}"
        door, beyond = doors()[name], boards.beyond_null(warehouse, name, key, occasion)
        of_cohort = cohort_line(warehouse, name, key, door.cohort)
        said = sent_and_lost(warehouse, name, key)
        said += [] if config else other_configurations(warehouse, name, key)
        caption = "\n".join(filter(None, (door.caption, of_cohort, beyond, *said)))
        if form is not Format.table:
            return show(boards.leaderboard(warehouse, name, key, occasion), form)
        known = boards.ranks(warehouse, name, key, occasion)
        board = boards.board_for_people(warehouse, name, key, occasion, door.columns, known)
        notes = {**door.notes, boards.RANK: known.note} if known else door.notes
        show_rows(ResultSet.from_dicts(board), title, caption, is_wide=wide, notes=notes)
        if not occasion and (own := boards.rectified_lines(warehouse, key)):
            show_rows(
                ResultSet.from_dicts(own), "Rectified by people", boards.RECTIFIED, is_wide=wide or None
            )
        if own := boards.ceiling_lines(warehouse, key):
            show_rows(ResultSet.from_dicts(own), "People's own answers", boards.CEILING, is_wide=wide or None)
        printed = None if published is False or occasion else report.under_the_line(warehouse, name, key)
        if printed is None:
            return
        below, n_more = printed[1] if wide else printed[1][:SHORT], len(printed[1]) - SHORT
        show_rows(ResultSet.from_dicts(below), printed[0], is_wide=wide)
        if not wide and n_more > 0:
            say(f"{n_more} more with --wide, all numbers with --published", style="dim")


def report(
    evaluation: Of = None,
    out: Annotated[
        Path | None, typer.Option(help="file to write; default: report-….html in CULTUREMETER_HOME")
    ] = None,
    profile: Profile = None,
    config: Config = None,
    everything: Annotated[bool, typer.Option("--all", help=OVERVIEW_TOO)] = False,
) -> None:
    """Write a self-contained HTML page: leaderboard, figures, error analysis and how numbers are computed.

    Examples:

    - `culturemeter report fmlama --out fmlama.html`

    - `culturemeter report --all`
    """
    from deployments.show.overview import write_all
    from deployments.show.report import OVERVIEW, reported, usual_path, write_report

    with errors():
        warehouse = Warehouse.existing()
        if everything:
            if evaluation or config or profile:
                raise ValueError(
                    "--all covers every evaluation: leave the evaluation, --profile and --config out"
                )
            with working("drawing"):
                pages = write_all(warehouse, out or warehouse.home / OVERVIEW)
            for path in pages:
                display.out(path, "report")
            return
        name, key, _ = chosen(warehouse, evaluation, profile, config, reported())
        with working("drawing"):
            path = write_report(warehouse, out or warehouse.home / usual_path(name, key), key, name)
        display.out(path, "report")


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=f"a model, {NAME}")],
    second: Annotated[
        str | None, typer.Argument(metavar="B", help="second model; default: the first on another occasion")
    ] = None,
    evaluation: Evaluation = None,
    occasion: Annotated[str | None, typer.Option(help=HELD)] = None,
    against: Annotated[
        str | None,
        typer.Option(
            help="occasion of the second model; default if only one model is named: its previous occasion"
        ),
    ] = None,
    profile: Profile = None,
    config: Annotated[
        str | None,
        typer.Option(
            help="config_hash of both models, or its beginning; default: of the configurations that both "
            "models have, the one that pages show"
        ),
    ] = None,
    against_config: Annotated[
        str | None,
        typer.Option(help="config_hash of the second model, or its beginning, if only the wording differs"),
    ] = None,
    form: As = Format.table,
    wide: Wide = False,
) -> None:
    """Compare two models, occasions, engines or wordings: the paired difference of every headline.

    Examples:

    - `culturemeter compare gemma3-270m smollm2-135m`

    - `culturemeter compare gpt --occasion 2026-w48 --against 2026-w47 --evaluation cure`

    - `culturemeter compare gemma3-270m gemma3-270m#1a2b -f csv`
    """
    with errors():
        from deployments.show import rectified_tables
        from deployments.show.configurations import apart, of_shown
        from flows import comparison
        from flows.runs import every_finished

        check_evaluation(evaluation)
        warehouse = Warehouse.existing()
        config, against_config = whole(warehouse, config), whole(warehouse, against_config)
        first, second = as_shown(warehouse, first), second and as_shown(warehouse, second)
        wanted = comparison.ComparedRuns(first, second, evaluation, occasion, against, config, against_config)
        finished = every_finished(warehouse)
        finished = of_shown(warehouse, finished, wanted, profile) if config is None else finished
        pairs = comparison.chosen_pairs(finished, wanted)
        rows = comparison.differences(warehouse, pairs)
        if rows["n_common"].sum() == 0:
            reasons = ", ".join(rows["unscored_reason"].drop_nulls().unique(maintain_order=True))
            raise WarehouseError(f"nothing to compare: {reasons or 'the runs have no headline'}")
        more, changes = rectified_tables.compared(warehouse, rows)
        n_tests, rows = rows["p_holm"].count(), rows.vstack(more)
        if form is not Format.table:
            return show(rows, form)
        for name, of_pair in rows.group_by("evaluation", maintain_order=True):
            titled(str(name[0]), of_pair, wide)
            for line in apart(warehouse, of_pair.row(0, named=True)):
                say(line, style="dim")
        say(CAPTION.format(n=n_tests), style="dim")
        for line in changes:
            say(line, "order changes")


def drift(
    evaluation: Evaluation = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="only models whose last occasion is at most this many days old")
    ] = None,
    alert: Annotated[
        str | None,
        typer.Option(
            metavar="BLOCK", help="notify by this Prefect notification block, such as slack-webhook/lab"
        ),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="only runs of this profile")] = None,
    config: Annotated[str | None, typer.Option(help="only runs whose config_hash begins with this")] = None,
    looks: Annotated[
        int,
        typer.Option(min=1, help="number of looks that keep the level of 5 % together; 52: a year of weeks"),
    ] = 52,
    form: As = Format.table,
    wide: Wide = False,
) -> None:
    """Show which headlines moved between models' last two occasions (Holm-adjusted over all compared).

    For engines that run here it first says whether their answers are bit-equal. `--alert` compares nothing:
    it only sets up the notification that the flow `drift` sends when it finds something.

    Examples:

    - `culturemeter drift`

    - `culturemeter drift --looks 1`

    - `culturemeter drift --days 8 --alert slack-webhook/lab`
    """
    with errors():
        check_evaluation(evaluation)
        warehouse = Warehouse.existing()
        home = warehouse.home
        check_any_run(warehouse, profile, config)
        if alert is not None and not all(alert.partition("/")):
            raise ValueError(f"--alert {alert}: name a block by type and name, such as slack-webhook/lab")
        configure(home)
        if alert:
            connect(home)
            from deployments.serve import automations

            automations.alert(alert)
            return say(f"automation {automations.NAME!r} notifies {alert}", "done")
        from flows import drift as flow

        names = [evaluation] if evaluation else None
        params = flow.DriftParams(evaluations=names, days=days, profile=profile, config=config, looks=looks)
        with working("comparing"):
            table, notes = flow.look(warehouse, params)
        for note in notes:
            say(note, style="")
        if form is not Format.table:
            return show(table, form)
        if table.is_empty():
            return say("no model has two occasions yet: culturemeter run … --again makes one", style="")
        moved = table.filter("moved")
        over = f" over {looks} looks" if looks > 1 else ""
        say(
            f"{moved.height} of {table.height} headlines moved (Holm, 5 %{over})",
            style="red" if moved.height else "",
        )
        for row in moved.to_dicts():
            display.out(flow.sentence(row))


def check_any_run(warehouse: Warehouse, profile: str | None, config: str | None) -> None:
    """Raise WarehouseError if no finished run has the profile, or none the configuration."""
    for column, begin in (("profile", profile), ("config_hash", config)):
        there = [key for (key,) in warehouse.rows(_OF_RUNS.format(column=column)).rows]
        fits = begin is None or any(
            key == begin or (column == "config_hash" and key.startswith(begin)) for key in there
        )
        if there and not fits:
            raise WarehouseError(f"no finished run has the {column} {begin!r}; known: {', '.join(there)}")


def titled(name: str, rows: pl.DataFrame, is_wide: bool) -> None:
    """Print one table of differences, titled with the two sides that it compares."""
    row = rows.row(0, named=True)
    sides = []
    for side in ("first", "second"):
        occasion, config = row[f"{side}_occasion"], row[f"{side}_config"]
        sides.append(f"{row[f'{side}_model']} ({occasion or 'first'}, config {config})")
    lines = [
        {
            "headline": r["label"],
            "A": number(r["first_value"]),
            "B": number(r["second_value"]),
            "A − B [95 %]": _shown(r),
            "Holm": number(r["p_holm"]),
            "items": r["n_common"],
            "MDD": number(r["detectable"]),
        }
        for r in rows.to_dicts()
    ]
    show(pl.DataFrame(lines), Format.table, f"{name}\nA {sides[0]}\nB {sides[1]}", is_wide=is_wide or None)


def _shown(row: dict[str, Any]) -> str:
    """Return a difference with its interval, or the reason why it has none."""
    if row["ci_low"] is not None:
        return interval(row["difference"], row["ci_low"], row["ci_high"])
    value = [] if row["difference"] is None else [number(row["difference"])]
    return ", ".join([*value, row["unscored_reason"]])


def ranking(
    file: Annotated[
        Path | None, typer.Argument(help="CSV: model, place (1 is best) or score (more is better), benchmark")
    ] = None,
    explication: Annotated[
        bool,
        typer.Option("--explication", help="correlate explication's newest configuration with the others"),
    ] = False,
    form: As = Format.table,
    wide: Wide = False,
) -> None:
    """Correlate rankings of other benchmarks with the evaluations here; a file adds a ranking of your own.

    Name models as on leaderboards or by Hugging Face id. Without a column benchmark, the file's name is the
    benchmark's. A new file replaces the benchmark's earlier ranking.

    Examples:

    - `culturemeter ranking`

    - `culturemeter ranking blend.csv -f csv`

    - `culturemeter ranking --explication`
    """
    with errors():
        warehouse = Warehouse.existing()
        if file is not None:
            rows = read_ranking(file)
            save_ranking(warehouse, rows)
            for (benchmark,), of_benchmark in rows.group_by("benchmark", maintain_order=True):
                n = of_benchmark.height
                say(f"{benchmark}: {n} model{'s' * (n > 1)}", "stored")
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
                "min rho": number(row["least_rho"]), "apart": row["n_apart"],
            }
            for row in agreement.to_dicts()
        ]  # fmt: skip
        show(pl.DataFrame(lines), form, "Agreement", _CAPTION, is_wide=wide)


def show_explication(warehouse: Warehouse, form: Format, wide: bool) -> None:
    """Print ``meta_explication`` with intervals and tests, and the differences of two rhos.

    Raises:
        WarehouseError: no run of explication has finished; says which command to run.
    """
    from deployments.show.report import configuration
    from tasks.evaluations.explication.meta import correlations, differences

    _, config, _ = configuration(warehouse, "explication", None)
    rows = warehouse.query(_META, [config]).to_dicts()
    correlated, apart = correlations(rows), differences(rows)
    if form is not Format.table:
        hidden = ("config_hash", "model_hashes", "own_values", "other_values", "place")
        visible = [
            {name: cell for name, cell in line.items() if name not in hidden}
            for line in [*correlated, *apart]
        ]
        return show(pl.DataFrame(visible, infer_schema_length=None), form)
    if not rows:
        return say("no model has numbers of both explication and another evaluation", style="")
    show(
        _lines(correlated, "rho", "spearman"), form, "Explication and knowledge", _META_CAPTION, is_wide=wide
    )
    if apart:
        lines = _lines(apart, "rho of macro-F1 minus this", "difference")
        show(lines, form, "Structure against facts", _APART_CAPTION, is_wide=wide)


def _lines(rows: list[dict[str, Any]], head: str, value: str) -> pl.DataFrame:
    """Return tested rows as a table for people; value: the column of the number, shown under `head`."""
    lines = [
        {
            "explication": row["metric"], "condition": row["condition"],
            "with": f"{row['other_evaluation']}: {row['other_metric']}",
            head: interval(row[value], row["ci_low"], row["ci_high"], 2),
            "p": number(row["p_value"]), "p Holm": number(row["p_holm"]),
            "models": row["n_models"], "needed": row["needed"],
            "note": "; ".join(reason for reason in (row["unscored_reason"], row["holm_reason"]) if reason),
        }
        for row in rows
    ]  # fmt: skip
    return pl.DataFrame(lines, infer_schema_length=None)


def read_ranking(file: Path) -> pl.DataFrame:
    """Return the rows of a user's file for ``save_ranking``; equal scores share a place.

    Raises:
        TableError: not readable, wrong columns, or a row without a place or score; says which.
    """
    from tasks.data import TableError
    from tasks.identity import checked_name
    from tasks.packs.published import PublishedRow, Text, read_rows, validate

    class Ranked(PublishedRow):
        """One line of the file."""

        model: Text
        benchmark: Text = file.stem
        place: int | None = None
        score: float | None = None

    rows = read_rows(file)
    ranked, dropped = validate(str(file), rows, Ranked)
    bad = sum(row.place is None and row.score is None for row in ranked) + dropped.total()
    if bad:
        raise TableError(
            f"{file}: {bad} of {len(rows)} rows lack a model or both place and score: fill them in"
        )
    try:
        names = [
            {
                name: checked_name(getattr(row, name), f"the name of a {name}")
                for name in ("model", "benchmark")
            }
            for row in ranked
        ]
    except ValueError as error:
        raise TableError(f"{file}: {error}") from error
    frame = pl.DataFrame([row.model_dump() | own for row, own in zip(ranked, names, strict=True)])
    if frame.select("benchmark", "model").is_duplicated().any():
        raise TableError(f"{file}: a model occurs twice in a benchmark: remove one of its rows")
    by_score = pl.col("score").rank("min", descending=True).over("benchmark")
    place = pl.coalesce("place", by_score).cast(pl.Int32)
    if frame.select(place.min()).item() < 1:
        raise TableError(
            f"{file}: a place is below 1: count places from 1 (the best), or name the column score"
        )
    return frame.select("benchmark", "model", place.alias("place"), source=pl.lit(file.name))
