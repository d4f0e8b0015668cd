"""``culturescope run cure``."""

from __future__ import annotations

from typing import Annotated

import typer

from deployments.cli_common import DryRun, Models, Profile, Refresh, Verbose, errors, split
from deployments.start import start

MODELS = ("smollm2-135m-vllm",)


def run_cure(
    model: Models = None,
    profile: Profile = "demo",
    judge: Annotated[
        list[str] | None, typer.Option("--judge", "-j", help="model that judges explanations; repeat it")
    ] = None,
    benchmark: Annotated[
        str | None, typer.Option(help="comma-separated: normad,casa,culturebank,specnorm")
    ] = None,
    mode: Annotated[str | None, typer.Option(help="comma-separated: thin,thick")] = None,
    items_per_benchmark: Annotated[int | None, typer.Option(help="a fixed choice over countries")] = None,
    file: Annotated[
        list[str] | None, typer.Option(help="benchmark=PATH, published file or dataset id; repeat it")
    ] = None,
    judge_samples: Annotated[int | None, typer.Option(help="votes on an explanation's specificity")] = None,
    temperature: Annotated[float | None, typer.Option(help="of the candidates' sampling")] = None,
    max_total_tokens: Annotated[int | None, typer.Option(help="stop asking at this many tokens")] = None,
    max_usd: Annotated[float | None, typer.Option(help="stop asking at this price")] = None,
    refresh: Refresh = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
) -> None:
    """Can a model explain norms, not only label them? (NormAd, CASA, CultureBank, SpecNorm)

    Examples:

    - `culturescope run cure --profile smoke`

    - `culturescope run cure -m ./gpt.toml -j ./judge.toml --benchmark normad,casa --max-usd 2 --dry-run`

    - `culturescope run cure --benchmark normad --file normad=normad.csv --items-per-benchmark 1000`
    """
    with errors():
        given = {
            "models": model or list(MODELS),
            "judges": judge,
            "benchmarks": split(benchmark),
            "modes": split(mode),
            "items_per_benchmark": items_per_benchmark,
            "files": _files(file),
            "judge_samples": judge_samples,
            "temperature": temperature,
            "max_total_tokens": max_total_tokens,
            "max_usd": max_usd,
            "refresh": refresh,
        }
        start("cure", profile, given, dry_run, verbose)


def _files(given: list[str] | None) -> dict[str, list[str]] | None:
    """benchmark -> paths.

    Raises:
        ValueError: an entry does not name its benchmark.
    """
    if not given:
        return None
    found: dict[str, list[str]] = {}
    for entry in given:
        benchmark, equals, path = entry.partition("=")
        if not (equals and path):
            raise ValueError(f"--file {entry}: say whose file it is, such as normad={entry}")
        found.setdefault(benchmark, []).append(path)
    return found
