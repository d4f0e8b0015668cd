"""FmLAMA's cells from small files of the published formats, by hand; each option changes its own numbers.

Six dishes: A, B, F from Italy, C, E from the United Kingdom, D from England. The baseline names two
ingredients here: x, which is in three dishes, and the first of z and y, which are in two each.
"""

from __future__ import annotations

import csv
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tasks.metrics.types import FloatArray
from tasks.papers.fmlama.files import FmlamaReproduced, MarkedDish, marks_of
from tasks.papers.fmlama.reproduction import REPRODUCTION
from tasks.papers.reproduction import PrintedCell, RecomputedCell, Tools, compare_cells, find_files
from tests.papers import reproduced

DISHES = {
    "A": ("Italy", ["x", "z"]),
    "B": ("Italy", ["x"]),
    "C": ("United Kingdom", ["y", "x"]),
    "E": ("United Kingdom", ["y"]),
    "F": ("Italy", ["z"]),
    "D": ("England", ["w"]),
}
GROUPS = [
    {"origin": "Italy", "origin_group": "Italy"},
    {"origin": "United Kingdom", "origin_group": "U.K."},
    {"origin": "England", "origin_group": "U.K."},
]
VECTORS = {"x": (1, 0), "y": (0, 1), "z": (1, 1)}


def embed(source: str, texts: Sequence[str]) -> FloatArray:
    return np.array([VECTORS[text] for text in texts], dtype=np.float64)


def lines(names: str) -> str:
    rows = [
        {"url": name, "origin": DISHES[name][0], "origin_name": "", "lang": "en", "sub_label": name,
         "obj_label": DISHES[name][1]}
        for name in names
    ]  # fmt: skip
    return "\n".join(json.dumps(row) for row in rows)


def numbers(path: Path, cells: Sequence[PrintedCell], **options: Any) -> list[RecomputedCell]:
    published, tables = [*OF_MODEL.values(), *cells], {"origin_group": GROUPS}
    opened = reproduced.opened(REPRODUCTION, path, published, tables, embed, **{"top": 2} | options)
    return [*map(opened.number, cells)]


def cell(metric: str, /, model: str = "", table: str = "Table 1(a)", **parts: str) -> PrintedCell:
    return reproduced.printed(table, metric, model, **parts)


DUMB = {o: cell("mAP (%)", "Dumb Base", origin=o) for o in ("Italy", "U.K.", "ALL")}
COUNTS = {f"n {o}": cell("Count", origin=o) for o in ("Italy", "U.K.", "ALL")}
BASELINE = DUMB | COUNTS
APART: dict[str, Any] = {"england": ["apart"]}


def values(path: Path, cells: dict[str, PrintedCell], **options: Any) -> dict[str, Any]:
    results = numbers(path, list(cells.values()), **options)
    rounded = (None if one.value is None else round(one.value, 2) for one in results)
    return dict(zip(cells, rounded, strict=True))


@pytest.fixture
def dishes(tmp_path: Path) -> Path:
    (tmp_path / "en_dishes.jsonl").write_text(lines("ABCEFD"))
    return tmp_path


def test_hand_calculation_gives_the_dumb_baseline(dishes: Path) -> None:
    """The baseline names x and z. Scores: A (1 + 1) / 2, B 1, C 1, E 1 / (3 + 1) without a hit, F 1 / 2."""
    assert values(dishes, BASELINE, **APART) == {
        "Italy": 83.33, "U.K.": 62.5, "ALL": 75.0, "n Italy": 3, "n U.K.": 2, "n ALL": 5,
    }  # fmt: skip
    percent = cell("Count (%)", origin="Italy")
    assert numbers(dishes, [percent], **APART)[0].value == 60.0


