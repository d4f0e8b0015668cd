"""Computes dishes' precisions for the baseline of common ingredients and for models' rankings, word
similarities, and scores of a judge's marks. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice, permutations, product

import numpy as np

from tasks.metrics.ranking import (
    average_precision,
    expected_average_precision,
    frequency_scores,
    seed_dumb_average_precision,
    top_mask,
)
from tasks.metrics.similarity import cosine_matrix, expected_word_similarity, word_similarity_rows
from tasks.metrics.types import BoolArray, FloatArray
from tasks.packs.shape import Rows
from tasks.papers.fmlama.files import (
    TYPES,
    FileDish,
    FmlamaFiles,
    FmlamaReproduced,
    MarkedDish,
    Ranking,
    marks_of,
)

FOLDERS: Mapping[str, tuple[str, ...]] = {
    "bert-base_uncased": ("Bb",),
    "bert-large_uncased": ("Bl",),
    "mbert_base_uncased": ("mB", "mB-u"),
    "mbert_base_cased": ("mB", "mB-c"),
    "T5_base": ("T5",),
    "mT5_base": ("mT5",),
    "arabic_bert_base": ("Bb-ar",),
    "chinese_bert_base": ("Bb-zh",),
    "kykim_bert_base": ("Bb-ky",),
    "klue_bert_base": ("Bb-kl",),
    "rubert-base-cased": ("Bb-ru",),
}
"""The authors' folders -> models in the paper's tables; other folders have the model's name."""

ALL = "ALL"
UNITED_KINGDOM = "United Kingdom"
RANDOM_RANKINGS = 20
"""Number of random rankings for the null of the baseline."""
MOST_ORDERS = 500
"""Largest number of orders of equally common ingredients in which a printed number is searched."""


def origin_groups(rows: Rows, england: str) -> dict[str, str]:
    """Return origin -> group of the paper, as in runs; "apart" leaves England, Scotland and Wales out."""
    groups = {str(row["origin"]): str(row["origin_group"]) for row in rows}
    if england == "uk":
        return groups
    kingdom = groups.get(UNITED_KINGDOM)
    return {o: group for o, group in groups.items() if group != kingdom or o == UNITED_KINGDOM}


@dataclass(frozen=True)
class DishTable:
    """Dishes x candidates; the order of columns decides ties.

    Attributes:
        group: [dishes] group of the paper, "" for none.
        relevant: [dishes, candidates] whether a candidate is an ingredient of the dish.
        names: [candidates] the ingredients.
    """

    group: np.typing.NDArray[np.str_]
    relevant: BoolArray
    names: tuple[str, ...]

    @classmethod
    def from_dishes(
        cls,
        dishes: Sequence[FileDish],
        groups: Mapping[str, str],
        options: FmlamaReproduced,
        leading: Sequence[str] = (),
    ) -> DishTable:
        """Return the table of the dishes that the options select. first: ingredients that precede equally
        common ones.
        """
        members = [dish for dish in dishes if options.dishes[0] == "all" or dish.origin in groups]
        names = dict.fromkeys(name for dish in members for name in dish.ingredients)
        ordered = sorted(names) if options.ties[0] == "name" else list(names)
        ordered = list(dict.fromkeys([*(name for name in leading if name in names), *ordered]))
        column = {name: i for i, name in enumerate(ordered)}
        relevant = np.zeros((len(members), len(column)), dtype=np.bool_)
        for row, dish in enumerate(members):
            relevant[row, [column[name] for name in dish.ingredients]] = True
        group = np.array([groups.get(dish.origin, "") for dish in members], dtype=np.str_)
        return cls(group, relevant, tuple(ordered))

    def members(self, origin: str) -> BoolArray:
        """Return [dishes] whether a dish is in a group, or in any group."""
        return np.ones(len(self.group), dtype=np.bool_) if origin == ALL else np.asarray(self.group == origin)


def orders(table: DishTable, top: int) -> Iterator[tuple[str, ...]]:
    """Return the orders of the ``top`` most common ingredients that their counts allow, up to MOST_ORDERS."""
    counts = np.count_nonzero(table.relevant, axis=0)
    by_count = sorted(range(len(counts)), key=lambda column: -counts[column])
    places, classes = top, []
    for _, tied in groupby(by_count, key=lambda column: counts[column]):
        names = [table.names[column] for column in tied]
        classes.append(permutations(names, min(len(names), places)))
        places -= len(names)
        if places <= 0:
            break
    return (tuple(chain(*parts)) for parts in islice(_products(classes), MOST_ORDERS))


