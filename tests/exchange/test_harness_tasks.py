"""Items leave as tasks of lm-evaluation-harness, which finds in them what our own run finds."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tasks.evaluations.culturall.matching.choices import chosen_letter
from tasks.evaluations.recipe.options import letter
from tasks.exchange.lm_eval_out import CHAT, MARKS, Doc, Exported, Task, accepted, files
from tests.deployments.commands import call, refused
from warehouse import Warehouse

ITEMS = "item,country,region,question,a,b,c,d,answer\n" + "".join(
    f'i{n},c{n % 3},r,"{n}: {{{{ 7 * 7 }}}} {{% raw %}} where?",x{n},"{{{{ y }}}}{n}",2024-01-0{n + 1},'
    f"{'z' * (n + 1)},{'ABCD'[n % 4]}\n"
    for n in range(6)
)


def pack(home: Path, name: str, recipe: str, items: str = "", **swaps: str) -> Path:
    """Return the folder of a pack of a recipe with other items, and lines of its definition replaced."""
    call("pack", "new", name, "--recipe", recipe)
    folder = home / "packs" / name
    if items:
        (folder / "items.csv").write_text(items)
    definition = (folder / "evaluation.toml").read_text()
    for field, value in swaps.items():
        definition, n = re.subn(rf"(?m)^{field} = \S+", f"{field} = {value}", definition)
        assert n == 1, field
    (folder / "evaluation.toml").write_text(definition)
    return folder


def configs(folder: Path) -> dict[str, Any]:
    return {path.stem: yaml.safe_load(path.read_text()) for path in folder.glob("*.yaml")}


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def texts_of(value: Any) -> Iterator[str]:
    """Yield every text at any depth."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_of(each)
    elif isinstance(value, str):
        yield value


def test_texts_of_items_stand_in_columns_alone(warehouse: Warehouse, tmp_path: Path) -> None:
    pack(warehouse.home, "braces", "choice", ITEMS)
    out = tmp_path / "out"
    call("export", "lm-eval", "braces", out)
    written, docs = configs(out), rows(out / "culturemeter_braces.jsonl")
    assert set(written) == {"culturemeter_braces", f"culturemeter_braces{CHAT}"}
    for config in written.values():
        assert {config[f"doc_to_{part}"] for part in ("text", "choice", "target")} <= docs[0].keys()
        assert not any(sign in text for text in texts_of(config) for sign in "{}!")
    assert docs[1]["options"][1] == "{{ y }}1"
    assert (
        docs[1]["prompt"]
        == "1: {{ 7 * 7 }} {% raw %} where?\nA. x1\nB. {{ y }}1\nC. 2024-01-02\nD. zz\nAnswer:"
    )
    assert "not empty" in refused("export", "lm-eval", "braces", out)


