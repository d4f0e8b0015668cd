"""``culturescope compare`` and ``drift``: two runs in pairs, and what moved since the last occasion."""

from __future__ import annotations

from typing import Annotated, Any

import polars as pl
import typer

from deployments.cli.common import As, Wide, errors
from deployments.evaluations import doors, unknown
from deployments.serve.server import configure, connect
from deployments.show.display import Format, interval, number, say, show, working
from warehouse import Warehouse, WarehouseError

NAME = "as leaderboards show it; name#1a2b: the engine whose hash begins so"
OF = f"one of {', '.join(doors())}; default: all"
HELD = "occasion of both, or of the first if --against is given; default: the newest"
CAPTION = (
    "Holm: p-value adjusted for the {n} rows. finds: the least difference that so many items find 80 times "
    "of 100. items: those that are scored for both; of numbers that are no mean, the clusters."
)

Evaluation = Annotated[str | None, typer.Option("--evaluation", "-e", metavar="NAME", help=OF)]


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help=f"a model, {NAME}")],
    second: Annotated[
        str | None, typer.Argument(metavar="B", help="another; default: A on another occasion")
    ] = None,
    evaluation: Evaluation = None,
    occasion: Annotated[str | None, typer.Option(help=HELD)] = None,
    against: Annotated[
        str | None, typer.Option(help="occasion of the second; of one model the one before")
    ] = None,
    config: Annotated[
        str | None, typer.Option(help="config_hash of both; default: the newest of both")
    ] = None,
    against_config: Annotated[
        str | None, typer.Option(help="config_hash of the second, where only the wording differs")
    ] = None,
    form: As = Format.table,
    wide: Wide = False,
) -> None:
    """Compare two models, occasions, engines or wordings: every headline's difference, in pairs.

    Examples:

    - `culturescope compare gemma3-270m smollm2-135m`

    - `culturescope compare gpt --occasion 2026-w48 --against 2026-w47 --evaluation cure`

    - `culturescope compare gemma3-270m gemma3-270m#1a2b -f csv`
    """
    with errors():
        from flows import comparison, runs

        check(evaluation)
        wanted = comparison.Wanted(first, second, evaluation, occasion, against, config, against_config)
        warehouse = Warehouse.open()
        pairs = comparison.chosen_pairs(runs.every_finished(warehouse), wanted)
        rows = comparison.differences(warehouse, pairs)
        if rows["n_common"].sum() == 0:
            reasons = ", ".join(rows["unscored_reason"].drop_nulls().unique(maintain_order=True))
            raise WarehouseError(f"nothing to compare: {reasons or 'the runs have no headline'}")
        if form is not Format.table:
            return show(rows, form)
        for name, of_pair in rows.group_by("evaluation", maintain_order=True):
            titled(str(name[0]), of_pair, wide)
        say(CAPTION.format(n=rows["p_holm"].count()), style="dim")


def drift(
    evaluation: Evaluation = None,
    days: Annotated[
        int | None, typer.Option(min=1, help="only models whose last occasion is so many days old at most")
    ] = None,
    alert: Annotated[
        str | None,
        typer.Option(metavar="BLOCK", help="tell of it by a Prefect notification block: slack-webhook/lab"),
    ] = None,
    form: As = Format.table,
    wide: Wide = False,
) -> None:
    """Which headlines moved between models' last two occasions, adjusted for all that are looked at.

    Of engines that run here it says first whether their answers are bit-equal. With `--alert` it only sets up
    who is told when the flow `drift` finds something.

    Examples:

    - `culturescope drift`

    - `culturescope drift --days 8 --alert slack-webhook/lab`
    """
    with errors():
        check(evaluation)
        home = Warehouse.open().home
        configure(home)
        if alert:
            connect(home)
            from deployments.serve import automations

            automations.alert(alert)
            return say(f"automation {automations.NAME!r} tells {alert}", "done")
        from flows import drift as flow

        params = flow.DriftParams(evaluations=[evaluation] if evaluation else None, days=days)
        with working("comparing"):
            table, notes = flow.look(Warehouse.open(), params)
        for note in notes:
            say(note, style="")
        if form is not Format.table:
            return show(table, form)
        if table.is_empty():
            return say("no model has two occasions yet: culturescope run … --again makes one", style="")
        moved = table.filter("moved")
        say(
            f"{moved.height} of {table.height} headlines moved (Holm, 5 %)",
            style="red" if moved.height else "",
        )
        for row in moved.to_dicts():
            typer.echo(flow.sentence(row))


def check(evaluation: str | None) -> None:
    """Raises WarehouseError for an evaluation that there is not."""
    if evaluation is not None and evaluation not in doors():
        raise WarehouseError(unknown(evaluation))


def titled(name: str, rows: pl.DataFrame, is_wide: bool) -> None:
    """One table, under who is compared with whom."""
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
            "finds": number(r["detectable"]),
        }
        for r in rows.to_dicts()
    ]
    show(pl.DataFrame(lines), Format.table, f"{name}\nA {sides[0]}\nB {sides[1]}", is_wide=is_wide or None)


def _shown(row: dict[str, Any]) -> str:
    """A difference with its interval, or why it has none."""
    if row["ci_low"] is not None:
        return interval(row["difference"], row["ci_low"], row["ci_high"])
    value = [] if row["difference"] is None else [number(row["difference"])]
    return ", ".join([*value, row["unscored_reason"]])
