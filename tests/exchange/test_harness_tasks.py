"""Items leave as tasks of lm-evaluation-harness, which finds in them what our own run finds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tasks.evaluations.culturall.choices import chosen_letter
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
    assert docs[1]["prompt"] == "1: {{ 7 * 7 }} {% raw %} where? Answer with the country alone.\nAnswer:"
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


def test_columns_that_would_be_read_as_times_are_refused() -> None:
    docs = [Doc(f"i{n}", "When?", 0, options=["2024-01-01", f"2024-01-0{n + 2}"]) for n in range(3)]
    with pytest.raises(ValueError, match="'options' is a date"):
        list(files(Exported("dates", [Task("culturemeter_dates", docs, "ours")])))


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

    return HFLM(pretrained=str(smollm2_folder), dtype="float32", device="cpu", batch_size=4)


@pytest.fixture(params=["base", "chat"])
def style(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def of_harness(peer: Any, folder: Path, task: str, is_chat: bool, patch: pytest.MonkeyPatch) -> Any:
    """Return the harness's samples of a task in the order of documents, and its number."""
    import lm_eval
    from lm_eval.tasks import TaskManager

    patch.chdir(folder)
    done = lm_eval.simple_evaluate(
        peer, tasks=[task], apply_chat_template=is_chat, bootstrap_iters=0,
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
@pytest.mark.nets(2)
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
