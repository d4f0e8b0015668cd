"""``culturescope run spectral``."""

from __future__ import annotations

from typing import Annotated

import typer

from deployments.cli_common import DryRun, Models, Profile, Refresh, Verbose, errors, split
from deployments.start import start

MODELS = ("smollm2-135m", "gemma3-270m")


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
        "models": model or list(MODELS),
        "countries": split(countries),
        "domains": split(domains),
        "max_items": max_items,
        "normalisation": normalisation,
        "refresh": refresh,
    }
    with errors():
        start("spectral", profile, given, dry_run, verbose)
