"""Turns stored answers into arrays of labels, targets, scores and alignments. Pure except the embedder."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scrapers.countries import CountryCodes
from tasks.evaluations.worldwise.study import BASELINE, choose_targets
from tasks.loop.rows import mean_of
from tasks.metrics.alignment import alignment, global_mean_profile
from tasks.metrics.projection import project_dimensions
from tasks.metrics.stereotypes import stereotype_scores
from tasks.metrics.types import BoolArray, FloatArray
from tasks.packs.shape import Rows
from tasks.papers.reproduction import Tools, model_names
from tasks.papers.values import Pieces, Slot
from tasks.papers.worldwise.files import NO_EMBEDDER, SOURCES, StoredAnswer, WorldwiseFiles, WorldwiseOptions
from tasks.papers.worldwise.program import PROFILE, dimension_name

Labels = NDArray[np.str_]

NO_TARGET = "no target of the culture, or no dimension of the scenario"


@dataclass(frozen=True)
class Recount:
    """Labels and numbers of n answers; missing numbers are NaN.

    Attributes:
        model, culture, scenario, category, dimension: [n] labels; a culture is a country code or baseline.
        target, score, points: [n] target, score on the scenario's dimension, alignment.
        reason: reason for which an answer has no alignment.
    """

    model: Labels
    culture: Labels
    scenario: Labels
    category: Labels
    dimension: Labels
    target: FloatArray
    score: FloatArray
    points: FloatArray
    reason: str = ""

    @cached_property
    def is_persona(self) -> BoolArray:
        """Return [n] whether an answer has a persona."""
        return np.asarray(self.culture != BASELINE)

    def with_scores(self, score: FloatArray) -> Recount:
        """Return the answers with other scores, and their alignments."""
        return replace(self, score=score, points=_points(self.target, score))

    def null(self) -> tuple[str, Recount]:
        """Return name and answers of the best aligned of three nulls, over answers with points: a score of 0,
        the mean of all targets, and the model's own answer without a persona.
        """
        has_points = ~np.isnan(self.points)
        profiles = {"zero": np.zeros(len(self.score)), "mean of the cultures": self._mean_target()}
        profiles["no persona"] = self._unprompted()
        nulls = {
            name: self.with_scores(np.where(has_points | ~self.is_persona, score, np.nan))
            for name, score in profiles.items()
        }
        means = {name: mean for name, null in nulls.items() if (mean := mean_of(null.points)) is not None}
        best = max(means, key=lambda name: means[name]) if means else "zero"
        return best, nulls[best]

    def _mean_target(self) -> FloatArray:
        mean = np.zeros(len(self.target))
        for dimension in set(self.dimension.tolist()):
            is_known = (self.dimension == dimension) & ~np.isnan(self.target)
            if is_known.any():
                _, first_of_culture = np.unique(self.culture[is_known], return_index=True)
                mean[self.dimension == dimension] = global_mean_profile(
                    self.target[is_known][first_of_culture][:, None]
                )[0]
        return mean

    def _unprompted(self) -> FloatArray:
        """Return the model's mean score on the scenario without a persona; 0 for answers without one."""
        scores_of: dict[tuple[str, str], list[float]] = {}
        for model, scenario, score in zip(
            self.model[~self.is_persona],
            self.scenario[~self.is_persona],
            self.score[~self.is_persona],
            strict=True,
        ):
            scores_of.setdefault((str(model), str(scenario)), []).append(float(score))
        means = {key: float(np.mean(scores)) for key, scores in scores_of.items()}
        keys = zip(self.model.tolist(), self.scenario.tolist(), strict=True)
        means_of_answers = np.array([means.get(key, np.nan) for key in keys], dtype=np.float64)
        return np.where(self.is_persona, means_of_answers, 0.0)


def recount(
    stored: WorldwiseFiles, options: WorldwiseOptions, tools: Tools, printed_models: Iterable[str]
) -> Recount:
    """Return the answers with labels and targets, without scores."""
    answers = stored.answers or ()
    code = culture_code(tools.tables["country"])
    scenario_rows = {str(row["scenario"]): row for row in stored.scenarios or ()}
    rows = [scenario_rows.get(answer.scenario_id, {}) for answer in answers]
    categories = [str(r.get("category") or a.scenario_category) for r, a in zip(rows, answers, strict=True)]
    names = model_names([a.model for a in answers], printed_models, options.names)
    dimension = np.array([dimension_name(str(row.get("dimension", ""))) for row in rows], dtype=np.str_)
    culture = np.array([code(answer.culture) for answer in answers], dtype=np.str_)
    targets_of_country = targets(stored, options, tools.tables)
    pairs = zip(culture.tolist(), dimension.tolist(), strict=True)
    target = np.array([targets_of_country.get(c, {}).get(d, np.nan) for c, d in pairs], dtype=np.float64)
    missing = np.full(len(answers), np.nan)
    return Recount(
        model=np.array([names[answer.model] for answer in answers], dtype=np.str_),
        culture=culture,
        scenario=np.array([answer.scenario_id for answer in answers], dtype=np.str_),
        category=np.array(categories, dtype=np.str_),
        dimension=dimension,
        target=target,
        score=missing,
        points=missing,
    )


