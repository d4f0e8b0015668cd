"""Reads the answers of one model and scores each sample of the study. Pure.

An answer needs a decision, a value of the list and an explanation; else it is lost, with the reason.
Values keep the order in which they are named. Values that are not on the list are left out, and a repeated
value counts once. So an answer may have fewer than three; shares are over the values named. Complete JSON
counts even if the model was stopped after it. Free text that was stopped does not count, since its missing
part is unknown.

All arrays are cultures x scenarios x repetitions, in the order of the study; culture 0 is the baseline. So
no number can depend on the order in which answers came.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

from tasks.engines.protocols import Embedded
from tasks.evaluations.contract import Completions
from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.study import DECISIONS, N_VALUES, Key, Scenario, WorldwiseStudy
from tasks.loop.prompts import Completion
from tasks.loop.replies import NO_ANSWER, no_text, read_fields, unreadable
from tasks.loop.rows import Reasons
from tasks.metrics.alignment import alignment
from tasks.metrics.projection import project_dimensions
from tasks.metrics.types import BoolArray, FloatArray, IntArray
from tasks.packs.wording import filled

NO_DECISION = "no decision of the menu"
NO_VALUE, NO_EXPLANATION = "no value of the list", "no explanation"

VALUES = tuple(f"value_{n}" for n in range(1, N_VALUES + 1))
"""Fields of the values in a JSON answer."""

SURE_MATCH = 90
"""Least similarity (0 to 100, rapidfuzz) at which a text counts as a value of the list."""

_FIELD = re.compile(
    r"^[^\w\n]*(?:\d[.)]\W*)?(DECISION|TOP[_ ]VALUES|EXPLANATION)[^\w\n:：]*[:：](.*)$", re.IGNORECASE
)
_CHOICE = re.compile(r"^\W*(?:option\W*|I\W+)?(a|b|decline)\b", re.IGNORECASE)


@dataclass(frozen=True)
class WorldwiseAnswer:
    """One answer after reading; ``values`` are one to three labels of the list, most important first."""

    decision: str
    values: tuple[str, ...]
    explanation: str


def read_answer(
    completion: Completion | None, labels: Sequence[str], as_json: bool, counts_others: bool = False
) -> WorldwiseAnswer | str:
    """Return the answer, or the reason why it cannot be scored. Never raises.

    Args:
        counts_others: keep values that are not in the list, and a repeated one as often as it is named.
    """
    reason = no_text(completion)
    if completion is None or reason:
        return reason or NO_ANSWER
    is_cut = completion.finish_reason == "length"
    own, other = (_from_json, _from_text) if as_json else (_from_text, _from_json)
    raw = own(completion.text)
    if (raw is None or not raw.values) and not is_cut:
        raw = other(completion.text) or raw  # a model may answer in the other form
    if raw is None or (is_cut and not as_json):
        return unreadable(completion)
    choice = _CHOICE.match(raw.decision)
    if choice is None:
        return NO_DECISION
    if counts_others:
        values = tuple(filter(None, (_own_words(value) for value in raw.values)))[:N_VALUES]
    else:
        named = [_label(value, labels) for value in raw.values]
        values = tuple(dict.fromkeys(label for label in named if label))[:N_VALUES]
    if not values:
        return NO_VALUE
    explanation = " ".join(raw.explanation.split())
    decision = next(d for d in DECISIONS if d.casefold() == choice[1].casefold())
    return WorldwiseAnswer(decision, values, explanation) if explanation else NO_EXPLANATION


def composed(
    answer: WorldwiseAnswer, scenario: Scenario, params: WorldwiseParams, own: str | None = None
) -> str:
    """Return the text to embed: values (``values_weight`` times), explanation and decision, in ``order``.

    The decision is the text of the chosen option, or only its letter.

    Args:
        own: template of a pack that replaces this composition.
    """
    if own:
        return _by_template(own, answer, scenario)
    values = [f"{', '.join(answer.values)}."] * params.values_weight
    body = [*values, answer.explanation]
    if params.order == "explanation-values-decision":
        body = [answer.explanation, *values]
    chosen = {"A": scenario.option_a, "B": scenario.option_b}.get(answer.decision, "Neither.")
    return " ".join([*body, chosen if params.decision == "option" else f"Decision: {answer.decision}."])


def _by_template(own: str, answer: WorldwiseAnswer, scenario: Scenario) -> str:
    named = dict(zip(("value_1", "value_2", "value_3"), (*answer.values, "", ""), strict=False))
    is_option = answer.decision in ("A", "B")
    return filled(
        own,
        {
            "explanation": answer.explanation,
            "decision": f"Option {answer.decision}" if is_option else answer.decision,
            "option": {"A": scenario.option_a, "B": scenario.option_b}.get(answer.decision, ""),
            "values": ", ".join(answer.values),
            **named,
        },
    )


def _from_json(text: str) -> WorldwiseAnswer | None:
    """Return the fields of the JSON object in the text, unchanged."""
    fields = read_fields(text, ("decision", *VALUES, "explanation"))
    if fields is None:
        return None
    texts = {key: value for key, value in fields.items() if isinstance(value, str)}
    values = tuple(texts[key] for key in VALUES if key in texts)
    return WorldwiseAnswer(texts.get("decision", ""), values, texts.get("explanation", ""))


def _from_text(text: str) -> WorldwiseAnswer | None:
    """Return the fields, unchanged.

    Each runs to the next. The last of each name counts, since models often repeat the form first.
    """
    fields: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        field = _FIELD.match(line)
        if field:
            lines = fields[field[1].upper().replace(" ", "_")] = [field[2]]
        else:
            lines.append(line)
    if not fields:
        return None
    joined = {name: "\n".join(rest).strip() for name, rest in fields.items()}
    values = re.split(r"[,;，；、\n]|\d[.)]", joined.get("TOP_VALUES", ""))
    explanation = joined.get("EXPLANATION", "").strip("*\n ")
    return WorldwiseAnswer(joined.get("DECISION", ""), tuple(values), explanation)


def _own_words(named: str) -> str:
    """Return a value as it is named, without marks around it."""
    return " ".join(named.strip("[]*-•\"' \n\t.").split())


def _label(named: str, labels: Sequence[str]) -> str | None:
    """Return the label that matches apart from case, marks and "and" for "&", else the nearest one."""
    if named in labels:
        return named
    letters = _letters_of(named)
    if not letters:
        return None
    best = process.extractOne(letters, [_letters_of(label) for label in labels], scorer=fuzz.ratio)
    return labels[best[2]] if best and best[1] >= SURE_MATCH else None


def _letters_of(text: str) -> str:
    """Return the text without numbering, case and marks: "1) Work-Life Balance." becomes "work life
    balance".
    """
    return " ".join(re.findall(r"[^\W\d_]+", text.casefold().replace("&", " and ")))


@dataclass(frozen=True)
class Space:
    """The dimensions as vectors, and the scenarios' own positions on them.

    Attributes:
        poles: a pair (high, low) of float32 [statements, d] for each of k dimensions.
        scenario_scores: [scenarios, k] the scores of the scenarios' own texts, NaN without a vector.
    """

    poles: tuple[tuple[NDArray[np.float32], NDArray[np.float32]], ...]
    scenario_scores: FloatArray


def fixed_texts(study: WorldwiseStudy) -> list[str]:
    """Return the texts to embed for every model: exemplars and scenarios, each once."""
    m = study.content
    statements = {text for d in m.dimensions for text in (*d.high, *d.low)}
    return sorted(statements | {scenario_text(s) for s in m.scenarios})


def scenario_text(scenario: Scenario) -> str:
    """Return the scenario as if it were its own answer: the dilemma and both options."""
    return f"{scenario.text} {scenario.option_a} {scenario.option_b}"


def build_space(study: WorldwiseStudy, embedded: Embedded) -> Space:
    """Return the space of value poles, from the vectors of ``fixed_texts``.

    Raises:
        ValueError: an exemplar has no vector; says which, of which embedder, and what to do.
    """
    row = {text: i for i, text in enumerate(fixed_texts(study))}

    def vectors(texts: Sequence[str]) -> NDArray[np.float32]:
        return embedded.vectors[[row[text] for text in texts]]

    m = study.content
    exemplars = [(d.dimension, text) for d in m.dimensions for text in (*d.high, *d.low)]
    if missing := [exemplar for exemplar in exemplars if not vectors(exemplar[1:]).any()]:
        raise ValueError(_without_vectors(study.params.embedder, missing, len(exemplars)))
    poles = tuple((vectors(d.high), vectors(d.low)) for d in m.dimensions)
    return Space(poles, project_dimensions(vectors([scenario_text(s) for s in m.scenarios]), poles))


def _without_vectors(embedder: str, missing: Sequence[tuple[str, str]], n: int) -> str:
    """Return the sentence for users about exemplars (dimension, text) that have no vector, of n."""
    counts = Counter(dimension for dimension, _ in missing)
    return (
        f"--embedder {embedder} has no vector for {len(missing)} of the {n} exemplars that dimensions are "
        f"measured by: {', '.join(f'{k} of {dimension}' for dimension, k in counts.items())}. It knows no "
        f"word of {missing[0][1]!r}, for one. Name an embedder of their language, or give exemplars in words "
        "that it knows (exemplar.csv of a pack); stored answers of "
        "models are used again"
    )


NO_VECTOR = "the embedder has no vector for the text"

Readings = Mapping[Key, WorldwiseAnswer | str]
"""Every sample of the study -> the answer, or why there is none"""


@dataclass(frozen=True)
class Placed:
    """Scores that alignment is computed from; [C, S, R] are cultures (0: the baseline), scenarios,
    repetitions.

    Attributes:
        primary: [C, S, R] score on the scenario's primary dimension, -2 to 2, NaN where there is none.
        alignment: [C, S, R] alignment of primary with the culture's target, 0 to 10; 0 for a lost answer
            (``lost_answers``), NaN where unscored and for the baseline.
        reasons: [C, S, R] why a sample has no position, "" where it has one.
    """

    primary: FloatArray
    alignment: FloatArray
    reasons: Reasons


@dataclass(frozen=True)
class WorldwiseScores(Placed):
    """One model's scores.

    Attributes:
        scores: [C, S, R, k] on all dimensions, NaN where unscored.
        decisions: [C, S, R] position in ``DECISIONS``, -1 for none.
        choices: [C, S, R, 3] positions in the list of values, others after it, -1 for none.
        explanations: [C, S, R] texts, "" for none.
        truncated: [C, S, R] whether the text was longer than the embedder reads.
        n_tokens: of prompts and completions together; None where nothing was asked.
        responses: [C, S, R] whole texts, "" for none.
    """

    scores: FloatArray
    decisions: IntArray
    choices: IntArray
    explanations: NDArray[np.object_]
    truncated: BoolArray
    n_tokens: int | None
    responses: NDArray[np.object_]


@dataclass(frozen=True)
class WorldwiseAnswers:
    """One model's answers: completions, their readings, and numbers."""

    completed: Mapping[Key, Completion]
    readings: Readings
    scored: WorldwiseScores


