"""Reads dishes, rankings and marks from the user's folder; lists choices that FmLAMA (Zhou et al. 2025)
leaves open. Pickles are read as data: nothing in them is called.
"""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field

from scrapers.fmlama.parse import parse
from scrapers.model import ScrapeError
from tasks.packs.published import (
    BenchmarkError,
    PublishedRow,
    Text,
    passed_over,
    read_all,
    read_each,
    read_rows,
    validate,
)
from tasks.papers.fmlama.raw import is_filtered, text_of
from tasks.papers.reproduction import TRIED, Files, Options, SourceFiles, by_name, tried
from tasks.parsing import parse_json

SOURCES = by_name(
    SourceFiles(
        "dishes",
        ("*_dishes.jsonl", "*dishes*.jsonl", "fmlama*.jsonl"),
        "JSON Lines as published, any number of files: url, origin, origin_name, lang, sub_label, obj_label",
    ),
    SourceFiles(
        "rankings",
        ("result.pkl", "result.jsonl"),
        "as published, in folders MODEL/LANGUAGE/RELATION_TEMPLATE: a pickled list of records with ID, "
        "origin, ranks, obj_name, predicted; or one a line as JSON in result.jsonl, which is ours",
    ),
    SourceFiles(
        "marks",
        ("*_output.json",),
        "as published, a file an origin (France_output.json): JSON list of records with Dish, "
        "Gold_ingredients, Predicted_ingredient, direct_match, evaluated_output (Table 3, GPT-4o)",
    ),
    SourceFiles(
        "predictions",
        ("english_human_evaluation.json",),
        "as published (English_human_evaluation.json): origin -> records with dish, gold_ingredient, "
        "predicted_ingredient: Llama3's, which people marked",
    ),
)
POOLED = "pooled"
MOST_CANDIDATES = 100_000
TYPES = ("Direct Match", "Substitutability", "Missing Traditional Ingredient")


class FmlamaReproduced(Options):
    """Choices between published files and numbers, those of the authors' program first. Values of a list are
    tried in order until a cell's digits are met.
    """

    files: list[str] = Field(
        [],
        json_schema_extra=TRIED,
        description="which of a language's full files of dishes: 1, 2, … in the order of their paths, or "
        "pooled: all together; empty: each, then pooled",
    )
    england: list[Literal["uk", "apart"]] = tried(
        ["uk", "apart"],
        "dishes of England, Scotland and Wales: in the group of the U.K., as in runs, or in none",
    )
    dishes: list[Literal["groups", "all"]] = tried(
        ["groups", "all"],
        "dishes that ALL, candidates and common ingredients are taken from: those of the 14 "
        "groups, or all in the file",
    )
    baseline: list[Literal["hits", "top-ten", "equation-4"]] = tried(
        ["hits", "top-ten", "equation-4"],
        "rule of Dumb Base: hits: precisions at the hits divided by the hits, without one "
        "1 / (candidates + 1); top-ten: equation 4 on the ten alone; equation-4: on all candidates, others "
        "tied",
    )
    top: int = Field(10, ge=1, description="number of ingredients that the baseline names")
    ties: list[Literal["file", "name", "fitted"]] = tried(
        ["file", "name", "fitted"],
        "which of equally common ingredients comes first: the one that the file names first, the first in "
        "code-point order, or fitted: for each cell, whichever gives its printed digits",
    )
    own_dish: Literal["counted", "left-out"] = Field(
        "counted", description="whether a dish counts towards the frequency of its own ingredients"
    )
    denominator: list[Literal["ranked", "listed"]] = tried(
        ["ranked", "listed"],
        "what models' precisions are divided by: ingredients among the candidates, or all of the dish",
    )
    rounding: list[Literal["none", "templates"]] = tried(
        ["none", "templates"],
        "whether each template's mAP in percent is rounded to two digits before the mean",
    )
    relation: str = Field(
        "hasParts",
        description="folders of rankings that are read: hasParts, or country, where templates name it",
    )
    template: list[str] = tried(
        ["2", "1", "3", "4", "5"], "template whose ranks Table 14 shows: the paper does not say"
    )
    mes: list[Literal["types", "correct"]] = tried(
        ["types", "correct"],
        "what MES counts: types: each of the three types that a mark Correct names, none, one or "
        "more; correct: each mark Correct once",
    )
    cv: list[Literal["with-all", "origins"]] = tried(
        ["with-all", "origins"],
        "coefficient of variation with the row ALL as one more origin, or over the origins",
    )
    names: dict[str, str] = Field(
        {}, description="folder of a model's rankings = model in the paper; the authors' folders are known"
    )
    word_vectors: str | None = Field(
        None, description="for mWS: a fastText .vec or .bin file; {language} in its path stands for en, zh …"
    )
    bert_vectors: str | None = Field(
        None, description="for Table 8: the folder or id of a sentence-transformers model, or a .vec file"
    )
    seed: int = Field(0, ge=0, description="seed of the random rankings behind the null of Dumb Base")


