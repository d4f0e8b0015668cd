"""Models' rankings as average precision and word similarity of each dish, and the marks of a judge. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tasks.metrics.ranking import average_precision, expected_average_precision
from tasks.metrics.similarity import cosine_matrix, expected_word_similarity, word_similarity_rows
from tasks.metrics.types import FloatArray
from tasks.papers.fmlama.files import TYPES, Content, MarkedDish, RankedDish, Ranking, marks_of

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

Embed = Callable[[Sequence[str]], FloatArray]


def of_model(content: Content, model: str, language: str, names: Mapping[str, str]) -> list[Ranking]:
    """The rankings of a model, template by template; of several folders the first one's."""
    folders = {
        ranking.model: None
        for ranking in content.rankings
        if ranking.language == language and model in _labels(ranking.model, names)
    }
    return [r for r in content.rankings if (r.model, r.language) == (next(iter(folders), None), language)]


def precisions(ranking: Ranking, denominator: str) -> tuple[FloatArray, FloatArray]:
    """[dishes] average precision in the ranking (equation 4), and what a random order has in expectation.

    A dish none of whose ingredients is a candidate has NaN.
    """
    n = max((dish.n_candidates for dish in ranking.dishes), default=0)
    n = max([n, *(rank + 1 for dish in ranking.dishes for rank in dish.ranks)])
    relevant = np.zeros((len(ranking.dishes), n), dtype=np.bool_)
    for row, dish in enumerate(ranking.dishes):
        relevant[row, list(dish.ranks)] = True
    known = relevant.any(axis=1)
    n_ranked = np.count_nonzero(relevant, axis=1)
    own, chance = np.full(len(relevant), np.nan), np.full(len(relevant), np.nan)
    own[known] = average_precision(-np.arange(n, dtype=np.float64), relevant[known])
    chance[known] = expected_average_precision(n_ranked[known], n)
    if denominator == "listed":
        share = n_ranked / np.array([len(set(dish.obj_name)) for dish in ranking.dishes])
        return own * share, chance * share
    return own, chance


def similarities(ranking: Ranking, embed: Embed) -> tuple[FloatArray, FloatArray]:
    """[dishes] word similarity of the first l predictions (equation 7), and of l at random among all that are
    an ingredient or a prediction of some dish."""
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
    own = word_similarity_rows(cosines, predicted, reference)
    chance = expected_word_similarity(cosines, reference, counts)
    return tuple(_spread(each.values, each.n_scored) for each in (own, chance))  # type: ignore[return-value]


def mark_score(dish: MarkedDish, rule: str) -> tuple[float, float]:
    """S of equation 9 as the options count it, and by direct matches alone."""
    marks = marks_of(dish).values()
    if rule == "correct":
        n = sum(mark == "Correct" for mark, _ in marks)
    else:
        n = sum(kind in reason for mark, reason in marks if mark == "Correct" for kind in TYPES)
    direct = len(set(dish.predicted_ingredient) & set(dish.gold_ingredients))
    return n / len(dish.predicted_ingredient), direct / len(dish.predicted_ingredient)


def origins(ranking: Ranking) -> list[str]:
    """The origin of each dish."""
    return [dish.origin for dish in ranking.dishes]


def _labels(folder: str, names: Mapping[str, str]) -> tuple[str, ...]:
    return (names[folder],) if folder in names else FOLDERS.get(folder, (folder,))


def _spread(values: FloatArray, n_scored: np.typing.NDArray[np.intp]) -> FloatArray:
    out = np.full(len(n_scored), np.nan)
    out[n_scored > 0] = values
    return out


__all__ = ["RankedDish", "mark_score", "of_model", "origins", "precisions", "similarities"]