def read(study: WorldwiseStudy, completions: Completions, space: Space) -> WorldwiseAnswers:
    """Read every answer and place it in the space; an answer for which this fails is unscored, with
    a reason.
    """
    done = completed(study, completions)
    readings = read_completions(study, done)
    embedded = completions(study.vectors_of(answer_texts(study, readings), "answers"))
    return WorldwiseAnswers(done, readings, score_answers(study, done, readings, embedded, space))


def completed(study: WorldwiseStudy, completions: Completions) -> dict[Key, Completion]:
    """Return sample -> its stored completion."""
    stored = {unit: c for request in study.requests for unit, c in completions(request).items()}
    return {s.key: stored[s.prompt.id] for s in study.samples if s.prompt.id in stored}


def read_completions(
    study: WorldwiseStudy, completed: Mapping[Key, Completion]
) -> dict[Key, WorldwiseAnswer | str]:
    """Return every sample's answer, or the reason why it has none."""
    labels, others = study.content.labels, study.params.other_values == "counted"
    return {s.key: read_answer(completed.get(s.key), labels, study.as_json, others) for s in study.samples}


def answer_texts(study: WorldwiseStudy, readings: Readings) -> list[str]:
    """Return the text to embed of every answer that could be read, in order; texts may repeat."""
    scenarios = {s.scenario: s for s in study.content.scenarios}
    return [
        composed(reading, scenarios[key[1]], study.params, study.templates.get("embedded"))
        for key, reading in readings.items()
        if isinstance(reading, WorldwiseAnswer)
    ]


