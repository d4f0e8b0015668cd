"""``culturescope run``: one command an evaluation. Heavy imports happen inside the commands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from deployments import profiles
from deployments.cli_common import (
    EMBEDDED,
    DryRun,
    Models,
    Profile,
    Refresh,
    Verbose,
    errors,
    split,
    validated,
)
from deployments.display import bars, err
from deployments.server import configure, connect
from warehouse import Warehouse

app = typer.Typer(no_args_is_help=True, help="Run an evaluation; only what is missing is done.")


@app.command("spectral")
def run_spectral(
    model: Models = None,
    profile: Profile = "demo",
    countries: Annotated[str | None, typer.Option(help="comma-separated ISO codes or names")] = None,
    domains: Annotated[str | None, typer.Option(help="comma-separated domains")] = None,
    max_items: Annotated[int | None, typer.Option(help="items of each list")] = None,
    normalisation: Annotated[str | None, typer.Option(help="sum, per_token or per_byte")] = None,
    refresh: Refresh = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
) -> None:
    """Does a model know the macrostructure of culture? (170 countries x 9 domains)

    Examples:

    - `culturescope run spectral --profile smoke`

    - `culturescope run spectral -m Qwen/Qwen3-0.6B -m ./my-model --profile full --dry-run`

    - `culturescope run spectral -m smollm2-135m --countries FR,IT,JP --domains currency,religions`
    """
    given = {
        "models": model or EMBEDDED,
        "countries": split(countries),
        "domains": split(domains),
        "max_items": max_items,
        "normalisation": normalisation,
        "refresh": refresh,
    }
    with errors():
        _run("spectral", profile, given, dry_run, verbose)


@app.command("fmlama")
def run_fmlama(
    model: Models = None,
    profile: Profile = "demo",
    dish_set: Annotated[str | None, typer.Option(help="shipped, or one that was ingested")] = None,
    languages: Annotated[str | None, typer.Option(help="comma-separated: en,zh,ar,ko,ru,he")] = None,
    aligned: Annotated[
        bool | None, typer.Option(help="only dishes that have labels in all the languages, or each its own")
    ] = None,
    code_switching: Annotated[
        bool | None, typer.Option(help="also every pair of languages, the dish named in the other")
    ] = None,
    mention_country: Annotated[str | None, typer.Option(help="no, yes or both")] = None,
    origins: Annotated[
        str | None, typer.Option(help="comma-separated origins; fmlama: the paper's 14 groups")
    ] = None,
    max_dishes_per_origin: Annotated[int | None, typer.Option(help="dishes of each origin")] = None,
    pooling: Annotated[str | None, typer.Option(help="mean_probability, sum_logprob or mean_logprob")] = None,
    word_vectors: Annotated[
        str | None, typer.Option(help="for mWS: embedded:all-minilm-l6-v2, or a .vec or .bin file")
    ] = None,
    judge: Annotated[str | None, typer.Option(help="model that marks the top predictions (MES)")] = None,
    refresh: Refresh = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
) -> None:
    """Does a model know what dishes are made of? (14 origins, six languages)

    Examples:

    - `culturescope run fmlama --profile smoke`

    - `culturescope run fmlama -m Qwen/Qwen3-0.6B --origins Italy,Japan --mention-country no --dry-run`

    - `culturescope run fmlama --dish-set fmlama --languages en,zh --code-switching`

    - `culturescope run fmlama --judge smollm2-135m-vllm --origins Mexico`
    """
    given = {
        "models": model or EMBEDDED,
        "dish_set": dish_set,
        "languages": split(languages),
        "aligned": aligned,
        "code_switching": code_switching,
        "mention_country": mention_country,
        "origins": split(origins),
        "max_dishes_per_origin": max_dishes_per_origin,
        "pooling": pooling,
        "word_vectors": word_vectors,
        "judge": judge,
        "refresh": refresh,
    }
    with errors():
        _run("fmlama", profile, given, dry_run, verbose)


def _run(evaluation: str, profile: str, given: Mapping[str, Any], dry_run: bool, verbose: bool) -> None:
    """Show the plan, and if anything is left to do, start Prefect and the flow."""
    from deployments.evaluations import EVALUATIONS

    warehouse = Warehouse.open()
    configure(warehouse.home, verbose)
    chosen = EVALUATIONS[evaluation]
    values = profiles.load(profile, evaluation) | {k: v for k, v in given.items() if v is not None}
    params = validated(chosen.params, values)
    work_left = chosen.show_plan(params)
    if dry_run or not work_left:
        return
    with err.status("starting Prefect"):
        connect(warehouse.home)
    flow = chosen.flow()
    with bars():
        flow(params)
    err.print(
        f"[green]done[/]  next: culturescope leaderboard {evaluation} · culturescope report {evaluation}"
    )