@dataclass(frozen=True)
class FileDish:
    """A dish in a file, with ingredients in the file's order."""

    url: str
    origin: str
    ingredients: tuple[str, ...]


class RankedDish(PublishedRow):
    """A model's ranking for a dish under one template; ranks and places are of its ingredients, from 0."""

    id: Text
    subj_name: str = ""
    places: dict[str, int] = Field(default_factory=dict)
    origin: Text
    ranks: tuple[Annotated[int, Field(ge=0, le=MOST_CANDIDATES)], ...]
    obj_name: tuple[str, ...] = Field(min_length=1)
    predicted: tuple[str, ...]
    n_candidates: int = Field(le=MOST_CANDIDATES)


class MarkedDish(PublishedRow):
    """A dish with a judge's marks, stored as the text of a dictionary."""

    gold_ingredients: tuple[str, ...]
    predicted_ingredient: tuple[str, ...] = Field(min_length=1)
    direct_match: tuple[str, ...] = ()
    evaluated_output: str = ""


class PredictedDish(PublishedRow):
    """A dish with a model's first predictions, one per ingredient."""

    gold_ingredient: tuple[str, ...] = Field(min_length=1)
    predicted_ingredient: tuple[str, ...] = Field(min_length=1)

    @property
    def direct(self) -> float:
        """Return the share of predictions that are in the reference."""
        return len(set(self.predicted_ingredient) & set(self.gold_ingredient)) / len(
            self.predicted_ingredient
        )


@dataclass(frozen=True)
class Ranking:
    """All dishes under one template of one model."""

    model: str
    language: str
    template: str
    dishes: tuple[RankedDish, ...]

    @property
    def urls(self) -> frozenset[str]:
        """The dishes' identifiers."""
        return frozenset(dish.id for dish in self.dishes)


@dataclass(frozen=True)
class FmlamaFiles:
    """The folder's content.

    Attributes:
        dishes: language -> file -> its dishes, in their order; full sets only.
        rankings: over full sets only.
        marks: origin -> its dishes.
        predictions: origin -> its dishes, with one model's predictions and no marks.
        aligned: languages that have files of aligned dishes (the same dishes in each language), which no
            printed cell uses.
        memo: cache of computed values.
    """

    dishes: Mapping[str, Mapping[str, Sequence[FileDish]]]
    rankings: tuple[Ranking, ...]
    marks: Mapping[str, tuple[MarkedDish, ...]]
    predictions: Mapping[str, tuple[PredictedDish, ...]] = field(default_factory=dict)
    aligned: frozenset[str] = frozenset()
    memo: dict[Any, Any] = field(default_factory=dict)

    def chosen(self, language: str, files: str) -> Sequence[FileDish] | None:
        """Return the dishes of a language's n-th full file, or of all full files, each URL once; None: no
        such file.
        """
        of = list(self.dishes.get(language, {}).values())
        if files == POOLED:
            pooled = {dish.url: dish for some in reversed(of) for dish in reversed(some)}
            return list(reversed(pooled.values())) if of else None
        return of[int(files) - 1] if files.isdigit() and 0 < int(files) <= len(of) else None