@pytest.mark.parametrize(
    ("options", "changed"),
    [
        # Divided by the ingredients: C 1 / 2, E 0
        ({"baseline": ["top-ten"]}, {"U.K.": 25.0, "ALL": 60.0}),
        # y comes third: C (1 + 2 / 3) / 2, E 1 / 3
        ({"baseline": ["equation-4"]}, {"U.K.": 58.33, "ALL": 73.33}),
        # The baseline names x and y: E 1 / 2, F 1 / 4
        ({"ties": ["name"]}, {"Italy": 75.0, "U.K.": 75.0}),
        # No order of y and z gives the printed 1.00, so the file's order stays
        ({"ties": ["fitted"]}, {}),
        # D is the U.K.'s, w a fourth candidate: E and D 1 / 5
        ({"england": ["uk"]}, {"U.K.": 46.67, "ALL": 65.0, "n U.K.": 3, "n ALL": 6}),
        ({"dishes": ["all"]}, {"U.K.": 60.0, "ALL": 65.0, "n ALL": 6}),
        ({"top": 1}, {"Italy": 75.0, "ALL": 70.0}),  # x alone: F 1 / 4
        ({"cv": ["origins"]}, {}),
    ],
)
def test_each_option_changes_its_own_numbers_only(
    dishes: Path, options: dict[str, Any], changed: dict[str, float]
) -> None:
    assert values(dishes, BASELINE, **APART | options) == values(dishes, BASELINE, **APART) | changed


def test_fitted_ties_are_broken_for_each_printed_cell(dishes: Path) -> None:
    """Italy has 75.0 and the U.K. 75.0 where y is named, 83.33 and 62.5 where z is."""
    cells = [
        DUMB[o]._replace(printed=f"{v}", value=v)
        for o, v in (("Italy", 75.0), ("Italy", 83.33), ("U.K.", 75.0), ("U.K.", 62.5), ("U.K.", 70.0))
    ]
    results = numbers(dishes, cells, **APART, ties=["fitted"])
    assert [round(one.value or 0, 2) for one in results] == [75.0, 83.33, 75.0, 62.5, 62.5]


def of_language(names: str, language: str) -> str:
    return lines(names).replace('"lang": "en"', f'"lang": "{language}"')


@pytest.mark.parametrize(
    "names",
    [
        {"en": "en_dishes.jsonl", "ru": "ru_dishes.jsonl"},  # the same dishes
        {"en": "data_filter/en/en_dishes.jsonl", "ru": "data_filter/ru/ru_dishes.jsonl"},
    ],
)
def test_aligned_dishes_give_no_number_of_the_full_tables(tmp_path: Path, names: dict[str, str]) -> None:
    """The full English file is read; Russian has no dishes, since its file is empty in the authors' clone."""
    dishes = {"en": "ABC", "ru": "ABC" if "/" not in names["ru"] else "AB"}
    files = {names[code]: of_language(dishes[code], code) for code in names}
    files |= {"data_lang/en/en_dishes.jsonl": lines("ABCEF"), "data_lang/ru/ru_dishes.jsonl": ""}
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    ranking = tmp_path / "out" / "bert-base_uncased" / "en" / "hasParts_1" / "result.jsonl"
    ranking.parent.mkdir(parents=True)
    record = {"ID": "", "origin": "Italy", "ranks": [0], "obj_name": ["x"], "predicted": ["x"]}
    ranking.write_text("\n".join(json.dumps(record | {"ID": name}) for name in "ABC"))
    english, russian = cell("Count", origin="Italy"), cell("Count", table="Table 13(a)", origin="Italy")
    (full, none, model) = numbers(tmp_path, [english, russian, OF_MODEL["Italy"]])
    assert full.value == 3
    assert none.reason == "no full file of ru: its files have aligned dishes"
    assert model.value is None


def test_parts_of_the_united_kingdom_are_one_group_as_in_runs(dishes: Path) -> None:
    """Both use one table of groups; a separate England is also tried, and named for a cell that needs it."""
    everything = "".join(DISHES)
    (dishes / "en_dishes.jsonl").write_text(lines(everything))
    of_runs = {group["origin"]: group["origin_group"] for group in GROUPS}
    n = sum(of_runs[DISHES[name][0]] == "U.K." for name in everything)
    cells = [cell("Count", origin="U.K.")._replace(printed=text, value=float(text)) for text in (f"{n}", "2")]
    content, _ = REPRODUCTION.read(find_files(dishes, REPRODUCTION.sources), FmlamaReproduced())
    tools = Tools({"origin_group": GROUPS}, embed)
    rows, _ = compare_cells(REPRODUCTION, content, FmlamaReproduced(), tools, cells)
    assert [(row.agreement, row.needs) for row in rows] == [("equal", ""), ("equal", "--england apart")]


