"""``culturescope run fmlama``."""

from __future__ import annotations

from typing import Annotated

import typer

from deployments.cli_common import DryRun, Models, Profile, Refresh, Verbose, errors, split
from deployments.start import start

MODELS = ("smollm2-135m", "gemma3-270m")


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
        "models": model or list(MODELS),
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
        start("fmlama", profile, given, dry_run, verbose)