def read(files: Files, options: FmlamaReproduced) -> tuple[FmlamaFiles, Sequence[str]]:
    """Read all files of the folder. Raises ValueError, which names the file and its fault."""
    notes: list[str] = []
    dishes: dict[str, dict[str, list[FileDish]]] = {}
    parsed = read_each(files["dishes"], _parsed, notes)
    for path, (frame, dropped) in parsed.items():
        notes += [f"{path.name}: {n} left out: {reason}" for reason, n in dropped.items()]
        for row in frame.iter_rows(named=True):
            dish = FileDish(row["url"], row["origin"], tuple(row["ingredients"]))
            dishes.setdefault(row["language"], {}).setdefault(str(path), []).append(dish)
    full, aligned = _apart(dishes)
    for language, of in full.items():
        if len(of) > 1:
            named = "; ".join(f"{number} {path}" for number, path in enumerate(of, start=1))
            notes.append(f"files of {language}: {named}")
    if aligned:
        languages = ", ".join(sorted({language for language, _ in aligned}))
        notes.append(f"aligned dishes, of which the paper prints no number, are left out: {languages}")
    wanted = [path for path in files["rankings"] if _is_wanted(path, options)]
    # No file is skipped, since a cell is a mean over templates and would change without one.
    rankings = [_ranking(path, notes) for path in wanted]
    of_aligned = {urls for urls in aligned.values() if urls}
    rankings = [ranking for ranking in rankings if ranking.urls not in of_aligned]
    marks = {}
    for path, (valid, lost) in read_each(
        files["marks"], lambda path: read_all([path], MarkedDish), notes
    ).items():
        notes += lost
        marks[path.name.removesuffix("_output.json")] = tuple(valid)
    of_aligned_files = frozenset(language for language, _ in aligned)
    predictions = _predictions(files.get("predictions", ()), notes)
    return FmlamaFiles(full, tuple(rankings), marks, predictions, of_aligned_files), notes


