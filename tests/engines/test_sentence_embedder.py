"""Sentence vectors: a tiny random BERT for the rules, all-MiniLM-L6-v2 against plain transformers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import modules
from transformers import AutoModel, AutoTokenizer, BertConfig, BertTokenizer

from tasks.engines.embedders import DEFAULT, embedder_name, load_embedder
from tasks.engines.local import sentence_embedder
from tasks.engines.local.sentence_embedder import SentenceEmbedder
from tasks.engines.protocols import EngineError

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "soy", "sauce", "and", "cheese", "##cake"]
LIMIT = 6  # [CLS], [SEP] and four words
TEXTS = ["soy sauce", "cheesecake and soy sauce", "cheese", "", "soy soy soy soy soy", "gravel"]
TEXTS += ["gravel soy", " \t"]


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT with mean pooling that knows five words."""
    folder = tmp_path_factory.mktemp("tiny")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    config = BertConfig(vocab_size=len(WORDS), **sizes)
    AutoModel.from_config(config).save_pretrained(folder / "bert")  # type: ignore[no-untyped-call]
    BertTokenizer(vocab={word: i for i, word in enumerate(WORDS)}).save_pretrained(folder / "bert")
    transformer = modules.Transformer(str(folder / "bert"), max_seq_length=LIMIT)
    pooling = modules.Pooling(transformer.get_embedding_dimension())
    SentenceTransformer(modules=[transformer, pooling], device="cpu").save(str(folder / "model"))
    return folder / "model"


@pytest.fixture(scope="module")
def embedder(tiny: Path) -> SentenceEmbedder:
    made = load_embedder(str(tiny), tiny)
    assert isinstance(made, SentenceEmbedder)
    return made


@pytest.fixture(scope="module")
def minilm(models_cache: Path) -> SentenceEmbedder:
    made = load_embedder(DEFAULT, models_cache)
    assert isinstance(made, SentenceEmbedder)
    return made


def test_truncated_texts_tokens_and_texts_without_vector_are_counted(embedder: SentenceEmbedder) -> None:
    done = embedder.embed(TEXTS)
    assert done.vectors.dtype == np.float32
    # "cheese ##cake and soy sauce" and "soy" five times have five tokens where four fit.
    assert np.flatnonzero(done.truncated).tolist() == [1, 4]
    # With [CLS] and [SEP]; the whole text counts, also beyond the limit.
    assert done.n_tokens.tolist() == [4, 7, 3, 2, 7, 3, 4, 2]
    # Blank texts, and "gravel", which is [UNK]; "gravel soy" has a token that the model knows.
    assert np.flatnonzero(~done.vectors.any(axis=1)).tolist() == [3, 5, 7]


def test_truncated_text_keeps_its_beginning(embedder: SentenceEmbedder) -> None:
    cut, whole = embedder.embed(["soy soy soy soy soy cheese"]), embedder.embed(["soy soy soy soy"])
    np.testing.assert_allclose(cut.vectors, whole.vectors, atol=1e-6)
    assert (cut.truncated.sum(), whole.truncated.sum()) == (1, 0)