def test_the_null_of_the_baseline_is_random_ingredients(dishes: Path) -> None:
    """All three are named: in a random order B and F have (1 + 1 / 2 + 1 / 3) / 3 = 0.611 in the mean."""
    (dishes / "en_dishes.jsonl").write_text(lines("BEF"))
    (italy,) = numbers(dishes, [cell("mAP (%)", "Dumb Base", origin="Italy")], baseline=["equation-4"], top=3)
    assert italy.null is not None
    assert 45 < italy.null < 78  # of 20 draws for two dishes: 61.1, and 4.3 for one standard deviation
    assert italy.null_name == "ten at random"


def test_several_files_are_read_one_by_one_or_pooled(tmp_path: Path) -> None:
    for folder, names in (("a", "AB"), ("b", "BCE")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "en_dishes.jsonl").write_text(lines(names))
    every = {name: cell("Count", origin=name) for name in ("Italy", "U.K.")}
    assert values(tmp_path, every, files=["1"]) == {"Italy": 2, "U.K.": 0}
    assert values(tmp_path, every, files=["2"]) == {"Italy": 1, "U.K.": 2}
    assert values(tmp_path, every, files=["pooled"]) == {"Italy": 2, "U.K.": 2}  # B counts once
    assert values(tmp_path, every, files=["3"]) == {"Italy": None, "U.K.": None}
    content, notes = REPRODUCTION.read(find_files(tmp_path, REPRODUCTION.sources), FmlamaReproduced())
    assert REPRODUCTION.complete(content, FmlamaReproduced()).files == ["1", "2", "pooled"]
    assert notes[0].startswith("files of en: 1 ")


def ranked(dish: str, ranks: list[int], predicted: str) -> dict[str, Any]:
    origin, names = DISHES[dish]
    return {"ID": dish, "subj_name": dish, "origin": origin, "ranks": ranks, "obj_name": names,
            "predicted": list(predicted), "probs": [np.float64(0.5)],
            "prob_true": [("x", np.float32(0.5), 0)]}  # fmt: skip


@pytest.fixture
def models(dishes: Path) -> Path:
    """Two templates. A: ranks 0 and 2 of x z, then 0 and 1. C: only y is a candidate, at 1, then at 0."""
    templates = {
        "hasParts_1": [ranked("A", [0, 2], "xyz"), ranked("C", [1], "zyx")],
        "hasParts_2": [ranked("A", [0, 1], "xzy"), ranked("C", [0], "yzx")],
        "country_1": [ranked("A", [2], "yzx")],
    }
    for template, records in templates.items():
        folder = dishes / "output" / "bert-base_uncased" / "en" / template
        folder.mkdir(parents=True)
        (folder / "result.pkl").write_bytes(pickle.dumps(records))
    return dishes


OF_MODEL = {
    "Italy": cell("mAP (%)", "Bb", origin="Italy"),
    "sd": cell("mAP (%) sd", "Bb", origin="Italy"),
    "U.K.": cell("mAP (%)", "Bb", origin="U.K."),
    "ALL": cell("mAP (%)", "Bb", origin="ALL"),
    "mean": cell("mAP (%)", "Avg.", origin="U.K."),
    "cv": cell("Coefficient of Variation (CV)", "Bb"),
    "mWS": cell("mWS", "Bb", "Table 1(b)", origin="Italy"),
    "correlation": cell("Correlation", "Bb", "Table 2", metric="mAP"),
}


def test_hand_calculation_gives_numbers_of_models(models: Path) -> None:
    """A: (1 + 2 / 3) / 2, then 1. C: 1 / 2, then 1, for one candidate. Two origins have the correlation 1:
    Italy has three dishes and the higher mAP."""
    # CV: standard deviation of 91.667, 75 and 83.333 over their mean: 8.333 / 83.333
    results = values(models, OF_MODEL, **APART)
    assert results == {
        "Italy": 91.67, "sd": 11.79, "U.K.": 75.0, "ALL": 83.33, "mean": 75.0, "cv": 10.0, "mWS": None,
        "correlation": 1.0,
    }  # fmt: skip
    listed = values(models, OF_MODEL, **APART, denominator=["listed"])
    assert listed["U.K."] == 37.5
    assert listed["Italy"] == results["Italy"]
    # 8.333 * sqrt 2 / 83.333
    assert values(models, OF_MODEL, **APART, cv=["origins"]) == results | {"cv": 14.14}
    assert values(models, OF_MODEL, **APART, cv=["population"]) == results | {"cv": 10.0}  # 8.333 / 83.333
    assert values(models, OF_MODEL, **APART, relation="country")["Italy"] == 33.33
    (italy,) = numbers(models, [OF_MODEL["Italy"]], rounding=["templates"])
    assert italy.value == pytest.approx((83.33 + 100) / 2)
    # Two of three at random: (H + (2 - 1) / (3 - 1) * (3 - H)) / 3 with H = 11 / 6
    assert italy.null == pytest.approx(100 * (11 / 6 + (3 - 11 / 6) / 2) / 3)


