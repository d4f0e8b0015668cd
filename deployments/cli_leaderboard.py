"""``culturescope leaderboard``: one command an evaluation."""

from __future__ import annotations

import polars as pl
import typer

from deployments.cli_common import As, Config, errors
from deployments.display import Format, show
from deployments.evaluations import Leaderboard, evaluations
from warehouse import Warehouse, WarehouseError

app = typer.Typer(no_args_is_help=True, help="Print a leaderboard.")


def leaderboard(
    warehouse: Warehouse, evaluation: str, board: Leaderboard, config: str | None
) -> tuple[pl.DataFrame, str]:
    """The rows of one configuration (default: the newest), and their title.

    Raises:
        WarehouseError: no run has finished, or none of that configuration.
    """
    found = [config] if config else warehouse.query(board.newest)["config_hash"].to_list()
    rows = warehouse.query(board.rows, found) if found else pl.DataFrame()
    if rows.is_empty():
        raise WarehouseError(
            f"no finished run to show; start one with: culturescope run {evaluation} --profile smoke"
        )
    return rows, f"{evaluation} · profile {rows['profile'][0]} · config {rows['config_hash'][0]}"


def _add(evaluation: str, board: Leaderboard) -> None:
    def command(form: As = Format.table, config: Config = None) -> None:
        with errors():
            rows, title = leaderboard(Warehouse.open(), evaluation, board, config)
            if form is Format.table:
                rows = pl.DataFrame([board.line(row) for row in rows.to_dicts()])
            show(rows, form, title)

    example = f"Example: `culturescope leaderboard {evaluation} --format csv`"
    app.command(evaluation, help=f"{board.title}\n\n{example}")(command)


for _name, _evaluation in evaluations().items():
    _add(_name, _evaluation.leaderboard)
