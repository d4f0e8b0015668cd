"""Reads dishes, rankings and marks from the user's folder; lists choices that FmLAMA (Zhou et al. 2025)
leaves open. Pickles are read as data: no code in them is run.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field

from scrapers.fmlama import parse
from scrapers.model import ScrapeError
from tasks.data import TableError
from tasks.data.text import text
from tasks.loop.objects import objects, plain_value
from tasks.packs.published import (
    PublishedRow,
    Text,
    read_all,
    read_each,
    read_rows,
    skipped_note,
    validate,
)
from tasks.papers.fmlama.raw import is_filtered
from tasks.papers.reproduction import TRIED, Files, Options, SourceFiles, by_name, tried_field
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
        "origin, ranks, obj_name, predicted; or in our format, one JSON record per line of result.jsonl",
    ),
    SourceFiles(
        "marks",
        ("*_output.json",),
        "as published, one file per origin (France_output.json): JSON list of records with Dish, "
        "Gold_ingredients, Predicted_ingredient, direct_match, evaluated_output (Table 3, GPT-4o)",
    ),
    SourceFiles(
        "predictions",
        ("english_human_evaluation.json",),
        "as published (English_human_evaluation.json): origin -> records with dish, gold_ingredient, "
        "predicted_ingredient (Llama3's, which people marked)",
    ),
)
POOLED = "pooled"
MOST_CANDIDATES = 100_000
TYPES = ("Direct Match", "Substitutability", "Missing Traditional Ingredient")


class FmlamaReproduced(Options):
    """Choices that lead from the published files to the numbers, the authors' program's first. Values of a
    list are tried in order until a cell's digits are met.
    """

    files: list[str] = Field(
        [],
        json_schema_extra=TRIED,
        description="which of several full files of a language's dishes to use: 1, 2, … (sorted by path), "
        "or pooled (all together); default: each in turn, then pooled",
    )
    england: list[Literal["uk", "apart"]] = tried_field(
        ["uk", "apart"],
        "group of the dishes of England, Scotland and Wales: that of the U.K., as in runs, or none",
    )
    dishes: list[Literal["groups", "all"]] = tried_field(
        ["groups", "all"],
        "dishes that define ALL, candidates and common ingredients: those of the 14 groups, or all in the "
        "file",
    )
    baseline: list[Literal["hits", "top-ten", "equation-4"]] = tried_field(
        ["hits", "top-ten", "equation-4"],
        "rule of Dumb Base: hits: sum of the precisions at the hits over the number of hits, or 1 / "
        "(candidates + 1) without a hit; top-ten: equation 4 on the ten alone; equation-4: on all "
        "candidates, the others tied",
    )
    top: int = Field(10, ge=1, description="number of ingredients that the baseline names")
    ties: list[Literal["file", "name", "fitted"]] = tried_field(
        ["file", "name", "fitted"],
        "order of equally common ingredients: that of the file, of code points (name), or fitted: for each "
        "cell, the one that gives its printed digits",
    )
    denominator: list[Literal["ranked", "listed"]] = tried_field(
        ["ranked", "listed"],
        "divisor of models' precisions: the dish's ingredients among the candidates, or all of them",
    )
    rounding: list[Literal["none", "templates"]] = tried_field(
        ["none", "templates"],
        "whether each template's mAP in percent is rounded to two digits before the mean",
    )
    relation: str = Field(
        "hasParts",
        description="folders of rankings to read: hasParts, or country (templates that name the country)",
    )
    template: list[str] = tried_field(
        ["2", "1", "3", "4", "5"], "template whose ranks Table 14 shows, which the paper does not name"
    )
    mes: list[Literal["types", "correct"]] = tried_field(
        ["types", "correct"],
        "counting rule of MES: types: every one of the three types that a mark Correct names; correct: "
        "each mark Correct once",
    )
    cv: list[Literal["with-all", "population", "origins"]] = tried_field(
        ["with-all", "population", "origins"],
        "coefficient of variation with the row ALL as one more origin (the models), with ddof 0 over the "
        "origins (Dumb Base), or with ddof 1 over the origins",
    )
    names: dict[str, str] = Field(
        {}, description="folder of a model's rankings = model in the paper; the authors' folders are known"
    )
    word_vectors: str | None = Field(
        None, description="for mWS: a fastText .vec file; {language} in its path stands for en, zh …"
    )
    bert_vectors: str | None = Field(
        None, description="for Table 8: the folder or id of a sentence-transformers model, or a .vec file"
    )
    seed: int = Field(0, ge=0, description="seed of the random rankings behind the null of Dumb Base")


@dataclass(frozen=True)
class FileDish:
    """A dish of a file, with ingredients in the file's order."""

    url: str
    origin: str
    ingredients: tuple[str, ...]