def test_hand_calculation_gives_ranks_of_single_ingredients(models: Path) -> None:
    """z is third under the first template, second under the second; of three the middle is 1."""
    of = {"subject (dish)": "a", "involved object (ingredients)": "z"}
    rank = cell("Rank", "Bb", "Table 14", id="0", **of)
    (second,), (first,) = (numbers(models, [rank], template=[t]) for t in ("2", "1"))
    assert (second.value, first.value, first.null) == (1.0, 2.0, 1.0)
    assert numbers(models, [rank], template=["9"])[0].value is None


def test_hand_calculation_gives_word_similarity(models: Path) -> None:
    """A has x z; the first two are x y, then x z. x: 1; z: its cosine to either is sqrt 0.5, then 1."""
    root = np.sqrt(0.5)
    (italy,) = numbers(models, [OF_MODEL["mWS"]], word_vectors="v.vec")
    assert italy.value == pytest.approx(((1 + root) / 2 + 1) / 2)
    assert italy.null is not None
    assert root < italy.null < 1
    table8 = cell("mWS", "Bb", "Table 8", origin="Italy")
    assert numbers(models, [table8], word_vectors="v.vec")[0].reason == "no vectors of BERT (--bert-vectors)"
    assert numbers(models, [table8], bert_vectors="b.vec")[0].value == italy.value


def test_rankings_are_read_from_json_lines_and_models_renamed(models: Path) -> None:
    folder = models / "output" / "mine" / "en" / "hasParts_1"
    folder.mkdir(parents=True)
    record = {n: v for n, v in ranked("A", [0, 1], "xzy").items() if not n.startswith("prob")}
    (folder / "result.jsonl").write_text(json.dumps(record))
    for path in (models / "output").rglob("*.pkl"):
        path.unlink()
    (llama,) = numbers(models, [cell("mAP (%)", "Llama3", origin="Italy")], names={"mine": "Llama3"})
    assert llama.value == 100.0


class Evil:
    """A pickle that would call any function when it is unpickled."""

    def __reduce__(self) -> Any:
        return Path.touch, (Path("/tmp/never"),)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (pickle.dumps([Evil()]), r"result.pkl: not a pickle of plain records: it would call pathlib\.Path"),
        (b"\x80\x04", "not a pickle of plain records"),
        (pickle.dumps(7), "expected a list of records"),
        (pickle.dumps([{"ID": "A"}]), "none of 1 rows fits"),
        (pickle.dumps([{"ID": "A", "obj_name": [["x"]], "predicted": [["x"]]}]), "none of 1 rows fits"),
        (pickle.dumps([ranked("A", [-1], "x")]), "none of 1 rows fits"),
    ],
)
def test_a_hostile_or_broken_pickle_is_refused(models: Path, content: bytes, complaint: str) -> None:
    (models / "output" / "bert-base_uncased" / "en" / "hasParts_1" / "result.pkl").write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        numbers(models, [OF_MODEL["Italy"]])
    assert not Path("/tmp/never").exists()


MARKS = [
    {"Dish": "1", "Gold_ingredients": ["a"], "Predicted_ingredient": ["a", "b"], "direct_match": ["a"],
     "evaluated_output": '```\n{"b": ("Correct", "Substitutability, Missing Traditional Ingredient")}\n```'},
    {"Dish": "2", "Gold_ingredients": ["c"], "Predicted_ingredient": ["c"], "direct_match": ["c"],
     "evaluated_output": "I am sorry"},
    {"Dish": "3", "Gold_ingredients": ["e"], "Predicted_ingredient": ["d"], "direct_match": [],
     "evaluated_output": '{"d": ["Correct", "common"], "not asked": ["Correct", "Direct Match"]}'},
]  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_dishes_in_other_encodings_are_read_beside_junk(tmp_path: Path, encoding: str) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "en_dishes.jsonl").write_bytes(lines("ABCEFD").encode(encoding))
    for name, content in (("ar", b""), ("he", b'{"url": 1}'), ("ru", b"\xff\xfe{\x00"), ("ko", b"\x00")):
        (folder / f"{name}_dishes.jsonl").write_bytes(content)
    assert values(tmp_path, COUNTS) == {"n Italy": 3, "n U.K.": 3, "n ALL": 6}