def score_answers(
    study: WorldwiseStudy,
    completed: Mapping[Key, Completion],
    readings: Readings,
    embedded: Embedded,
    space: Space,
) -> WorldwiseScores:
    """Score every sample. ``embedded`` has the vectors of ``answer_texts``."""
    place = {key: i for i, (key, _) in enumerate(study.places())}
    reasons = np.full(study.n_samples, "", dtype=object)
    for key, reading in readings.items():
        if isinstance(reading, str):
            reasons[place[key]] = reading
    answers = {key: reading for key, reading in readings.items() if isinstance(reading, WorldwiseAnswer)}
    rows = np.array([place[key] for key in answers], dtype=np.intp)
    projected = np.full((study.n_samples, len(space.poles)), np.nan)
    truncated = np.zeros(study.n_samples, dtype=np.bool_)
    if answers:
        projected[rows] = project_dimensions(embedded.vectors, space.poles)
        truncated[rows] = embedded.truncated
    reasons[rows[np.isnan(projected[rows]).any(axis=1)]] = NO_VECTOR
    decisions, choices = _of_answers(study, rows, list(answers.values()))
    explanations = np.full(study.n_samples, "", dtype=object)
    explanations[rows] = [answer.explanation for answer in answers.values()]
    responses = np.full(study.n_samples, "", dtype=object)
    responses[rows] = [completed[key].text for key in answers]
    scores = projected.reshape(*study.shape, -1)
    primary = on_primary(study, scores)
    used = [completed[key] for key in place if key in completed]
    return WorldwiseScores(
        scores=scores,
        primary=primary,
        alignment=_with_lost(study, aligned(study, primary), reasons.reshape(study.shape)),
        reasons=reasons.reshape(study.shape),
        decisions=decisions.reshape(study.shape),
        choices=choices.reshape(*study.shape, N_VALUES),
        explanations=explanations.reshape(study.shape),
        truncated=truncated.reshape(study.shape),
        responses=responses.reshape(study.shape),
        n_tokens=sum(c.prompt_tokens + c.completion_tokens for c in used) if used else None,
    )


