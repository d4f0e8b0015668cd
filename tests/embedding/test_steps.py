"""Every text is embedded once ever by an embedder; vectors are kept and read back."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from tasks import progress
from tasks.embedding import steps
from tasks.embedding.steps import EMBEDDINGS, embed, missing, request_of, text_hash
from tasks.engines.embedders import DEFAULT, Embedded, embedder_name, load_embedder
from tasks.engines.protocols import EngineError
from warehouse import CorruptPart, Warehouse, adopt_parts, part_path, run_checks

Calls = list[list[str]]
RUN = ("run-1", "candidate")
SOY_SAUCE = [2.0, 2.0, 1.0]  # (1 + 3) / 2, (0 + 4) / 2, (2 + 0) / 2
TEXTS = ["soy sauce", "豆腐", "gravel", "soy", "soy sauce", ""]
VECTORS = [SOY_SAUCE, [7, 0, 0], [0, 0, 0], [1, 0, 2], SOY_SAUCE, [0, 0, 0]]


def embed_all(texts: list[str], source: str, batch: int = 512) -> Embedded:
    """By the task's own function: no Prefect server is needed for it."""
    return embed.fn(texts, source, RUN, "label", batch)


def test_vectors_come_in_order_and_repeats_are_embedded_once(
    warehouse: Warehouse, words: str, embedded: Calls
) -> None:
    done = embed_all(TEXTS, words)
    assert done.vectors.dtype == np.float32
    assert done.vectors.tolist() == VECTORS
    assert done.n_tokens.tolist() == [2, 1, 1, 1, 2, 0]
    assert (done.n_truncated, done.n_missing) == (0, 2)
    assert sorted(chain(*embedded)) == sorted(set(TEXTS))
    assert embed_all(TEXTS[::-1], words).vectors.tolist() == VECTORS[::-1]
    assert len(embedded) == 1


def test_only_what_is_missing_is_embedded(warehouse: Warehouse, words: str, embedded: Calls) -> None:
    embed_all(["soy", "sauce"], words)
    assert embed_all(["turkey", "soy"], words).vectors.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert embedded[1:] == [["turkey"]]


def test_the_embedder_is_loaded_only_if_something_is_missing(
    warehouse: Warehouse, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_all(TEXTS, words)
    loads: list[str] = []

    def refuse(source: str, cache: Path) -> None:
        loads.append(source)
        raise EngineError("the weights are gone")

    monkeypatch.setattr(steps, "load_embedder", refuse)
    assert embed_all(TEXTS, words).vectors.tolist() == VECTORS
    assert not loads
    with pytest.raises(EngineError, match="gone"):
        embed_all(["new"], words)


def test_other_content_is_another_embedder(warehouse: Warehouse, words: str, tmp_path: Path) -> None:
    embed_all(["soy"], words)
    other = tmp_path / "other" / "words.vec"
    other.parent.mkdir()
    other.write_text("soy 5 5\n")
    assert embed_all(["soy"], str(other)).vectors.tolist() == [[5, 5]]
    assert embed_all(["soy"], words).vectors.tolist() == [[1, 0, 2]]
    same = tmp_path / "same" / "words.vec"
    same.parent.mkdir()
    same.write_bytes(Path(words).read_bytes())
    assert not missing(["soy"], embedder_name(str(same)))


def test_a_part_holds_a_batch_and_a_crash_loses_one(
    warehouse: Warehouse, words: str, embedded: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"soy {i}" for i in range(7)]
    store, reports = steps._store, list[tuple[int, int]]()

    def dies_at_the_third(*arguments: object) -> None:
        if len(embedded) == 3:
            raise KeyboardInterrupt
        store(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(steps, "_store", dies_at_the_third)
    with progress.listen(lambda _, n, total: reports.append((n, total))), pytest.raises(KeyboardInterrupt):
        embed_all(texts, words, batch=2)
    assert reports == [(2, 7), (2, 7)]
    stored = warehouse.query("SELECT count(*) AS n, count(DISTINCT part) AS p FROM embedding").row(0)
    assert stored == (4, 2)
    monkeypatch.setattr(steps, "_store", store)
    embedded.clear()
    assert embed_all(texts, words, batch=2).vectors.tolist() == [[1, 0, 2]] * 7
    assert [len(call) for call in embedded] == [2, 1]


def test_a_stored_part_that_was_not_registered_is_adopted(
    warehouse: Warehouse, words: str, embedded: Calls
) -> None:
    embed_all(TEXTS, words)
    with warehouse.write() as connection:
        connection.execute("DELETE FROM part_unit")
    name = embedder_name(words)
    assert len(missing(TEXTS, name)) == len(set(TEXTS))
    assert len(adopt_parts(warehouse, EMBEDDINGS).adopted) == 1
    assert not missing(TEXTS, name)


def test_a_damaged_part_is_reported(warehouse: Warehouse, words: str) -> None:
    embed_all(["soy"], words)
    part = warehouse.query("SELECT part FROM embedding").item()
    part_path(warehouse.home, EMBEDDINGS, part).write_bytes(b"PAR1")
    with pytest.raises(CorruptPart, match="culturescope check"):
        embed_all(["soy"], words)


def test_embeddings_are_visible_in_sql(warehouse: Warehouse, words: str) -> None:
    embed_all(TEXTS, words)
    sql = "SELECT * FROM embedding WHERE text_hash = left(sha256($text), 32)"
    row = warehouse.query(sql, {"text": "豆腐"}).row(0, named=True)
    assert row["text_hash"] == text_hash("豆腐")
    assert row["vector"] == [7, 0, 0]
    assert (row["n_tokens"], row["truncated"], row["run_id"]) == (1, False, "run-1")
    assert (row["model"], row["request_hash"]) == (embedder_name(words), request_of(embedder_name(words)))
    cosine = (
        "SELECT list_cosine_similarity(a.vector, b.vector) FROM embedding AS a, embedding AS b "
        "WHERE a.text_hash = left(sha256('soy'), 32) AND b.text_hash = left(sha256('soy sauce'), 32)"
    )
    # (1·2 + 0·2 + 2·1) / (√5 · 3)
    assert warehouse.query(cosine).item() == pytest.approx(4 / (5**0.5 * 3))
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_no_texts(warehouse: Warehouse, words: str, embedded: Calls) -> None:
    done = embed_all([], words)
    assert (done.vectors.shape, done.n_truncated, done.n_missing) == ((0, 0), 0, 0)
    assert not embedded


def test_unknown_embedder(warehouse: Warehouse) -> None:
    with pytest.raises(EngineError, match=f"no embedder 'minilm': give {DEFAULT}"):
        embed_all(["soy"], "minilm")


@pytest.mark.slow
def test_stored_vectors_are_those_of_minilm(
    warehouse: Warehouse, models_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (warehouse.home / "models").symlink_to(models_cache)
    texts = ["cheese", "Harmony matters.", "onion " * 300, "", "醋"]
    plain = load_embedder(DEFAULT, models_cache).embed(texts)
    for _ in range(2):
        done = embed_all(texts, DEFAULT, batch=2)
        np.testing.assert_allclose(done.vectors, plain.vectors, atol=1e-5)
        assert done.truncated.tolist() == [False, False, True, False, False]
        assert done.n_tokens.tolist() == plain.n_tokens.tolist()
        assert done.n_missing == 2
