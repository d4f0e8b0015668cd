"""The conversations of a study, the voices in them, and their identity. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from tasks.engines.protocols import Sampling
from tasks.evaluations.explication.materials import (
    FOLDER,
    RECOMMENDER,
    USER,
    ExplicationTask,
    Persona,
    end_of,
    load_task,
    personas_of,
    read_personas,
)  # fmt: skip
from tasks.evaluations.explication.measures import Dishes
from tasks.evaluations.explication.params import CONDITIONS, SCORES_VERSION, ExplicationParams
from tasks.evaluations.explication.texts import BEGIN, LEAVE
from tasks.identity import digest
from tasks.judging.forms import states_form
from tasks.judging.panel import Judges, judges_by_name
from tasks.judging.rubric import JudgeStyle, Rubric, as_data, load_rubric
from tasks.loop.dialogue import Dialogue, Dialogues, Voice
from tasks.loop.requests import Engine
from tasks.loop.spread import fewest
from tasks.packs.wording import Templates, filled, templates

PROMPTS = {
    name: (FOLDER / "prompts" / f"{name}.md").read_text(encoding="utf-8")
    for name in ("recommender", "simulator")
}
RUBRICS = ("quality", "failures", "instructions")
OVERALL = {"quality": "overall_appropriateness", "instructions": "overall_instruction_following"}
"""Rubric -> the additional overall score of a judge who reasons."""
REASONED = """\
Answer in plain text. First think each of {keys} through in a few sentences. Then end with a line for each, \
"Score of NAME: " and a number from 1 to TOP, with a decimal where you hesitate. The last is your own \
overall score, which need not be the mean of the others."""
"""Answer format of judges who reason, for rubrics with an overall score."""

REAL, SILENT, FIXED, GENERIC, SHUFFLED = "real", "silent", "fixed", "generic", "shuffled"
"""Kinds of a conversation: the candidate with a simulated user; the candidate with a user who tells nothing;
a fixed list of questions and a generic recipe; that recipe at once; a real one with another's in the end."""

MOST_TURNS = 1000
"""Turns at which a conversation without a limit counts as endless."""

MOST_HEARD = 4000
"""Most characters of a turn that the simulator reads."""

KNOBS = {
    "conditions", "repetitions", "temperature", "max_turns", "max_tokens", "simulator_max_tokens",
    "conversation_tokens", "judge_max_tokens", "seed",
}  # fmt: skip
"""Params whose values enter config_hash unchanged."""


class ConversationKey(NamedTuple):
    """Key of a conversation; persona or condition is "" if the conversation has none."""

    source: str
    task: str
    persona: str
    condition: str
    repetition: int

    @property
    def label(self) -> str:
        """Return the conversation's label in the warehouse, unique among a model's conversations of a
        source.
        """
        return ":".join([self.task, self.persona, self.condition, str(self.repetition)])


