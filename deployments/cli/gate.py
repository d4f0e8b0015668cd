"""``culturemeter gate``: the verdict of a policy file, for CI and automations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from deployments.cli.common import As, as_shown, check_evaluation, errors
from deployments.show import display
from deployments.show.display import Format, interval, number
from warehouse import Warehouse

if TYPE_CHECKING:
    from flows.gates import Policy, Rule

Named = TypeVar("Named", "Policy", "Rule")

CODES = {"GO": 0, "NO-GO": 1, "INCONCLUSIVE": 3}
"""Exit code of each verdict; 2 is a fault of the policy or the warehouse."""
FAULT = 2


def gate(
    file: Annotated[Path, typer.Argument(metavar="POLICY.toml", help="requirements, in TOML (docs/gate.md)")],
    model: Annotated[str | None, typer.Option(help="judge this model in place of the policy's")] = None,
    occasion: Annotated[
        str | None, typer.Option(help="judge this occasion; default: the model's newest")
    ] = None,
    form: As = Format.table,
) -> None:
    """Say GO, NO-GO or INCONCLUSIVE: whether the data show that a model meets a policy's requirements.

    A requirement is met or missed only if its whole interval is on one side of the limit. INCONCLUSIVE says
    how many more items would decide. Exit codes: 0 GO, 1 NO-GO, 3 INCONCLUSIVE, 2 a fault.

    Examples:

    - `culturemeter gate policy.toml`

    - `culturemeter gate policy.toml --model candidate --occasion 2026-w48`

    - `culturemeter gate policy.toml --format json`
    """
    with errors(code=FAULT):
        from deployments.show.configurations import shown_configuration
        from flows.gates import judge, read_policy

        policy = read_policy(file)
        warehouse = Warehouse.existing()
        replaced = {"model": model, "occasion": occasion}
        changes = {name: value for name, value in replaced.items() if value is not None}
        rules = [_as_shown(warehouse, rule.model_copy(update=changes)) for rule in policy.rule]

        def configuration(evaluation: str, rule: Rule) -> str:
            check_evaluation(evaluation)
            return shown_configuration(warehouse, evaluation, rule.profile, rule.config)

        verdict, rows = judge(
            warehouse, _as_shown(warehouse, policy).model_copy(update={"rule": rules}), configuration
        )
        lines = [
            {
                "verdict": row.finding.verdict, "requirement": row.words, "value": row.value,
                "low": row.finding.interval and row.finding.interval[0],
                "high": row.finding.interval and row.finding.interval[1],
                "more_items": row.finding.more, "reason": row.reason,
            }
            for row in rows
        ]  # fmt: skip
        _print(form, verdict, policy.level, policy.looks, lines)
    raise typer.Exit(CODES[verdict])


def _as_shown(warehouse: Warehouse, of: Named) -> Named:
    """Return a policy or rule with the names that its models are shown under."""
    names = {"model": of.model, "baseline": of.baseline}
    return of.model_copy(update={k: as_shown(warehouse, name) for k, name in names.items() if name})


def _print(form: Format, verdict: str, level: float, looks: int, lines: list[dict[str, Any]]) -> None:
    """Write a line for each requirement and the verdict; rows as csv, all as one JSON object."""
    if form is Format.table:
        for line in lines:
            ends = interval(line["value"], line["low"], line["high"])
            display.out(f"{line['verdict']:<12}  {line['requirement']}: {ends}; {line['reason']}")
        n = sum(line["verdict"] == verdict for line in lines)
        times = "one look" if looks == 1 else f"one of at most {looks:,} looks"
        display.out(
            f"{verdict}: {n} of {len(lines)} requirement{'s' * (len(lines) > 1)} "
            f"(level {number(level, 2)}, {times})"
        )
    elif form is Format.json:
        display.out_json({"verdict": verdict, "level": level, "looks": looks, "requirements": lines})
    else:
        import polars as pl

        display.show(pl.DataFrame(lines, infer_schema_length=None), form)