def _products(classes: Sequence[Iterator[tuple[str, ...]]]) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Return every choice of one element per class; only the first MOST_ORDERS of a class are used."""
    return product(*(list(islice(elements, MOST_ORDERS)) for elements in classes))


def baseline(table: DishTable, options: FmlamaReproduced) -> FloatArray:
    """Return [dishes] the baseline's precision by the options' rule."""
    scores = frequency_scores(table.relevant, leave_one_out=False)
    return _precision(scores, table.relevant, options)


def random_baseline(table: DishTable, options: FmlamaReproduced) -> FloatArray:
    """Return [dishes] the mean precision of random ingredients by the options' rule."""
    generator = np.random.Generator(np.random.PCG64(options.seed))
    precisions_of_draws = [
        _precision(generator.random(table.relevant.shape), table.relevant, options)
        for _ in range(RANDOM_RANKINGS)
    ]
    return np.asarray(np.mean(precisions_of_draws, axis=0))


def _precision(scores: FloatArray, relevant: BoolArray, options: FmlamaReproduced) -> FloatArray:
    k = min(options.top, relevant.shape[1])
    named = top_mask(scores, k)
    if options.baseline[0] == "equation-4":
        return np.asarray(average_precision(np.where(named, scores, -np.inf), relevant))
    by_hits = seed_dumb_average_precision(scores, relevant, k)
    if options.baseline[0] == "hits":
        return by_hits
    n_hits = np.count_nonzero(named & relevant, axis=1)
    divided: FloatArray = by_hits * n_hits / np.count_nonzero(relevant, axis=1)
    return divided


def rankings_of(content: FmlamaFiles, model: str, language: str, names: Mapping[str, str]) -> list[Ranking]:
    """Return the rankings of a model, template by template; of several folders the first counts."""
    folders = {
        ranking.model: None
        for ranking in content.rankings
        if ranking.language == language and model in labels(ranking.model, names)
    }
    return [r for r in content.rankings if (r.model, r.language) == (next(iter(folders), None), language)]


def precisions(ranking: Ranking, denominator: str) -> tuple[FloatArray, FloatArray]:
    """Return [dishes] average precision in the ranking (equation 4), and its expectation for a random order;
    NaN for a dish without an ingredient among the candidates.
    """
    n = max((dish.n_candidates for dish in ranking.dishes), default=0)
    n = max([n, *(rank + 1 for dish in ranking.dishes for rank in dish.ranks)])
    relevant = np.zeros((len(ranking.dishes), n), dtype=np.bool_)
    for row, dish in enumerate(ranking.dishes):
        relevant[row, list(dish.ranks)] = True
    has_candidate = relevant.any(axis=1)
    n_ranked = np.count_nonzero(relevant, axis=1)
    model_precision, chance = np.full(len(relevant), np.nan), np.full(len(relevant), np.nan)
    model_precision[has_candidate] = average_precision(
        -np.arange(n, dtype=np.float64), relevant[has_candidate]
    )
    chance[has_candidate] = expected_average_precision(n_ranked[has_candidate], n)
    if denominator == "listed":
        share = n_ranked / np.array([len(set(dish.obj_name)) for dish in ranking.dishes])
        return model_precision * share, chance * share
    return model_precision, chance


def similarities(
    ranking: Ranking, embed: Callable[[Sequence[str]], FloatArray]
) -> tuple[FloatArray, FloatArray]:
    """Return [dishes] word similarity of the first l predictions (equation 7), and of l random ones among all
    dishes' ingredients and predictions.
    """
    dishes = ranking.dishes
    words = sorted({word for dish in dishes for word in (*dish.obj_name, *dish.predicted)})
    column = {word: i for i, word in enumerate(words)}
    vectors = np.asarray(embed(words), dtype=np.float64)
    cosines = cosine_matrix(vectors)
    reference, predicted = (np.zeros((len(dishes), len(words)), dtype=np.bool_) for _ in range(2))
    for row, dish in enumerate(dishes):
        reference[row, [column[word] for word in dish.obj_name]] = True
        predicted[row, [column[word] for word in dish.predicted]] = True
    counts = np.minimum([len(dish.obj_name) for dish in dishes], len(words))
    model_similarity = word_similarity_rows(cosines, predicted, reference)
    chance = expected_word_similarity(cosines, reference, counts)
    return tuple(_spread(similarity.values, similarity.n_scored) for similarity in (model_similarity, chance))  # type: ignore[return-value]


def mark_score(dish: MarkedDish, rule: str) -> tuple[float, float]:
    """Return S of equation 9 by a counting rule, and by direct matches alone."""
    marks = marks_of(dish).values()
    if rule == "correct":
        n = sum(mark == "Correct" for mark, _ in marks)
    else:
        n = sum(kind in reason for mark, reason in marks if mark == "Correct" for kind in TYPES)
    direct = len(set(dish.predicted_ingredient) & set(dish.gold_ingredients))
    return n / len(dish.predicted_ingredient), direct / len(dish.predicted_ingredient)


def labels(folder: str, names: Mapping[str, str]) -> tuple[str, ...]:
    """Return the paper's names of the model that a folder of rankings is of."""
    return (names[folder],) if folder in names else FOLDERS.get(folder, (folder,))


def _spread(values: FloatArray, n_scored: np.typing.NDArray[np.intp]) -> FloatArray:
    spread = np.full(len(n_scored), np.nan)
    spread[n_scored > 0] = values
    return spread