@dataclass(frozen=True)
class Progress:
    """Calls to judges that are kept between rounds.

    Attributes:
        calls: (conversation, rubric) -> the call of the judges (``read.JudgeCall``).
    """

    stage: Dialogues
    calls: dict[tuple[ConversationKey, str], Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ExplicationStudy:
    """Everything that is sent, independent of the model.

    Attributes:
        simulator: engine that plays the personas. judges: name of a judge in the params -> its engine; empty:
            nothing is judged.
        rubrics: name -> rubric.
        progress: kept between rounds: (engine hash, occasion) -> its conversations up to now.
    """

    params: ExplicationParams
    tasks: Mapping[str, ExplicationTask]
    personas: Mapping[str, Persona]
    dishes: Dishes
    simulator: Engine
    judges: Mapping[str, Engine]
    rubrics: Mapping[str, Rubric]
    templates: Templates = field(default_factory=dict)
    progress: dict[tuple[str, str], Progress] = field(default_factory=dict, compare=False, repr=False)

    @cached_property
    def materials(self) -> dict[str, str]:
        """Implement ``contract.Study``."""
        return {
            "persona": digest([p.model_dump(mode="json") for p in self.personas.values()]),
            "task": digest([t.model_dump(mode="json") for t in self.tasks.values()]),
        }

    @property
    def panel(self) -> Judges[Any]:
        """Return the panel of judges, who read conversations by several rubrics."""
        return Judges(self.judges, "conversations", self.params.batch)

    def progress_of(self, candidate: Engine | None) -> Progress:
        """Return the kept progress of a model's conversations, or of the study's own."""
        key = (candidate.hash, candidate.occasion) if candidate else ("", "")
        if key not in self.progress:
            self.progress[key] = Progress(
                Dialogues(self.dialogues() if candidate else self.shared_dialogues())
            )
        return self.progress[key]

    @cached_property
    def described(self) -> dict[tuple[str, str], str]:
        """Return (persona, task) -> the text about the person for simulator and judges."""
        return {(p.persona, t): p.described(t) for p in self.personas.values() for t in self.tasks}

    @property
    def conditions(self) -> tuple[str, ...]:
        """Return the conditions in the order of every table."""
        return tuple(c for c in CONDITIONS if c in self.params.conditions)

    def real(self) -> Iterator[ConversationKey]:
        """Yield the real conversations of one model."""
        repetitions = range(self.params.repetitions)
        for own in product(self.tasks, self.personas, self.conditions, repetitions):
            yield ConversationKey(REAL, *own)

    def silent(self, key: ConversationKey) -> ConversationKey:
        """Return the conversation with a silent user that is the null of a persona's conversation, one per
        persona.
        """
        return key._replace(source=SILENT, repetition=0)

    def dialogues(self) -> Iterator[Dialogue]:
        """Yield the conversations of one model: with personas, and with a user who reveals nothing."""
        for key in self.real():
            yield self._dialogue(key, self._recommender(key), self._user(key))
        silence = Voice(USER, lines=(self._said("silence"),))
        for key in dict.fromkeys(map(self.silent, self.real())):
            yield self._dialogue(key, self._recommender(key), silence)

    def shared_dialogues(self) -> Iterator[Dialogue]:
        """Yield the conversations of the null recommender with a fixed list of questions and a
        fixed recipe.
        """
        for task, persona in product(self.tasks.values(), self.personas):
            key = ConversationKey(FIXED, task.name, persona, "", 0)
            lines = (*task.generic.questions, task.generic.recommendation.strip())
            yield self._dialogue(key, Voice(RECOMMENDER, lines=lines), self._user(key), len(lines))

    def config_hash(self) -> str:
        """Return the hash of everything that models must share for their numbers to be comparable."""
        judged = [rubric.hash() for rubric in self.rubrics.values()] if self.judges else None
        judges = sorted(engine.hash for engine in self.judges.values())
        knobs = self.params.hashed(KNOBS) | {"conditions": self.conditions}
        wording = [PROMPTS, dict(BEGIN), MOST_HEARD, SCORES_VERSION]
        wording += [dict(self.templates)] if self.templates else []
        identity = ["explication", wording, knobs, self.materials, self.simulator.hash, judged, judges]
        return digest(json.loads(json.dumps(identity)))

    def _dialogue(self, key: ConversationKey, recommender: Voice, user: Voice, at_least: int = 0) -> Dialogue:
        turns = max(self.params.max_turns or MOST_TURNS, 2 * at_least)
        tokens = self.params.conversation_tokens
        rule, sample = partial(end_of, self.tasks[key.task]), f"{key.source}:{key.label}"
        return Dialogue(key, (recommender, user), rule, turns, tokens, sample)

    def _recommender(self, key: ConversationKey) -> Voice:
        task, p = self.tasks[key.task], self.params
        reminder = f"- {task.reminder}\n" if key.condition == "treatment" else ""
        fields = {"expert": task.expert, "goal": task.goal, "form": task.required}
        system = PROMPTS["recommender"].format(**fields, reminder=reminder)
        if own := self.templates.get(key.condition):
            system = filled(own, {**fields, "reminder": task.reminder})
        sampling = Sampling(p.temperature, max_tokens=p.max_tokens, seed=p.seed)
        return Voice(RECOMMENDER, system, self._said("begin"), sampling)

    def _said(self, name: str) -> str:
        """Return a fixed text of the conversation: a pack's, or the shipped one."""
        own = self.templates.get(name)
        return filled(own, {}) if own else str(BEGIN[name])

    def _user(self, key: ConversationKey) -> Voice:
        task, p = self.tasks[key.task], self.params
        fields = {"thing": task.thing, "wish": task.wish, "leave": LEAVE}
        fields["persona"] = self.described[key.persona, task.name]
        own = self.templates.get("simulator")
        system = filled(own, fields) if own else PROMPTS["simulator"].format(**fields)
        sampling = Sampling(p.temperature, max_tokens=p.simulator_max_tokens, seed=p.seed)
        return Voice(
            USER, system, sampling=sampling, role="simulator", engine=p.simulator,
            quote=lambda text: as_data(text, MOST_HEARD),
        )  # fmt: skip


def build_study(
    params: ExplicationParams, rows: Mapping[str, Sequence[Mapping[str, Any]]], engines: Mapping[str, Engine]
) -> ExplicationStudy:
    """Build the study of the chosen tasks and personas.

    Args:
        rows: of the tables explication_persona, country and dish, and tasks of packs.
        engines: simulator and judges, by the names that the params give them.

    Raises:
        ValueError: a task, persona or rubric is broken or not there, a judge is named twice, or personas are
            both added to and replaced.
    """
    if params.personas_file and params.pack:
        raise ValueError(
            "--pack adds to the shipped personas and --personas-file replaces them: use one or the other"
        )
    judges = judges_by_name(params.judges, engines)
    of_packs = {task.name: task for task in map(ExplicationTask.model_validate, rows.get("task", ()))}
    tasks = [of_packs[name] if name in of_packs else load_task(name) for name in params.tasks]
    if len({task.name for task in tasks}) < len(tasks):
        raise ValueError(f"tasks: {', '.join(task.name for task in tasks)}: name each task once")
    personas = _personas(params, rows)
    own = templates(rows)
    return ExplicationStudy(
        params,
        {task.name: task for task in tasks},
        {persona.persona: persona for persona in personas},
        Dishes.of(rows["dish"]),
        engines[params.simulator],
        judges,
        {name: _rubric(name, params.judge_style, own) for name in RUBRICS},
        own,
    )


def _rubric(name: str, style: JudgeStyle, own: Templates) -> Rubric:
    """Return the shipped rubric in a style, with a pack's rules, question and form if it has any."""
    rubric = load_rubric(FOLDER / "rubrics" / f"{name}.toml").in_style(style)
    form, rules = own.get("judge_form"), filled(own[name], {}) if name in own else None
    question = own.get(f"{name}_question")
    is_stated = states_form(rules or "", question or "")
    if style == "reasoned" and form is None and name in OVERALL and not is_stated:
        form = REASONED.replace("TOP", f"{rubric.scale[-1][0]:g}")
    return rubric.reworded(rules, question, form)


def _personas(params: ExplicationParams, rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Persona]:
    """Return the chosen personas, by identifier."""
    where = params.personas_file or "explication_persona"
    if params.personas_file:
        personas = read_personas(Path(where).expanduser())
    else:
        personas = personas_of(rows["persona"], where)
    countries = {row["country"] for row in rows["country"]}
    for persona in personas:
        if unknown := {persona.country, *persona.cuisine_countries} - countries:
            raise ValueError(f"{where}, {persona.persona}: no country has the code {', '.join(unknown)}")
    by_name = {persona.persona: persona for persona in sorted(personas, key=lambda p: p.persona)}
    if unknown := set(params.personas or ()) - by_name.keys():
        raise ValueError(f"personas: unknown {', '.join(sorted(unknown))}; known: {', '.join(by_name)}")
    chosen = [p for name, p in by_name.items() if params.personas is None or name in params.personas]
    return _spread(chosen, fewest(params.max_personas, params.limit))


def _spread(personas: Sequence[Persona], n: int | None) -> list[Persona]:
    """Return the first n in a fixed random order that takes each cuisine once before any cuisine repeats."""
    if n is None or n >= len(personas):
        return list(personas)
    seen: dict[str, int] = {}
    ranked: list[tuple[int, int, Persona]] = []
    for persona in sorted(personas, key=lambda p: digest(["explication", p.persona])):
        seen[persona.cuisine] = seen.get(persona.cuisine, 0) + 1
        ranked.append((seen[persona.cuisine], len(ranked), persona))
    return sorted((p for *_, p in sorted(ranked, key=lambda r: r[:2])[:n]), key=lambda p: p.persona)
