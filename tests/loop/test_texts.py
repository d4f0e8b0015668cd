"""A text is embedded once per embedder, stored and read back in order.

`test_steps` covers all kinds of requests: parts, crashes and unregistered parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from tasks.engines import load
from tasks.engines.embedders import DEFAULT, embedder_name, load_embedder
from tasks.engines.protocols import Embedded, EngineError
from tasks.loop import steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan, Wanted, lay_out
from tasks.loop.texts import Texts, text_hash
from warehouse import Warehouse, run_checks

Calls = list[list[str]]
RUN = ("run-1", "candidate")
SOY_SAUCE = [2.0, 2.0, 1.0]  # (1 + 3) / 2, (0 + 4) / 2, (2 + 0) / 2
TEXTS = ["soy sauce", "豆腐", "gravel", "soy", "soy sauce", ""]
VECTORS = [SOY_SAUCE, [7, 0, 0], [0, 0, 0], [1, 0, 2], SOY_SAUCE, [0, 0, 0]]


def request(texts: Sequence[str], source: str, batch: int = 512) -> Texts:
    return Texts(role="embedder", engine=source, texts=texts, batch=batch)


def plan(texts: Sequence[str], source: str, batch: int = 512) -> Plan:
    """Return the parts of the texts without a vector."""
    engine = steps.engine_of(source, "embedder")
    wanted = [Wanted("candidate", request(texts, source, batch), engine)]
    return lay_out(wanted, steps.unanswered(wanted))


def embed(texts: Sequence[str], source: str, batch: int = 512) -> Embedded:
    """Embed what is missing and read all vectors back."""
    todo, wanted = plan(texts, source, batch), request(texts, source)
    for work in todo.work:
        steps.compute_answers(work, RUN, Meter(Budget()), "label", sum(line.left for line in todo.lines))
    name = wanted.hash(steps.engine_of(source, "embedder"))
    return wanted.decode(steps.stored(wanted.kind, name, wanted.units, wanted.columns))


def test_vectors_are_in_order_and_only_new_texts_are_embedded(
    warehouse: Warehouse, words: str, embedded: Calls
) -> None:
    done = embed(TEXTS, words)
    assert done.vectors.dtype == np.float32
    assert done.vectors.tolist() == VECTORS
    assert done.n_tokens.tolist() == [2, 1, 1, 1, 2, 0]
    assert (done.truncated.sum(), (~done.vectors.any(axis=1)).sum()) == (0, 2)
    assert sorted(chain(*embedded)) == sorted(set(TEXTS))
    assert embed(TEXTS[::-1], words).vectors.tolist() == VECTORS[::-1]
    assert embed([], words).vectors.shape == (0, 0)
    assert len(embedded) == 1
    assert embed(["turkey", "soy"], words).vectors.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert embedded[1:] == [["turkey"]]


def test_the_embedder_is_loaded_only_for_missing_texts(
    warehouse: Warehouse, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed(TEXTS, words)
    loads: list[str] = []

    def refuse(source: str, cache: Path) -> None:
        loads.append(source)
        raise EngineError("the weights are gone")

    monkeypatch.setattr(load, "embedder", refuse)
    assert embed(TEXTS, words).vectors.tolist() == VECTORS
    assert not loads
    with pytest.raises(EngineError, match="gone"):
        embed(["new"], words)


def test_a_file_of_other_content_is_another_embedder(
    warehouse: Warehouse, words: str, tmp_path: Path
) -> None:
    embed(["soy"], words)
    other = tmp_path / "other" / "words.vec"
    other.parent.mkdir()
    other.write_text("soy 5 5\n")
    assert embed(["soy"], str(other)).vectors.tolist() == [[5, 5]]
    assert embed(["soy"], words).vectors.tolist() == [[1, 0, 2]]
    same = tmp_path / "same" / "words.vec"
    same.parent.mkdir()
    same.write_bytes(Path(words).read_bytes())
    assert not plan(["soy"], str(same)).left


def test_a_vector_does_not_depend_on_the_occasion(words: str) -> None:
    engine = steps.engine_of(words, "embedder")
    assert request(TEXTS, words).hash(replace(engine, occasion="w2")) == request(["soy"], words).hash(engine)


def test_parts_do_not_depend_on_the_order_of_texts(warehouse: Warehouse, words: str) -> None:
    parts = [work.part for work in plan(TEXTS, words, batch=2).work]
    assert len(parts) == 3  # five different texts
    assert [work.part for work in plan(TEXTS[::-1], words, batch=2).work] == parts
    (line,) = plan(TEXTS, words).lines
    assert (line.n_units, line.left) == (5, 5)


def test_reading_a_text_without_a_vector_is_an_error(warehouse: Warehouse, words: str) -> None:
    embed(["soy"], words)
    wanted = request(["soy", "new"], words)
    name = wanted.hash(steps.engine_of(words, "embedder"))
    with pytest.raises(KeyError):
        wanted.decode(steps.stored(wanted.kind, name, wanted.units, wanted.columns))


def test_embeddings_are_queried_in_sql(warehouse: Warehouse, words: str) -> None:
    embed(TEXTS, words)
    sql = "SELECT * FROM embedding WHERE text_hash = left(sha256($text), 32)"
    row = warehouse.query(sql, {"text": "豆腐"}).row(0, named=True)
    assert row["text_hash"] == text_hash("豆腐")
    assert row["vector"] == [7, 0, 0]
    assert (row["n_tokens"], row["truncated"], row["run_id"]) == (1, False, "run-1")
    assert row["model"] == embedder_name(words)  # with the hash of its content, wherever the file was
    assert row["request_hash"] == request([], words).hash(steps.engine_of(words, "embedder"))
    cosine = (
        "SELECT list_cosine_similarity(a.vector, b.vector) FROM embedding AS a, embedding AS b "
        "WHERE a.text_hash = left(sha256('soy'), 32) AND b.text_hash = left(sha256('soy sauce'), 32)"
    )
    # (1·2 + 0·2 + 2·1) / (√5 · 3)
    assert warehouse.query(cosine).item() == pytest.approx(4 / (5**0.5 * 3))
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_an_unknown_embedder_is_refused(warehouse: Warehouse) -> None:
    with pytest.raises(EngineError, match=f"unknown embedder 'minilm': give {DEFAULT}"):
        embed(["soy"], "minilm")


@pytest.mark.slow
def test_stored_vectors_equal_those_of_minilm(
    warehouse: Warehouse, models_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (warehouse.home / "models").symlink_to(models_cache)
    texts = ["cheese", "Harmony matters.", "onion " * 300, "", "醋"]
    plain = load_embedder(DEFAULT, models_cache).embed(texts)
    for _ in range(2):
        done = embed(texts, DEFAULT, batch=2)
        np.testing.assert_allclose(done.vectors, plain.vectors, atol=1e-5)
        assert done.truncated.tolist() == [False, False, True, False, False]
        assert done.n_tokens.tolist() == plain.n_tokens.tolist()
        assert (~done.vectors.any(axis=1)).sum() == 2