def test_mes_counts_types_or_marks(tmp_path: Path) -> None:
    """By type: (1 + 2) / 2, 1, and 0 without a type; by mark: 1, 1, 1; direct matches: 1 / 2, 1, 0."""
    (tmp_path / "Italy_output.json").write_text(json.dumps(MARKS))
    (tmp_path / "United Kingdom_output.json").write_text(json.dumps(MARKS[1:2]))
    cells = {
        o: cell("MES", "Llama3", "Table 3", origin=o, evaluator="GPT-4o") for o in ("Italy", "U.K.", "All")
    }
    assert values(tmp_path, cells) == {"Italy": 83.33, "U.K.": 100.0, "All": 87.5}
    assert values(tmp_path, cells, mes=["correct"]) == {"Italy": 100.0, "U.K.": 100.0, "All": 100.0}
    assert numbers(tmp_path, [cells["Italy"]])[0].null == pytest.approx(50.0)
    human = cell("MES", "Llama3", "Table 3", origin="Italy", evaluator="Human")
    assert numbers(tmp_path, [human])[0].value is None


def test_hand_calculation_gives_predictions_marked_by_people(tmp_path: Path) -> None:
    """Direct matches: 1 / 2 and 0 of Italy's, 1 of the U.K.'s."""
    rows = {
        "Italy": [
            {"dish": "1", "gold_ingredient": ["a", "b"], "predicted_ingredient": ["a", "c"]},
            {"dish": "2", "gold_ingredient": ["a"], "predicted_ingredient": ["c"]},
            {"dish": "3", "gold_ingredient": []},
        ],
        "United Kingdom": [{"dish": "4", "gold_ingredient": ["a"], "predicted_ingredient": ["a"]}],
        "Peru": [],
    }
    (tmp_path / "English_human_evaluation.json").write_text(json.dumps(rows))
    results = reproduced.further(REPRODUCTION, tmp_path, {"origin_group": GROUPS})
    by_origin = {key[2]: (one.value, one.n) for key, one in results.items()}
    assert by_origin == {"Italy": (25.0, 2), "U.K.": (100.0, 1), "All": (50.0, 3)}
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "English_human_evaluation.json").write_text("{")  # the first of two, and broken
    assert reproduced.further(REPRODUCTION, tmp_path, {"origin_group": GROUPS}) == results
    (tmp_path / "English_human_evaluation.json").write_text("[1]")
    (tmp_path / "a" / "English_human_evaluation.json").write_text("[1]")
    with pytest.raises(ValueError, match="expected an object of origins"):
        numbers(tmp_path, [])


@pytest.mark.parametrize("text", ["{" * 9999, "{'b': __import__('os')}", "{'b': 1}", "{1: (2,)}", "nothing"])
def test_text_of_a_judge_is_never_executed(text: str) -> None:
    dish = MarkedDish(gold_ingredients=("a",), predicted_ingredient=("b",), evaluated_output=text)
    assert marks_of(dish) == {}


def test_printed_variations_are_those_of_the_printed_means() -> None:
    """Models: ddof 1 with ALL as one more origin; Dumb Base: ddof 0 over the 14 origins."""
    printed_cells: dict[str, dict[tuple[str, str], float]] = {}
    with Path("warehouse/reference/published_result.csv").open(encoding="utf-8", newline="") as file:
        for paper, table, model, part, metric, _, value, *_ in csv.reader(file):
            if (paper, table) == ("fmlama", "Table 1(a)"):
                printed_cells.setdefault(model, {})[part, metric] = float(value)
    checked = 0
    for model, cells in printed_cells.items():
        variation = cells.get(("", "Coefficient of Variation (CV)"))
        means = [value for (part, metric), value in cells.items() if metric == "mAP (%)" and part]
        if variation is None or not means:
            continue
        own = [value for (part, _), value in cells.items() if part == "origin=ALL" and _ == "mAP (%)"]
        origins = [value for value in means if value not in own] if model == "Dumb Base" else means
        ddof = 0 if model == "Dumb Base" else 1
        assert 100 * np.std(origins, ddof=ddof) / np.mean(origins) == pytest.approx(variation, abs=0.021)
        checked += 1
    assert checked == 9