class RankedDish(PublishedRow):
    """A model's ranking for a dish under one template. ranks, places: of the dish's ingredients, from 0."""

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
        """Return the share of predictions in the reference."""
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
        dishes: language -> file -> its dishes, in order; full sets only.
        rankings: rankings of full sets only.
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
        """Return the dishes of a language's n-th full file, or of all, each URL once; None without a file."""
        dishes_by_file = list(self.dishes.get(language, {}).values())
        if files == POOLED:
            pooled = {dish.url: dish for dishes in reversed(dishes_by_file) for dish in reversed(dishes)}
            return list(reversed(pooled.values())) if dishes_by_file else None
        return (
            dishes_by_file[int(files) - 1]
            if files.isdigit() and 0 < int(files) <= len(dishes_by_file)
            else None
        )


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
    full, aligned = _separated(dishes)
    for language, by_path in full.items():
        if len(by_path) > 1:
            listed = "; ".join(f"{number} {path}" for number, path in enumerate(by_path, start=1))
            notes.append(f"files of {language}: {listed}")
    if aligned:
        languages = ", ".join(sorted({language for language, _ in aligned}))
        notes.append(f"aligned dishes are left out, as the paper prints no number for them: {languages}")
    paths = [path for path in files["rankings"] if _is_wanted(path, options)]
    # No file is skipped: a cell is a mean over templates, which would change without one.
    rankings = [_ranking(path, notes) for path in paths]
    aligned_urls = {urls for urls in aligned.values() if urls}
    rankings = [ranking for ranking in rankings if ranking.urls not in aligned_urls]
    marks = {}
    for path, (valid, lost) in read_each(
        files["marks"], lambda path: read_all([path], MarkedDish), notes
    ).items():
        notes += lost
        marks[path.name.removesuffix("_output.json")] = tuple(valid)
    aligned_languages = frozenset(language for language, _ in aligned)
    predictions = _predictions(files.get("predictions", ()), notes)
    return FmlamaFiles(full, tuple(rankings), marks, predictions, aligned_languages), notes