def _parsed(path: Path) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the dishes of a file in any known encoding; raises BenchmarkError."""
    try:
        return parse({str(path): text_of(path).encode()}, in_order=True)
    except ScrapeError as error:
        raise BenchmarkError(str(error)) from error


def _predictions(paths: Sequence[Path], notes: list[str]) -> dict[str, tuple[PredictedDish, ...]]:
    """Return origin -> dishes with predictions, of the first file that can be read; notes list what does not
    fit.
    """
    dishes: dict[str, tuple[PredictedDish, ...]] = {}
    for path, by_origin in list(read_each(paths, _by_origin, notes).items())[:1]:
        for origin, records in by_origin.items():
            rows = [row for row in records if isinstance(row, dict)] if isinstance(records, list) else []
            if not rows:
                notes.append(f"{path.name}: nothing of {origin}")
                continue
            try:
                valid, lost = validate(f"{path}, {origin}", rows, PredictedDish)
            except BenchmarkError as error:
                notes.append(passed_over(path, error))
                continue
            notes += [f"{path.name}, {origin}: {n} dishes left out: {why}" for why, n in lost.items()]
            dishes[str(origin)] = tuple(valid)
    return dishes


def _by_origin(path: Path) -> dict[str, Any]:
    try:
        by_origin = parse_json(text_of(path))
    except BenchmarkError:
        raise
    except ValueError as error:
        raise BenchmarkError(f"{path}: not JSON: {error}") from error
    if not isinstance(by_origin, dict):
        raise BenchmarkError(f"{path}: expected an object of origins")
    return by_origin


ByFile = Mapping[str, Mapping[str, Sequence[FileDish]]]
"""Language -> file -> its dishes."""


def _apart(
    dishes: ByFile,
) -> tuple[dict[str, dict[str, Sequence[FileDish]]], dict[tuple[str, str], frozenset[str]]]:
    """Return the full sets, and (language, file) -> URLs for files of aligned dishes. A file has aligned
    dishes if a name on its path says so (data_filter), or if a file of another language has exactly the same
    dishes.
    """
    urls = {
        (language, path): frozenset(dish.url for dish in of)
        for language, by_path in dishes.items()
        for path, of in by_path.items()
    }
    languages: dict[frozenset[str], set[str]] = {}
    for (language, _), of in urls.items():
        languages.setdefault(of, set()).add(language)
    aligned = {key: of for key, of in urls.items() if is_filtered(Path(key[1])) or len(languages[of]) > 1}
    full = {
        language: {path: of for path, of in by_path.items() if (language, path) not in aligned}
        for language, by_path in dishes.items()
    }
    return {language: by_path for language, by_path in full.items() if by_path}, aligned


def complete(content: FmlamaFiles, options: FmlamaReproduced) -> FmlamaReproduced:
    """Return the options with every file of a language to try, then all together, unless files are chosen."""
    if options.files:
        return options
    most = max((len(of) for of in content.dishes.values()), default=1)
    numbers = [str(number) for number in range(1, most + 1)]
    return options.model_copy(update={"files": numbers + [POOLED] * (most > 1)})


def marks_of(dish: MarkedDish) -> dict[str, tuple[str, str]]:
    """Return marked predicted ingredient -> (mark, reason); direct matches are correct. Dishes with only
    direct matches were not judged. The judge's text is a Python literal or JSON.
    """
    direct = dict.fromkeys(dish.direct_match, ("Correct", TYPES[0]))
    written: Any = {}
    if len(direct) != len(dish.predicted_ingredient):
        match = re.search(r"\{.*\}", dish.evaluated_output, re.DOTALL)
        written = _literal(match[0]) if match else {}
    pairs = written.items() if isinstance(written, dict) else ()
    marks = {
        str(name): (str(mark[0]), str(mark[1]))
        for name, mark in pairs
        if isinstance(mark, list | tuple) and len(mark) >= 2
    }
    return {name: mark for name, mark in (marks | direct).items() if name in dish.predicted_ingredient}


def _literal(text: str) -> Any:
    for parse_it in (ast.literal_eval, parse_json):
        try:
            return parse_it(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            continue
    return {}


def _is_wanted(path: Path, options: FmlamaReproduced) -> bool:
    """Return whether a folder belongs to a relation, as hasParts_1 belongs to hasParts."""
    return path.parent.name.rpartition("_")[0] == options.relation


def _ranking(path: Path, notes: list[str]) -> Ranking:
    template, language, model = path.parent.name, path.parent.parent.name, path.parent.parent.parent.name
    records = _unpickled(path) if path.suffix == ".pkl" else read_rows(path)
    if not records or not all(isinstance(record, dict) for record in records):
        raise BenchmarkError(f"{path}: expected a list of records")
    valid, lost = validate(str(path), [_few_predicted(record) for record in records], RankedDish)
    notes += [f"{model}/{language}/{template}: {n} dishes left out: {why}" for why, n in lost.items()]
    return Ranking(model, language, template, tuple(valid))


def _few_predicted(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with one prediction per ingredient; further ones are not used."""
    predicted, names = record.get("predicted"), record.get("obj_name")
    if isinstance(predicted, list | tuple) and isinstance(names, list | tuple):
        places = {n: predicted.index(n) for n in names if isinstance(n, str) and n in predicted}
        unused = {"probs": None, "prob_true": None, "n_candidates": len(predicted)}
        return {**record, **unused, "places": places, "predicted": predicted[: len(names)]}
    return dict(record)


class _Ignored:
    """Stand-in for numpy numbers in the records, which are not read."""

    def __init__(self, *arguments: Any) -> None: ...

    def __setstate__(self, state: Any) -> None: ...


class _Data(pickle.Unpickler):
    """Unpickler of lists, dictionaries, texts and numbers; it refuses everything else that a pickle would
    call.
    """

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] in ("numpy", "_codecs"):
            return _Ignored
        raise pickle.UnpicklingError(f"it would call {module}.{name}")


def _unpickled(path: Path) -> list[Any]:
    try:
        with path.open("rb") as file:
            records = _Data(file).load()
    except OSError as error:
        raise BenchmarkError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    except Exception as error:  # any error of a broken pickle
        raise BenchmarkError(f"{path}: not a pickle of plain records: {error}") from error
    if isinstance(records, dict):  # written by an older version of the authors' program
        records = records.get("list_of_results")
    return records if isinstance(records, list) else []