def test_what_the_harness_scores_otherwise_is_refused_in_one_line(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    pack(warehouse.home, "money", "short_answer")
    assert 'match = "contains"' in refused("export", "lm-eval", "money", tmp_path / "a")
    pack(warehouse.home, "tokens", "choice", by='"logprob"\nlength = "tokens"')
    assert 'length = "tokens"' in refused("export", "lm-eval", "tokens", tmp_path / "b")
    assert "nothing that the harness could ask" in refused("export", "lm-eval", "spectral", tmp_path / "c")
    assert "unknown evaluation" in refused("export", "lm-eval", "culturally", tmp_path / "d")
    assert not any((tmp_path / name).exists() for name in "abcd")


def test_free_and_judged_answers_are_left_out_and_named(warehouse: Warehouse, tmp_path: Path) -> None:
    call("export", "lm-eval", "culturall", tmp_path / "out")
    page = (tmp_path / "out" / "README.md").read_text()
    assert "266 free answers" in page
    assert "CC0-1.0" in page
    native = rows(tmp_path / "out" / "culturemeter_culturall_choice_native.jsonl")
    assert len(native) == 74
    assert {row["answer"][0] for row in native} <= set("ABCD")


def test_labels_of_cure_are_the_choices(warehouse: Warehouse, tmp_path: Path) -> None:
    call("export", "lm-eval", "cure", tmp_path / "out", "--profile", "smoke")
    written = configs(tmp_path / "out")
    for name in ("culturemeter_cure_normad_thin", f"culturemeter_cure_normad_thin{CHAT}"):
        assert written[name]["doc_to_choice"] == ["yes", "no", "neutral"]
        assert written[name]["gen_prefix"] == "begun"
    docs = rows(tmp_path / "out" / "culturemeter_cure_normad_thin.jsonl")
    assert [doc["answer"] for doc in docs] == [1, 0, 2]  # a pat on the head in Fiji, Italy and New Zealand
    for doc in docs:
        assert doc["prompt"].startswith(f"{doc['system']}\n\n{doc['user']}")


def test_columns_that_would_be_read_as_times_are_refused() -> None:
    docs = [Doc(f"i{n}", "When?", 0, options=["2024-01-01", f"2024-01-0{n + 2}"]) for n in range(3)]
    with pytest.raises(ValueError, match="'options' is a date"):
        list(files(Exported("dates", [Task("culturemeter_dates", docs, "ours")])))


FEW = 3
"""Dishes of the harness's run, each with all candidates."""
QUESTION = "Which one? A. tea B. cold water C. barley soup D. salt"
OPTIONS = ("tea", "cold water", "barley soup", "salt")
RIGHT = (
    "B",
    "b",
    " B.\n",
    "**B**",
    "(B)",
    "B) cold water",
    "B. Cold water.",
    "cold water",
    "B\uff0ecold water",
)
WRONG = (
    "",
    "C",
    "B. C",
    "A. tea\nB. cold water",
    "B. barley soup",
    "barley soup",
    "A dish",
    "Bread",
    "water",
)


@pytest.mark.parametrize("answer", [*RIGHT, *WRONG])
def test_an_option_that_the_harness_reads_is_read_by_our_run_too(answer: str) -> None:
    from lm_eval.api.metrics import exact_match_hf_evaluate

    targets = accepted("B", ["cold water"])
    how = {"ignore_case": True, "ignore_punctuation": True, "regexes_to_ignore": [MARKS]}
    found = exact_match_hf_evaluate([answer] * len(targets), targets, **how)["exact_match"] > 0
    assert found == (answer in RIGHT)
    if found:
        assert chosen_letter(answer, QUESTION) == "B"
        assert letter(answer, OPTIONS) == 1


@pytest.fixture(scope="module")
def peer(smollm2_folder: Path) -> Any:
    from lm_eval.models.huggingface import HFLM

    return HFLM(pretrained=str(smollm2_folder), dtype="float32", device="cpu", batch_size=16)


def of_harness(
    peer: Any, folder: Path, task: str, is_chat: bool, patch: pytest.MonkeyPatch, limit: int | None = None
) -> Any:
    """Return the harness's samples of a task in the order of documents, and its number."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    patch.chdir(folder)
    done = lm_eval.simple_evaluate(
        peer, tasks=[task], apply_chat_template=is_chat, bootstrap_iters=0, limit=limit,
        task_manager=TaskManager(include_path=str(folder), include_defaults=False),
    )  # fmt: skip
    samples = sorted(done["samples"][task], key=lambda sample: sample["doc_id"])
    return samples, next(
        v for k, v in done["results"][task].items() if k.startswith("acc") and "std" not in k
    )


@pytest.fixture
def engine(smollm2_folder: Path, style: str) -> Any:
    from tasks.engines.local.packed_trie import PackedTrieScorer
    from tasks.engines.specs import EngineSpec

    spec = EngineSpec(name="s", model="x", dtype="float32", prompt_style=style)  # type: ignore[arg-type]
    return PackedTrieScorer(spec, str(smollm2_folder))


@pytest.mark.slow
@pytest.mark.nets(1)
@pytest.mark.parametrize("style", ["chat", "base"])
@pytest.mark.parametrize("items", ["", ITEMS], ids=["example", "braces"])
def test_choices_have_the_accuracy_of_our_own_run(
    items: str,
    style: str,
    peer: Any,
    engine: Any,
    warehouse: Warehouse,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from deployments.evaluations import evaluation

    pack(warehouse.home, "whence", "choice", items)
    out = tmp_path / "out"
    call("export", "lm-eval", "whence", out)
    own = evaluation("whence")
    study = own.study(own.params(models=["x"]), {}, {})
    completions: Any = lambda r: r.decode(r.compute(engine, r.units, lambda n: None))  # noqa: E731
    scores = own.read(study, completions, None).scores[""]
    name = f"culturemeter_whence{CHAT if style == 'chat' else ''}"
    samples, accuracy = of_harness(peer, out, name, style == "chat", monkeypatch)
    assert [sample["doc"]["item"] for sample in samples] == study.names.tolist()
    assert [sample["acc"] for sample in samples] == scores.values.tolist()
    assert accuracy == pytest.approx(float(np.mean(scores.values)))


@pytest.mark.slow
@pytest.mark.parametrize("style", ["base"])
def test_fmlama_finds_the_right_first_predictions_of_our_run(
    peer: Any, engine: Any, warehouse: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deployments.evaluations import evaluation, profile
    from flows.session import build
    from tasks.evaluations.fmlama.read import stored_scores, top_columns

    out = tmp_path / "out"
    call("export", "lm-eval", "fmlama", out, "--profile", "smoke")
    own = evaluation("fmlama")
    study: Any
    study, *_ = build(own, own.params(**profile("fmlama", "smoke", []), models=["x"]))
    probe = study.probes[0]
    completions: Any = lambda r: r.decode(r.compute(engine, r.units, lambda n: None))  # noqa: E731
    scores: Any = stored_scores(study, completions, probe, probe.templates[0])
    tops = top_columns(probe, scores["sum_logprob"])
    firsts = tops[np.unique(probe.dish_of_top, return_index=True)[1]]
    right = probe.relevant[np.arange(len(firsts)), firsts]
    samples, accuracy = of_harness(peer, out, "culturemeter_fmlama_en_en_no_1", False, monkeypatch, FEW)
    assert [sample["doc"]["item"] for sample in samples] == [dish.url for dish in probe.dishes[:FEW]]
    chosen = [int(np.argmax([float(each[0][0]) for each in sample["resps"]])) for sample in samples]
    assert chosen == firsts[:FEW].tolist()
    assert accuracy == pytest.approx(right[:FEW].mean())


@pytest.mark.slow
@pytest.mark.heavy
def test_cure_finds_the_labels_of_our_run(
    peer: Any, warehouse: Warehouse, models_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vllm")
    shutil.copytree(models_cache / "smollm2-135m", warehouse.home / "models" / "smollm2-135m")
    few = ("cure", "--profile", "smoke", "--judges", "", "--modes", "thin", "--benchmarks", "normad")
    call("run", *few, "-m", "smollm2-135m-vllm", "--no-server", "--no-probe")
    stored = "SELECT item, label FROM cure_answer ORDER BY item"
    ours = dict(Warehouse.open(warehouse.home).query(stored).rows())
    call("export", "lm-eval", "cure", tmp_path / "out", "--profile", "smoke")
    name = f"culturemeter_cure_normad_thin{CHAT}"
    samples, _ = of_harness(peer, tmp_path / "out", name, True, monkeypatch)
    labels = ("yes", "no", "neutral")
    theirs = {
        s["doc"]["item"]: labels[int(np.argmax([float(each[0][0]) for each in s["resps"]]))] for s in samples
    }
    assert theirs == ours


@pytest.mark.heavy
@pytest.mark.parametrize("task", ["choice_native", "choice_english_chat"])
def test_our_own_loader_runs_the_files(task: str, warehouse: Warehouse, tmp_path: Path) -> None:
    """Without leave to run code, and with the prompts as they are in the columns."""
    from tasks.evaluations.harness.library import context_of
    from tasks.evaluations.harness.study import HarnessParams, build_study

    call("export", "lm-eval", "culturall", tmp_path / "out")
    file = tmp_path / "out" / f"culturemeter_culturall_{task}.yaml"
    is_chat = task.endswith(CHAT)
    params = HarnessParams.model_validate({"models": ["x"], "tasks": [str(file)], "chat": is_chat})
    study = build_study(params, {}, {})
    (built,) = study.tasks.values()
    assert len(built.instances) == 74
    for doc, fields in built.documents.items():
        sent = context_of(built.instances[doc][0])
        expected = ({"role": "user", "content": fields["user"]},) if is_chat else fields["prompt"]
        assert sent == expected
        assert not built.wrong_labels