def targets(
    stored: WorldwiseFiles, options: WorldwiseOptions, tables: Mapping[str, Rows]
) -> Mapping[str, Mapping[str, float]]:
    """Return country -> dimension -> target, from the files' profile of that name, else their only one."""
    profiles = stored.profiles or []
    names = {str(row["profile"]) for row in profiles}
    if options.targets in names or (len(names) == 1 and names != {PROFILE}):
        name = options.targets if options.targets in names else names.pop()
        code = culture_code(tables["country"])
        return {
            code(country): country_targets
            for country, country_targets in choose_targets(name, profiles).of_country.items()
        }
    return choose_targets(options.targets, tables["culture_profile"]).of_country


def stereotypes(
    stored: WorldwiseFiles, options: WorldwiseOptions, texts: Sequence[str] | None = None
) -> FloatArray:
    """Return [n] stereotype scores of the answers, or of other texts; NaN if missing or without phrases."""
    answers = stored.answers or ()
    if texts is None:
        if options.scores[0] == "stored":
            return np.array([a.stereotype for a in answers], dtype=np.float64)
        texts = [a.raw_response for a in answers]
    if stored.phrases is None:
        return np.full(len(texts), np.nan)
    scores = stereotype_scores(texts, stored.phrases, "substring")
    return np.array([np.nan if score is None else score.score for score in scores], dtype=np.float64)


def embedded_text(answer: StoredAnswer, options: WorldwiseOptions, program: Pieces = ()) -> str:
    """Return the embedded text of an answer: composed by the program's rule, or parts joined by spaces."""
    if options.order[0] == "program" and program:
        return "".join(piece if isinstance(piece, str) else _part(piece, answer) for piece in program)
    parts = {
        "explanation": answer.explanation,
        "decision": answer.decision,
        "values": " ".join(answer.top_values * options.values_times[0]),
    }
    return " ".join(part for name in options.order[0].split("-") if (part := parts[name].strip()))


def _part(slot: Slot, answer: StoredAnswer) -> str:
    if slot.name == "top_values":
        return (slot.between or " ").join(answer.top_values * slot.times)
    return answer.explanation if slot.name == "explanation" else answer.decision


def culture_code(countries: Rows) -> Callable[[str], str]:
    """Return a function from a culture's name to its country code; it leaves unknown names unchanged."""
    codes = CountryCodes({str(row["name"]): str(row["country"]) for row in countries})

    def code(name: str) -> str:
        plain = name.strip()
        return BASELINE if plain.casefold() == BASELINE else codes.code(plain) or plain

    return code


def scored(table: Recount, stored: WorldwiseFiles, options: WorldwiseOptions, tools: Tools) -> Recount:
    """Return the answers with scores by the options (one value per tried field); this embeds the texts."""
    answers = stored.answers or ()
    failed = np.array([not answer.parse_success for answer in answers], dtype=np.bool_)
    if options.scores[0] == "stored":
        points = np.array([a.cultural_alignment for a in answers], dtype=np.float64)
        points = np.where(table.is_persona, points, np.nan)
        table = replace(table, points=points, reason="no alignment is stored with the answers")
    elif stored.scenarios is None:
        return replace(table, reason=SOURCES["scenarios"].missing)
    elif stored.exemplars is None:
        return replace(table, reason=SOURCES["exemplars"].missing)
    elif options.embedder == NO_EMBEDDER:
        return replace(table, reason="--embedder none")
    else:
        texts = [embedded_text(answer, options, stored.embedded) for answer in answers]
        score = _scores(texts, failed, table.dimension, stored.exemplars, options.embedder, tools)
        table = replace(table.with_scores(score), reason=NO_TARGET)
    return replace(table, points=np.where(failed & table.is_persona, np.nan, table.points))


def _scores(
    texts: Sequence[str], failed: BoolArray, dimension: Labels, exemplars: Rows, embedder: str, tools: Tools
) -> FloatArray:
    """Return [n] scores on the dimension of each answer's scenario."""
    poles: dict[str, dict[str, list[str]]] = {}
    for row in exemplars:
        sides = poles.setdefault(dimension_name(str(row["dimension"])), {"high": [], "low": []})
        sides[str(row["pole"])].append(str(row["text"]))
    for name, sides in poles.items():
        if not (sides["high"] and sides["low"]):
            raise ValueError(f"exemplars of {name} have one pole only: add high and low ones")
    embedded = [i for i, text in enumerate(texts) if text and not failed[i]]
    score = np.full(len(texts), np.nan)
    if not embedded:
        return score
    statements = [text for sides in poles.values() for pole in ("high", "low") for text in sides[pole]]
    vectors = iter(tools.embed(embedder, statements))
    pairs = [
        tuple([next(vectors) for _ in sides[pole]] for pole in ("high", "low")) for sides in poles.values()
    ]
    projected = project_dimensions(tools.embed(embedder, [texts[i] for i in embedded]), pairs)  # type: ignore[arg-type]
    column = {name: i for i, name in enumerate(poles)}
    for place, i in enumerate(embedded):
        if dimension[i] in column:
            score[i] = projected[place, column[str(dimension[i])]]
    return score


def _points(target: FloatArray, score: FloatArray) -> FloatArray:
    both = ~(np.isnan(target) | np.isnan(score))
    points = np.full(len(target), np.nan)
    points[both] = alignment(target[both], score[both])
    return points
