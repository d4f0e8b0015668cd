"""``culturescope run worldwise``."""

from __future__ import annotations

from typing import Annotated

import typer

from deployments.cli_common import DryRun, Models, Profile, Refresh, Verbose, errors, split
from deployments.start import start

MODELS = ("smollm2-135m-vllm",)


def run_worldwise(
    model: Models = None,
    profile: Profile = "demo",
    cultures: Annotated[str | None, typer.Option(help="comma-separated ISO codes or names")] = None,
    targets: Annotated[
        str | None, typer.Option(help="hofstede_published, hofstede_bucketed, seed_bucketed or your file's")
    ] = None,
    scenarios_per_dimension: Annotated[int | None, typer.Option(help="a fixed random choice")] = None,
    repetitions: Annotated[int | None, typer.Option(help="answers to each scenario and persona")] = None,
    temperature: Annotated[float | None, typer.Option(help="of the sampling")] = None,
    answer_format: Annotated[str | None, typer.Option(help="json (by schema) or text (parsed)")] = None,
    persona_language: Annotated[str | None, typer.Option(help="en, or own: each culture's")] = None,
    values_weight: Annotated[int | None, typer.Option(help="times the values are embedded")] = None,
    decision: Annotated[str | None, typer.Option(help="embedded of the decision: option or letter")] = None,
    embedder: Annotated[str | None, typer.Option(help="a sentence-transformers model")] = None,
    scenarios: Annotated[str | None, typer.Option(help="your CSV in place of table scenario")] = None,
    exemplars: Annotated[str | None, typer.Option(help="your CSV in place of table exemplar")] = None,
    profiles: Annotated[str | None, typer.Option(help="your CSV in place of table culture_profile")] = None,
    values: Annotated[str | None, typer.Option(help="your CSV in place of table guiding_value")] = None,
    max_total_tokens: Annotated[int | None, typer.Option(help="stop asking at this many tokens")] = None,
    max_usd: Annotated[float | None, typer.Option(help="stop asking at this price")] = None,
    refresh: Refresh = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
) -> None:
    """Which values show in a model's reasoning? (six dimensions, 60 countries, with and without persona)

    Examples:

    - `culturescope run worldwise --profile smoke`

    - `culturescope run worldwise -m ./gpt.toml --cultures IN,JP,MX,AE,US --max-usd 2 --dry-run`

    - `culturescope run worldwise --scenarios mine.csv --targets seed_bucketed --repetitions 1`
    """
    given = {
        "models": model or list(MODELS),
        "cultures": split(cultures),
        "targets": targets,
        "scenarios_per_dimension": scenarios_per_dimension,
        "repetitions": repetitions,
        "temperature": temperature,
        "answer_format": answer_format,
        "persona_language": persona_language,
        "values_weight": values_weight,
        "decision": decision,
        "embedder": embedder,
        "scenarios_file": scenarios,
        "exemplars_file": exemplars,
        "profiles_file": profiles,
        "values_file": values,
        "max_total_tokens": max_total_tokens,
        "max_usd": max_usd,
        "refresh": refresh,
    }
    with errors():
        start("worldwise", profile, given, dry_run, verbose)
