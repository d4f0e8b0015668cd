"""A text has one vector of an embedder: made once, kept, and read back in order."""

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
from tasks.loop import progress, steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Plan, Wanted, lay_out
from tasks.loop.texts import Texts, text_hash
from warehouse import CorruptPart, Warehouse, part_path, register_orphans, run_checks

Calls = list[list[str]]
RUN = ("run-1", "candidate")
SOY_SAUCE = [2.0, 2.0, 1.0]  # (1 + 3) / 2, (0 + 4) / 2, (2 + 0) / 2
TEXTS = ["soy sauce", "豆腐", "gravel", "soy", "soy sauce", ""]
VECTORS = [SOY_SAUCE, [7, 0, 0], [0, 0, 0], [1, 0, 2], SOY_SAUCE, [0, 0, 0]]


def request(texts: Sequence[str], source: str, batch: int = 512) -> Texts:
    return Texts(role="embedder", engine=source, texts=texts, batch=batch)


def plan(texts: Sequence[str], source: str, batch: int = 512) -> Plan:
    """What of the texts has no vector, in parts."""
    engine, asked = steps.engine_of(source, "embedder"), request(texts, source, batch)
    wanted = [Wanted("candidate", asked, engine)]
    return lay_out(wanted, steps.unanswered(wanted))


def embed(texts: Sequence[str], source: str, batch: int = 512) -> Embedded:
    """What the loop does: answer what is missing, read everything back."""
    todo, asked = plan(texts, source, batch), request(texts, source)
    for work in todo.work:
        steps.compute_answers(work, RUN, Meter(Budget()), "label", sum(line.left for line in todo.lines))
    name = asked.hash(steps.engine_of(source, "embedder"))
    return asked.decode(steps.stored(asked.kind, name, asked.units, asked.columns))


def test_vectors_come_in_order_and_repeats_are_embedded_once(
    warehouse: Warehouse, words: str, embedded: Calls
) -> None:
    done = embed(TEXTS, words)
    assert done.vectors.dtype == np.float32
    assert done.vectors.tolist() == VECTORS
    assert done.n_tokens.tolist() == [2, 1, 1, 1, 2, 0]
    assert (done.truncated.sum(), (~done.vectors.any(axis=1)).sum()) == (0, 2)
    assert sorted(chain(*embedded)) == sorted(set(TEXTS))
    assert embed(TEXTS[::-1], words).vectors.tolist() == VECTORS[::-1]
    assert len(embedded) == 1


def test_only_what_is_missing_is_embedded(warehouse: Warehouse, words: str, embedded: Calls) -> None:
    embed(["soy", "sauce"], words)
    assert embed(["turkey", "soy"], words).vectors.tolist() == [[0, 0, 1], [1, 0, 2]]
    assert embedded[1:] == [["turkey"]]


def test_the_embedder_is_loaded_only_if_something_is_missing(
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


def test_other_content_is_another_embedder(warehouse: Warehouse, words: str, tmp_path: Path) -> None:
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


def test_a_part_holds_a_batch_and_a_crash_loses_one(
    warehouse: Warehouse, words: str, embedded: Calls, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"soy {i}" for i in range(7)]
    store, reports = steps.store_part, list[tuple[int, int]]()

    def dies_at_the_third(*arguments: object) -> None:
        if len(embedded) == 3:
            raise KeyboardInterrupt
        store(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch, progress.listen(lambda _, n, total: reports.append((n, total))):
        patch.setattr(steps, "store_part", dies_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            embed(texts, words, batch=2)
    assert reports == [(2, 7)] * 3
    stored = warehouse.query("SELECT count(*) AS n, count(DISTINCT part) AS p FROM embedding").row(0)
    assert stored == (4, 2)
    embedded.clear()
    assert embed(texts, words, batch=2).vectors.tolist() == [[1, 0, 2]] * 7
    assert [len(call) for call in embedded] == [2, 1]


def test_a_stored_part_that_was_not_registered_is_taken_over(
    warehouse: Warehouse, words: str, embedded: Calls
) -> None:
    embed(TEXTS, words)
    with warehouse.write() as connection:
        connection.execute("DELETE FROM part_unit_base")
    assert plan(TEXTS, words).left == 1
    assert len(register_orphans(warehouse, "embedding").registered) == 1
    assert plan(TEXTS, words).left == 0
    embed(TEXTS, words)
    assert len(embedded) == 1


def test_a_damaged_part_is_reported(warehouse: Warehouse, words: str) -> None:
    embed(["soy"], words)
    part = warehouse.query("SELECT part FROM embedding").item()
    part_path(warehouse.home, "embedding", part).write_bytes(b"PAR1")
    with pytest.raises(CorruptPart, match="culturescope check"):
        embed(["soy"], words)


def test_a_text_without_a_vector_is_an_error(warehouse: Warehouse, words: str) -> None:
    embed(["soy"], words)
    asked = request(["soy", "new"], words)
    name = asked.hash(steps.engine_of(words, "embedder"))
    with pytest.raises(KeyError):
        asked.decode(steps.stored(asked.kind, name, asked.units, asked.columns))


def test_embeddings_are_visible_in_sql(warehouse: Warehouse, words: str) -> None:
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


def test_no_texts(warehouse: Warehouse, words: str, embedded: Calls) -> None:
    done = embed([], words)
    assert (done.vectors.shape, done.truncated.sum(), (~done.vectors.any(axis=1)).sum()) == ((0, 0), 0, 0)
    assert not embedded


def test_unknown_embedder(warehouse: Warehouse) -> None:
    with pytest.raises(EngineError, match=f"unknown embedder 'minilm': give {DEFAULT}"):
        embed(["soy"], "minilm")


@pytest.mark.slow
def test_stored_vectors_are_those_of_minilm(
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