def _parsed(path: Path) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the dishes of a file; raises TableError."""
    try:
        return parse({str(path): text(path).encode()}, in_order=True)
    except ScrapeError as error:
        raise TableError(str(error)) from error


def _predictions(paths: Sequence[Path], notes: list[str]) -> dict[str, tuple[PredictedDish, ...]]:
    """Return origin -> dishes with predictions, from the first readable file; notes list what is left out."""
    dishes: dict[str, tuple[PredictedDish, ...]] = {}
    for path, by_origin in list(read_each(paths, _by_origin, notes).items())[:1]:
        for origin, records in by_origin.items():
            rows = [row for row in records if isinstance(row, dict)] if isinstance(records, list) else []
            if not rows:
                notes.append(f"{path.name}: no records for {origin}")
                continue
            try:
                valid, lost = validate(f"{path}, {origin}", rows, PredictedDish)
            except TableError as error:
                notes.append(skipped_note(path, error))
                continue
            notes += [f"{path.name}, {origin}: {n} dishes left out: {why}" for why, n in lost.items()]
            dishes[str(origin)] = tuple(valid)
    return dishes


def _by_origin(path: Path) -> dict[str, Any]:
    try:
        by_origin = parse_json(text(path))
    except TableError:
        raise
    except ValueError as error:
        raise TableError(f"{path}: not JSON: {error}") from error
    if not isinstance(by_origin, dict):
        raise TableError(f"{path}: expected an object of origins")
    return by_origin


ByFile = Mapping[str, Mapping[str, Sequence[FileDish]]]
"""Language -> file -> its dishes."""


def _separated(
    dishes: ByFile,
) -> tuple[dict[str, dict[str, Sequence[FileDish]]], dict[tuple[str, str], frozenset[str]]]:
    """Return the full sets, and (language, file) -> URLs for files of aligned dishes. A file has aligned
    dishes if a name on its path says so (data_filter), or if a file of another language has exactly the same
    dishes.
    """
    urls = {
        (language, path): frozenset(dish.url for dish in dishes_of_file)
        for language, by_path in dishes.items()
        for path, dishes_of_file in by_path.items()
    }
    languages: dict[frozenset[str], set[str]] = {}
    for (language, _), dishes_of_file in urls.items():
        languages.setdefault(dishes_of_file, set()).add(language)
    aligned = {
        key: dishes_of_file
        for key, dishes_of_file in urls.items()
        if is_filtered(Path(key[1])) or len(languages[dishes_of_file]) > 1
    }
    full = {
        language: {
            path: dishes_of_file
            for path, dishes_of_file in by_path.items()
            if (language, path) not in aligned
        }
        for language, by_path in dishes.items()
    }
    return {language: by_path for language, by_path in full.items() if by_path}, aligned


def complete(content: FmlamaFiles, options: FmlamaReproduced) -> FmlamaReproduced:
    """Return the options with every file of a language to try, then all together, unless files are chosen."""
    if options.files:
        return options
    most = max((len(by_path) for by_path in content.dishes.values()), default=1)
    numbers = [str(number) for number in range(1, most + 1)]
    return options.model_copy(update={"files": numbers + [POOLED] * (most > 1)})


def marks_of(dish: MarkedDish) -> dict[str, tuple[str, str]]:
    """Return marked predicted ingredient -> (mark, reason); direct matches are correct. Dishes with only
    direct matches were not judged. The judge's text is a Python literal or JSON.
    """
    direct = dict.fromkeys(dish.direct_match, ("Correct", TYPES[0]))
    judged: Any = {}
    if len(direct) != len(dish.predicted_ingredient):
        found = objects(dish.evaluated_output)
        judged = plain_value(found[-1].pairs) if found else {}
    pairs = judged.items() if isinstance(judged, dict) else ()
    marks = {
        str(name): (str(mark[0]), str(mark[1]))
        for name, mark in pairs
        if isinstance(mark, list | tuple) and len(mark) >= 2
    }
    return {name: mark for name, mark in (marks | direct).items() if name in dish.predicted_ingredient}


def _is_wanted(path: Path, options: FmlamaReproduced) -> bool:
    """Return whether a folder belongs to a relation, as hasParts_1 belongs to hasParts."""
    return path.parent.name.rpartition("_")[0] == options.relation


def _ranking(path: Path, notes: list[str]) -> Ranking:
    template, language, model = path.parent.name, path.parent.parent.name, path.parent.parent.parent.name
    records = _unpickled(path) if path.suffix == ".pkl" else read_rows(path)
    if not records or not all(isinstance(record, dict) for record in records):
        raise TableError(f"{path}: expected a list of records")
    valid, lost = validate(str(path), [_few_predicted(record) for record in records], RankedDish)
    notes += [f"{model}/{language}/{template}: {n} dishes left out: {why}" for why, n in lost.items()]
    return Ranking(model, language, template, tuple(valid))


def _few_predicted(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the record with one prediction per ingredient; further predictions are not used."""
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
    """Unpickler of lists, dictionaries, texts and numbers; it refuses any other class or function."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] in ("numpy", "_codecs"):
            return _Ignored
        raise pickle.UnpicklingError(f"it would call {module}.{name}")


def _unpickled(path: Path) -> list[Any]:
    try:
        with path.open("rb") as file:
            records = _Data(file).load()
    except OSError as error:
        raise TableError(f"{path}: cannot be read ({error.strerror}): check the path") from error
    except Exception as error:  # any error of a broken pickle
        raise TableError(f"{path}: not a pickle of plain records: {error}") from error
    if isinstance(records, dict):  # written by an older version of the authors' program
        records = records.get("list_of_results")
    return records if isinstance(records, list) else []