def test_order_and_batches_do_not_matter(embedder: SentenceEmbedder, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = TEXTS * 3
    together = embedder.embed(texts).vectors
    np.testing.assert_allclose(embedder.embed(texts[::-1]).vectors[::-1], together, atol=1e-5)
    alone = np.concatenate([embedder.embed([text]).vectors for text in texts])
    np.testing.assert_allclose(alone, together, atol=1e-5)
    monkeypatch.setattr(sentence_embedder, "BATCH_TOKENS", 12)
    monkeypatch.setattr(sentence_embedder, "TEXTS_AT_ONCE", 5)
    np.testing.assert_allclose(embedder.embed(texts).vectors, together, atol=1e-5)


def test_progress_counts_texts_and_no_texts_give_no_vectors(embedder: SentenceEmbedder) -> None:
    counted: list[int] = []
    embedder.embed(TEXTS, counted.append)
    assert sum(counted) == len(TEXTS)
    assert embedder.embed([]).vectors.shape == (0, 16)


def test_name_of_a_folder_is_its_hash(tiny: Path, embedder: SentenceEmbedder, tmp_path: Path) -> None:
    assert embedder.name.startswith("sha256:")
    copy = shutil.copytree(tiny, tmp_path / "deep" / "other name")
    (copy / "README.md").write_text("A fine model.")
    (copy / ".cache").mkdir()
    (copy / ".cache" / "x.json").write_text("{}")
    assert embedder_name(str(copy)) == embedder.name
    (copy / "1_Pooling" / "config.json").write_text("{}")
    assert embedder_name(str(copy)) != embedder.name
    shutil.copy(tiny / "1_Pooling" / "config.json", copy / "1_Pooling" / "config.json")
    assert embedder_name(str(copy)) == embedder.name
    (copy / "modules.json").write_text((copy / "modules.json").read_text() + "\n")
    assert embedder_name(str(copy)) != embedder.name


def test_names_need_neither_torch_nor_weights(tiny: Path, tmp_path: Path) -> None:
    vec = tmp_path / "tiny.vec"
    vec.write_text("soy 1 0\n")
    program = (
        "import sys; from tasks.engines.embedders import embedder_name\n"
        f"print(*map(embedder_name, ['{DEFAULT}', '{tiny}', '{vec}']), 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=Path(__file__).parents[2], capture_output=True, text=True
    )
    assert done.stdout.startswith("package:b9a0018d"), done.stderr
    assert done.stdout.endswith("False\n")


def test_broken_folders_are_refused(tiny: Path, tmp_path: Path) -> None:
    with pytest.raises(EngineError, match=r"there is no modules\.json in .*give a folder"):
        load_embedder(str(tmp_path), tmp_path)
    copy = shutil.copytree(tiny, tmp_path / "model")
    (copy / "model.safetensors").write_bytes(b"\0" * 16)
    with pytest.raises(EngineError, match=r"cannot load '.*model' .*check that its files are complete"):
        load_embedder(str(copy), tmp_path)
    (copy / "model.safetensors").unlink()
    with pytest.raises(EngineError, match=r"model' lacks safetensors: .*--trust-pickle"):
        load_embedder(str(copy), tmp_path)


def test_unknown_embedders_are_refused_with_known_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineError, match=f"unknown embedder 'minilm': give {DEFAULT}"):
        load_embedder("minilm", tmp_path)
    with pytest.raises(EngineError, match="unknown embedded sentence encoder 'x'; known: all-minilm-l6-v2"):
        load_embedder("embedded:x", tmp_path)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(EngineError, match=r"cannot fetch 'no/such' from Hugging Face .*network"):
        load_embedder("no/such", tmp_path)


@pytest.mark.slow
@pytest.mark.heavy
def test_hugging_face_model_is_pinned_to_its_commit(tiny: Path, tmp_path: Path) -> None:
    """A process reads a cache in huggingface_hub's layout offline."""
    commit = "0123456789" * 4
    repository = tmp_path / "hub" / "models--owner--tiny"
    shutil.copytree(tiny, repository / "snapshots" / commit)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(commit)
    program = (
        "from pathlib import Path; from tasks.engines.embedders import embedder_name, load_embedder\n"
        "made = load_embedder('owner/tiny', Path('.')); print(made.name, made.embed(['soy']).vectors.shape)\n"
        "assert embedder_name('owner/tiny') == made.name"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"commit:{commit} (1, 16)\n", done.stderr


def plain_transformers(folder: Path, texts: list[str]) -> NDArray[np.float32]:
    """Return vectors of all-MiniLM-L6-v2, one text at a time: mean over tokens, scaled to length 1."""
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    rows = []
    for text in texts:
        tokens = tokenizer(text, truncation=True, max_length=256, return_tensors="pt")
        with torch.inference_mode():
            hidden = model(**tokens).last_hidden_state[0]
        mean = hidden.mean(dim=0)
        rows.append((mean / mean.norm()).numpy())
    return np.array(rows, dtype=np.float32)


@pytest.mark.slow
def test_minilm_agrees_with_plain_transformers(minilm: SentenceEmbedder, models_cache: Path) -> None:
    texts = ["cheese", "soy sauce", "I would tell my manager first, because harmony matters. " * 3]
    texts += ["onion " * 254, "onion " * 255, "кефир", "pie 🍜"]
    done = minilm.embed(texts)
    plain = plain_transformers(models_cache / "all-minilm-l6-v2", texts)
    np.testing.assert_allclose(done.vectors, plain, atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(done.vectors, axis=1), 1, atol=1e-5)
    assert minilm.limit == 256
    assert done.truncated.sum() == 1  # 254 words, [CLS] and [SEP] are 256 tokens


@pytest.mark.slow
def test_minilm_puts_cheese_nearer_to_mozzarella_than_to_gravel(minilm: SentenceEmbedder) -> None:
    cheese, mozzarella, gravel = minilm.embed(["cheese", "mozzarella", "gravel"]).vectors
    assert cheese @ mozzarella > cheese @ gravel + 0.2
    assert minilm.name.startswith("package:b9a0018d")
    assert embedder_name(DEFAULT) == minilm.name


@pytest.mark.slow
def test_minilm_gives_no_vector_to_texts_of_unknown_tokens(minilm: SentenceEmbedder) -> None:
    """Vinegar and coffee in Chinese are both [UNK]: without the rule their cosine would be 1."""
    done = minilm.embed(["醋", "咖啡", "soy 醋", ""])
    assert done.vectors.any(axis=1).tolist() == [False, False, True, False]