def lost_answers(study: WorldwiseStudy, reasons: Reasons) -> BoolArray:
    """Return whether each answer of ``reasons`` is lost and counts as one without any alignment.

    The parameter ``unread`` may leave it unscored. A text that the embedder cannot place is unscored.
    """
    if study.params.unread == "unscored":
        return np.zeros(reasons.shape, dtype=np.bool_)
    return ~np.isin(reasons, ["", NO_ANSWER, NO_VECTOR])


def _with_lost(study: WorldwiseStudy, points: FloatArray, reasons: Reasons) -> FloatArray:
    """Return [C, S, R] the alignments, 0 for lost answers with a target."""
    lost = lost_answers(study, reasons) & ~np.isnan(study.content.targets)[:, :, None]
    lost[0] = False
    return np.where(lost, 0.0, points)


def on_primary(study: WorldwiseStudy, scores: FloatArray) -> FloatArray:
    """Return [C, S, R] of [C, S, R, k]: the score on each scenario's primary dimension."""
    column = study.content.primary[None, :, None, None]
    primary: FloatArray = np.take_along_axis(scores, column, axis=-1)[..., 0]
    return primary


def aligned(study: WorldwiseStudy, primary: FloatArray) -> FloatArray:
    """[C, S, R] alignment of each score with its culture's target; NaN without either."""
    targets = np.broadcast_to(study.content.targets[:, :, None], primary.shape)
    points = np.full(primary.shape, np.nan)
    known = ~(np.isnan(targets) | np.isnan(primary))
    points[known] = alignment(targets[known], primary[known])
    return points


def _of_answers(
    study: WorldwiseStudy, rows: IntArray, answers: list[WorldwiseAnswer]
) -> tuple[IntArray, IntArray]:
    """Return decisions and values, flattened over the samples; values beyond the list come after it."""
    named = {value for answer in answers for value in answer.values}
    labels = [*study.content.labels, *sorted(named - set(study.content.labels))]
    position = {label: i for i, label in enumerate(labels)}
    decisions = np.full(study.n_samples, -1, dtype=np.intp)
    choices = np.full((study.n_samples, N_VALUES), -1, dtype=np.intp)
    decisions[rows] = [DECISIONS.index(answer.decision) for answer in answers]
    for row, answer in zip(rows, answers, strict=True):
        choices[row, : len(answer.values)] = [position[label] for label in answer.values]
    return decisions, choices
