"""Right options that are not mixed are a doubt, by one rule, in every evaluation that has options."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from tasks.engines.specs import EngineSpec
from tasks.evaluations.harness import read
from tasks.evaluations.harness import rows as harness_rows
from tasks.evaluations.harness.study import HarnessParams, build_study
from tasks.evaluations.imported.study import ImportedItem, ImportedParams, ImportedStudy, option_hash
from tasks.evaluations.recipe.study import HEADLINE
from tasks.loop.positions import NO_ORDER, UNMIXED, Order, are_labels, has_order, lettered, unmixed_rows
from tasks.loop.requests import Engine
from tasks.loop.rows import OVERALL
from tests.deployments.commands import call
from tests.evaluations.harness.tasks_written import write_tasks
from tests.evaluations.recipe.made import evaluation
from tests.exchange import logs
from warehouse import Warehouse

ALWAYS_C, MIXED = [2] * 40, [0, 1, 2, 3] * 10
WORDS = [[f"dish {i} of {k}" for k in "abcd"] for i in range(40)]
NAMED = [list("ABCD")] * 40


@pytest.mark.parametrize(("right", "n", "share"), [
    (ALWAYS_C, 4, 1.0), (MIXED, 4, None), ([2] * 24 + [0, 1, 3, 3] * 4, 4, 0.6), ([2] * 3, 4, None),
    ([0] * 40, 1, None), ([0] * 32 + [1] * 8, 2, 0.8), ([0] * 24 + [1] * 16, 2, None), ([-1] * 40, 4, None),
])  # fmt: skip
def test_share_at_one_position_is_tested(right: Sequence[int], n: int, share: float | None) -> None:
    where = [(OVERALL, np.ones(len(right), dtype=np.bool_))]
    rows = list(unmixed_rows(where, [Order((place,), n) for place in right]))
    assert [row.value for row in rows] == ([] if share is None else [share])


def test_orders_of_unlike_items_are_tested_together() -> None:
    """Half of the items show no options; the others have three or four, with one or two right ones."""
    orders = [Order((0,), 3), Order((0, 1), 4), NO_ORDER, NO_ORDER] * 10
    chosen = np.ones(len(orders), dtype=np.bool_)
    (row,) = unmixed_rows(
        [(OVERALL, chosen), (("none", "shown"), np.array([o == NO_ORDER for o in orders]))], orders
    )
    assert (row.value, row.n_scored, row.null_value) == (1.0, 20, pytest.approx((1 / 3 + 1 / 2) / 2))


def test_mixed_sets_are_seldom_doubted() -> None:
    draw, n = np.random.default_rng(5), 2000
    right = draw.integers(0, 4, size=(n, 40))
    where = [(OVERALL, np.ones(40, dtype=np.bool_))]
    assert sum(bool(list(unmixed_rows(where, [Order((p,), 4) for p in own]))) for own in right) <= 0.003 * n


@pytest.mark.parametrize("names", [
    "ABCD", "abc", "1234", "0123", "АБВГ", "АВСД", "أبجد", "أبتث", "ابجد", "कखगघ", "কখগঘ", "가나다라",
    "ㄱㄴㄷㄹ", "アイウエ", "กขคง", "אבגד", "αβγδ", "①②③④", "ＡＢＣＤ", "一二三四",
])  # fmt: skip
def test_letters_and_numbers_name_options(names: str) -> None:
    assert are_labels(list(names))
    assert are_labels([f" ({name})" for name in names])
    assert has_order([list(names)] * 3)


@pytest.mark.parametrize("options", [
    ["True", "False"], ["是", "否"], ["对", "错"], ["yes", "no"], ["A"], ["B", "A"], ["A", "C"], [],
    ["", ""], ["x", "y"],
])  # fmt: skip
def test_other_options_that_never_change_have_no_order(options: list[str]) -> None:
    assert not are_labels(options)
    assert not has_order([options] * 3)


@pytest.mark.parametrize(("targets", "orders"), [
    (["C", "(c)", "C."], [(2, 3)] * 3), (["A", "b"], [(0, 2), (1, 2)]),
    (["Answer: D", "option a"], [(3, 4), (0, 4)]), (["ج", "أ"], [(2, 3), (0, 3)]),
    (["다", "가"], [(2, 3), (0, 3)]),
    (["A", "tea"], None), (["1", "2"], None), ([], None), (["A B", "C"], None),
])  # fmt: skip
def test_right_answers_may_be_letters(targets: list[str], orders: list[tuple[int, int]] | None) -> None:
    expected = [Order((place,), n) for place, n in orders] if orders else [NO_ORDER] * len(targets)
    assert lettered(targets) == expected


# --- each door


def _imported(right: Sequence[int], options: Sequence[Sequence[str]], letters: bool) -> bool:
    items = tuple(
        ImportedItem(f"i{n}", f"i{n}", (), "ABCD"[place])
        if letters
        else ImportedItem(
            f"i{n}", f"i{n}", (), own[place], place, tuple(map(len, own)), (), tuple(map(option_hash, own))
        )
        for n, (place, own) in enumerate(zip(right, options, strict=True))
    )
    study = ImportedStudy(ImportedParams(models=["m"], scale="hit"), items)
    return bool(list(unmixed_rows(study.slices(), study.orders)))


def _harness(right: Sequence[int], folder: Path, task: dict[str, Any]) -> bool:
    (file,) = write_tasks(folder, ["plain"]).values()
    docs = [
        {"q": f"Q{n}?", "options": own, "answer": p}
        for n, (p, own) in enumerate(zip(right, WORDS, strict=True))
    ]
    for name in ("test", "train"):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, docs)))
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text()) | task))
    study = build_study(HarnessParams(models=["x"], tasks=[str(file)]), {}, {})
    own, nulls = read.scored(study, HEADLINE, {}), harness_rows.NullModels(study, read.nulls(study))
    scores = dict.fromkeys((HEADLINE, *harness_rows.CONTROLS), own)
    return any(row.metric == UNMIXED for row in harness_rows.model_rows(study, scores, nulls))


def _recipe(right: Sequence[int], recipe: str) -> bool:
    """The shipped examples with these right options; a short answer is a letter."""
    choices = recipe == "choice"
    head = f"item,country,region,question,{'a,b,c,d,answer' if choices else 'language,accepted'}"
    lines = [
        f"i{n},g{n % 8},r,Q{n}?,{','.join(own) + ',' if choices else 'en,'}{'ABCD'[place]}"
        for n, (place, own) in enumerate(zip(right, WORDS, strict=True))
    ]
    made = evaluation(recipe, [], "\n".join([head, *lines]))
    engines = {"m": Engine.of(EngineSpec(name="m", kind="fake", model="m"))}
    study = made.study(made.params(models=["m"]), {}, engines)
    return any(row.metric == UNMIXED for row in study.further_rows())


SHOWN = "{{q}}\nA. {{options[0]}}\nB. {{options[1]}}\nC. {{options[2]}}\nD. {{options[3]}}\nAnswer:"
LETTER = {"doc_to_text": SHOWN, "doc_to_target": "{{['A','B','C','D'][answer]}}"}
TASKS: dict[str, dict[str, Any]] = {
    "options": {"doc_to_text": SHOWN, "doc_to_choice": "options"},
    "letters": {"doc_to_text": SHOWN, "doc_to_choice": ["A", "B", "C", "D"]},
    "written letters": LETTER | {
        "output_type": "generate_until", "doc_to_choice": None,
        "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    },
}  # fmt: skip
UNSEEN = {"doc_to_text": "{{q}}\nAnswer:", "doc_to_choice": "options"}


@pytest.mark.parametrize(("right", "is_doubted"), [(ALWAYS_C, True), (MIXED, False)])
@pytest.mark.parametrize("options", [WORDS, NAMED])
@pytest.mark.parametrize("letters", [False, True])
def test_imported_sets(right: list[int], is_doubted: bool, options: list[list[str]], letters: bool) -> None:
    assert _imported(right, options, letters) is is_doubted


def test_imported_labels_that_never_change_have_no_order() -> None:
    assert not _imported([0] * 40, [["yes", "no"]] * 40, False)


@pytest.mark.parametrize(("right", "is_doubted"), [(ALWAYS_C, True), (MIXED, False)])
@pytest.mark.parametrize("task", TASKS)
def test_harness_sets(tmp_path: Path, right: list[int], is_doubted: bool, task: str) -> None:
    assert _harness(right, tmp_path, TASKS[task]) is is_doubted


def test_harness_options_that_no_prompt_shows_have_no_order(tmp_path: Path) -> None:
    assert not _harness(ALWAYS_C, tmp_path, UNSEEN)


@pytest.mark.parametrize(("right", "is_doubted"), [(ALWAYS_C, True), (MIXED, False)])
@pytest.mark.parametrize("recipe", ["choice", "short_answer"])
def test_recipes(right: list[int], is_doubted: bool, recipe: str) -> None:
    assert _recipe(right, recipe) is is_doubted


def test_the_doubt_of_an_imported_log_stands_beside_its_number(warehouse: Warehouse, tmp_path: Path) -> None:
    docs = [doc | {"label": 2} for doc in logs.documents(40)]
    call("import", logs.lm_eval(tmp_path, [1.0] * 40, docs=docs))
    (row,) = warehouse.query(
        "SELECT doubt, is_beyond_null FROM leaderboard_imported WHERE NOT is_null"
    ).to_dicts()
    assert row["doubt"] == "right options are not mixed: 100 % at one position"
    assert row["is_beyond_null"] is not True
