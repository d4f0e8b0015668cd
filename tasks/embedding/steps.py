"""Texts in, vectors out: each is embedded once ever by an embedder, then read back.

What crosses the border: texts in, Parquet parts of kind ``embedding`` and the vectors out. Scoring again with
other exemplars or another formula costs no embedding, and a killed run loses at most the batch under way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import polars as pl
from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks import progress
from tasks.engines.embedders import Embedded, Embedder, embedder_name, load_embedder
from tasks.identity import digest
from tasks.steps import Run, store_part
from warehouse import Warehouse, missing_units, read_answers

EMBEDDINGS = "embedding"
COLUMNS = ("text_hash", "vector", "n_tokens", "truncated")


def text_hash(text: str) -> str:
    """Identifies a text: the first 32 hex digits of its SHA-256, in SQL ``left(sha256(text), 32)``."""
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def request_of(name: str) -> str:
    """Identifies an embedder by its name; texts are its units."""
    return digest(["embed", name])


def missing(texts: Sequence[str], name: str) -> dict[str, str]:
    """text_hash -> text of those without a stored vector of this embedder, in order of hashes."""
    request, by_hash = request_of(name), {text_hash(text): text for text in texts}
    wanted = pl.DataFrame(
        {"request_hash": [request] * len(by_hash), "unit": list(by_hash)},
        schema={"request_hash": pl.String, "unit": pl.String},
    )
    with Warehouse.open().read() as connection:
        units = missing_units(connection, EMBEDDINGS, wanted)["unit"]
    return {unit: by_hash[unit] for unit in sorted(units)}


@task(cache_policy=NO_CACHE, name="embed", task_run_name="{label}")
def embed(texts: Sequence[str], embedder: str, run: Run, label: str, batch: int = 512) -> Embedded:
    """The vectors of all texts, in order; only what is missing is embedded.

    Args:
        texts: may repeat; none: vectors of shape [0, 0].
        embedder: source of the embedder (``load_embedder``), which is loaded only if a text has no vector.
        run: who embeds first, and so whom a stored vector names.
        label: of the progress.
        batch: texts that are embedded and stored together: a part. A ``.vec`` file is read once a batch.

    Raises:
        EngineError: there is no such embedder, or it cannot be loaded.
    """
    name = embedder_name(embedder)
    todo = list(missing(texts, name).items())
    loaded: Embedder | None = None
    for start in range(0, len(todo), batch):
        some = dict(todo[start : start + batch])
        loaded = loaded or load_embedder(embedder, Warehouse.open().home / "models")
        _store(some, loaded.embed(list(some.values())), name, run)
        progress.report(label, len(some), len(todo))
    return _stored([text_hash(text) for text in texts], request_of(name))


def _stored(hashes: Sequence[str], request: str) -> Embedded:
    """The vectors of texts that all have one."""
    frame = read_answers(Warehouse.open(), EMBEDDINGS, request, sorted(set(hashes)), COLUMNS)
    place = {text_hash: row for row, text_hash in enumerate(frame["text_hash"])}
    rows = np.array([place[text_hash] for text_hash in hashes], dtype=np.int64)
    dimension = cast(int | None, frame["vector"].list.len().max()) or 0
    vectors = frame["vector"].explode(empty_as_null=False).to_numpy().reshape(frame.height, dimension)
    n_tokens, truncated = frame["n_tokens"].to_numpy(), frame["truncated"].to_numpy()
    return Embedded(vectors[rows], n_tokens[rows].astype(np.int64), truncated[rows])


def _store(texts: Mapping[str, str], made: Embedded, name: str, run: Run) -> None:
    """One part. Texts themselves are not stored: they are answers, or reference data, and lie there."""
    request = request_of(name)
    frame = pl.DataFrame(
        {
            "text_hash": list(texts),
            "vector": list(made.vectors),
            "n_tokens": made.n_tokens,
            "truncated": made.truncated,
        },
        schema_overrides={"vector": pl.List(pl.Float32)},
    ).with_columns(request_hash=pl.lit(request), run_id=pl.lit(run[0]), model=pl.lit(name))
    store_part(EMBEDDINGS, digest([request, *texts], 32), frame, replace=False)
