"""The library of lm-evaluation-harness: tasks built, their documents and requests, and its own scoring.

Only this file imports it, inside of functions because that takes seconds. The library builds, filters and
scores; our loop sends the prompts.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import json
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from tasks.engines.protocols import Context, Message
from tasks.evaluations.harness import examples, form, labels, sources, templates
from tasks.identity import digest

VERSION = "0.4.13"
"""Version of the library, part of config_hash, because other versions may build other prompts."""
MISSING = f"""tasks of the harness need it: pip install ".[harness]" in a checkout (lm-eval {VERSION})"""

Responses = Sequence[Any]
"""A model's results for a document's instances: each (log-probability, is greedy), or texts."""


class Chat(str):
    """A conversation that the library treats as rendered text; the model's own template renders it later."""

    messages: list[Message]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> Chat:
        own = cls(json.dumps([dict(message) for message in messages], ensure_ascii=False))
        own.messages = [dict(message) for message in messages]
        return own


@dataclass(frozen=True)
class _Failed:
    """Stands for the result of a filter that fails."""

    why: str


@dataclass(frozen=True, eq=False)
class HarnessTask:
    """A built task: its documents with their requests.

    Attributes:
        library: the library's own task.
        documents: id (index from 0) -> fields, for the chosen documents. n_documents: number of all
            documents. instances: id -> requests. without: the same without the question; empty if that is
            impossible, for the reason ``why_not``. config: the settings in its YAML.
    """

    name: str
    library: Any
    documents: Mapping[int, Mapping[str, Any]]
    n_documents: int
    instances: Mapping[int, Sequence[Any]]
    without: Mapping[int, Sequence[Any]] = field(default_factory=dict)
    why_not: str = ""
    config: Mapping[str, Any] = field(default_factory=dict)

    @property
    def writes(self) -> bool:
        """Return whether a model writes a text; otherwise continuations are scored."""
        return str(self.library.OUTPUT_TYPE) == "generate_until"

    @property
    def chooses(self) -> bool:
        """Whether a document has options."""
        return str(self.library.OUTPUT_TYPE) == "multiple_choice"

    @cached_property
    def filters(self) -> list[str]:
        """Return the names of the library's filters, in order."""
        return [own.name for own in self.library._filters]

    def choices(self, doc: int) -> list[str]:
        """Return the options of a document."""
        return labels.choices(self, self.documents[doc])

    @cached_property
    def golds(self) -> dict[int, Any]:
        """Return the right answers by id: the index of the option, or several; else a text."""
        return {doc: labels.gold(self, fields) for doc, fields in self.documents.items()}

    @cached_property
    def wrong_labels(self) -> dict[int, str]:
        """Return the documents whose right answer is none of their options, each with the reason."""
        return labels.wrong(self)

    def target(self, doc: int) -> str:
        """Return right answers in words, separated by |."""
        gold = self.golds[doc]
        if self.chooses:
            choices = self.choices(doc)
            places = gold if isinstance(gold, list) else [gold]
            known = (place for place in places if isinstance(place, int) and 0 <= place < len(choices))
            return " | ".join(choices[place] for place in known)
        return " | ".join(map(str, gold)) if isinstance(gold, list) else str(gold)

    def scored(
        self, responses: Mapping[int, Responses], instances: Mapping[int, Sequence[Any]] | None = None
    ) -> dict[int, dict[str, Any]]:
        """Score responses by the library's own filters and scoring: id -> metric -> value.

        A document on which these fail has the reason as its only value, under "".
        """
        own = instances or self.instances
        settings = {
            doc: [_with(i, r) for i, r in zip(own[doc], rs, strict=True)] for doc, rs in responses.items()
        }
        flat = [instance for some in settings.values() for instance in some]
        if not flat:
            return {}
        with quiet():
            for each in self.library._filters:
                self._filtered(each, flat, list(settings.values()))
            return {doc: self._processed(doc, some) for doc, some in settings.items()}

    def _filtered(self, ensemble: Any, flat: list[Any], by_document: Sequence[list[Any]]) -> None:
        """Apply a filter; if it fails on some documents, these have the reason in place of its result."""
        try:
            ensemble.apply(flat)
        except Exception:  # a filter, on any text
            for some in by_document:
                try:
                    ensemble.apply(some)
                except Exception as error:
                    for instance in some:
                        instance.filtered_resps[ensemble.name] = _Failed(sources._first_line(error))

    @cached_property
    def filter_troubles(self) -> list[str]:
        """Return what is wrong with filters, each in words, by what they do with each right answer."""
        if not self.writes:
            return []
        troubles = []
        for ensemble in self.library._filters:
            failed = 0
            for doc, gold in self.golds.items():
                text = str(gold[0]) if isinstance(gold, list) and gold else str(gold)
                some = [_with(self.instances[doc][0], [text] * (self.instances[doc][0].repeats or 1))]
                self._filtered(ensemble, some, [some])
                failed += isinstance(some[0].filtered_resps[ensemble.name], _Failed)
            if failed:
                troubles.append(
                    f"its filter {ensemble.name!r} fails on {failed} of {len(self.golds)} right answers"
                )
        return troubles

    def _processed(self, doc: int, instances: Sequence[Any]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for name in self.filters:
            filtered = [instance.filtered_resps[name] for instance in instances]
            values |= self._one(doc, filtered, "" if len(self.filters) == 1 else f"_{name}")
        return values

    def score_given(self, doc: int, filtered: Sequence[Any]) -> dict[str, Any]:
        """Return the metrics of given answers, treated as the output of every filter."""
        values: dict[str, Any] = {}
        with quiet():
            for name in self.filters:
                values |= self._one(doc, filtered, "" if len(self.filters) == 1 else f"_{name}")
        return values

    def _one(self, doc: int, filtered: Sequence[Any], ending: str) -> dict[str, Any]:
        if doc in self.wrong_labels:
            return {"": self.wrong_labels[doc]}
        if failed := next((each for each in filtered if isinstance(each, _Failed)), None):
            return {"": f"the task's filter fails: {failed.why}"}
        try:
            values = self.library.process_results(dict(self.documents[doc]), list(filtered))
        except Exception as error:  # a task's own code, on any text
            return {"": f"the task's scoring fails: {sources._first_line(error)}"}
        return {metric_name(f"{metric}{ending}"): value for metric, value in values.items()}

    @cached_property
    def aggregations(self) -> dict[str, tuple[Callable[[Any], Any] | None, bool]]:
        """Return metric -> (the library's aggregation, None for the mean; whether higher is better)."""
        from lm_eval.api.metrics import mean

        by, better = self.library.aggregation(), self.library.higher_is_better()
        endings = [""] if len(self.filters) == 1 else [f"_{name}" for name in self.filters]
        return {
            metric_name(f"{metric}{ending}"): (None if how is mean else how, bool(better.get(metric, True)))
            for metric, how in by.items()
            for ending in endings
        }

    @property
    def main(self) -> str:
        """Return the task's first metric, after its first filter."""
        return next(iter(self.aggregations), "")

    @cached_property
    def identity(self) -> list[Any]:
        """Return all requests and the scoring as JSON."""
        requests = [
            [doc, [_asked(instance) for instance in some], str(self.golds[doc])]
            for doc, some in self.instances.items()
        ]
        config = {k: _named(v) for k, v in vars(self.library.config).items() if k not in _PLACES}
        return [self.name, config, digest([_json(d) for d in self.documents.values()]), digest(requests)]


_PLACES = {"dataset_path", "dataset_name", "dataset_kwargs", "metadata", "task_alias", "tag"}
"""Fields of a config that locate data or change nothing; the data themselves are hashed."""


def load_tasks(
    specs: Sequence[str],
    data: Mapping[str, str],
    revision: Mapping[str, str],
    fewshot: int | None,
    fewshot_seed: int,
    choose: Callable[[Sequence[Mapping[str, Any]]], Sequence[int]],
    chat: bool,
    multiturn: bool,
    system: str,
) -> list[HarnessTask]:
    """Build each task and its requests once, in the order of names.

    Args:
        specs: names of tasks, groups or tags, or YAML files. data, revision: see ``sources.data_of``.
        fewshot: examples before each document; None: as the task says.
        choose: documents -> ids of those that are asked, in ascending order.

    Raises:
        ValueError: the library is not installed, or a task has the named error.
    """
    try:
        with quiet():
            import datasets
        manager = _manager(not all(sources.is_task(spec) for spec in specs))
    except ImportError as error:
        raise ValueError(MISSING) from error
    datasets.disable_progress_bars()
    datasets.config.HF_UPDATE_DOWNLOAD_COUNTS = False  # a request to a server, for files of this machine too
    every: dict[str, sources.Entry] = {}
    for entry in (each for spec in specs for each in sources.entries(manager, spec)):
        if every.setdefault(entry.name, entry) != entry:
            raise ValueError(f"--tasks: two tasks are called {entry.name!r}: rename one of them")
    sources.check_shared(every.values(), data)
    tasks: dict[str, HarnessTask] = {}
    for entry in every.values():
        replaced = sources.data_of(entry, data, revision)
        asks = _Asks(built(entry, replaced, fewshot, fewshot_seed), fewshot_seed, chat, multiturn, system)
        tasks[entry.name] = replace(asks.task(entry.name, choose), config=entry.config)
    if not tasks:
        raise ValueError(f"--tasks: {', '.join(specs)} matches no task")
    return [tasks[name] for name in sorted(tasks)]


@cache
def _manager(with_its_own: bool) -> Any:
    """Return the library's index; without its own thousands of files if only files of tasks are named.

    It takes seconds to make, and building a task does not change it.
    """
    with quiet():
        import lm_eval.utils
        from lm_eval.tasks import TaskManager

        templates.hold(lm_eval.utils)
        return TaskManager(include_defaults=with_its_own)


def built(entry: sources.Entry, replaced: Mapping[str, Any], fewshot: int | None, fewshot_seed: int) -> Any:
    """Return the library's task for what has been checked: it reads no YAML itself.

    Raises:
        ValueError: it cannot be built, or asks for more than text.
    """
    from lm_eval.tasks._index import Entry, Kind

    factory = _manager(False)._factory

    try:
        with quiet():
            config = form.resolved({**entry.config, **replaced})
            kind = Kind.PY_TASK if "class" in config else Kind.TASK
            task = factory.build(Entry(entry.name, kind, None, config), registry={})
    except Exception as error:  # data sets, templates and configs may raise anything
        reason = sources._first_line(error)
        if isinstance(error, IndexError):
            reason += "; the library tries its first document: is its label one of its options, from 0 on?"
        raise ValueError(f"task {entry.name!r} cannot be built: {reason}") from error
    kind = str(task.OUTPUT_TYPE)
    if kind not in ("loglikelihood", "multiple_choice", "generate_until") or getattr(
        task, "MULTIMODAL", False
    ):
        what = "images or sound" if getattr(task, "MULTIMODAL", False) else f"output_type {kind}"
        raise ValueError(
            f"task {entry.name!r} has {what}: only loglikelihood, multiple_choice and generate_until over "
            "text are run"
        )
    own = task.get_config("num_fewshot")
    if fewshot is not None and own != 0:
        task.set_config("num_fewshot", fewshot)
    elif own is None:
        task.set_config("num_fewshot", 0)
    task.set_fewshot_seed(seed=fewshot_seed)
    if examples.source(task) == examples.EVALUATED:
        examples.Sampler(task).hold()
    return task


@dataclass
class _Asks:
    """Makes the requests of one task, with and without the question."""

    library: Any
    seed: int
    chat: bool
    multiturn: bool
    system: str

    def task(self, name: str, choose: Callable[[Sequence[Mapping[str, Any]]], Sequence[int]]) -> HarnessTask:
        documents = [dict(doc) for doc in self.library.eval_docs]
        if not documents:
            raise ValueError(f"task {name!r} has no document")
        ids = list(choose(documents))
        chosen = {i: documents[i] for i in ids}
        instances = self._instances(name, chosen)
        without, why_not = {}, self._why_not()
        if not why_not:
            blanked = {i: self._blanked(doc) for i, doc in chosen.items()}
            without = self._instances(name, blanked)
            if all(map(_same, without.values(), instances.values())):
                without, why_not = {}, "the prompt without the question is the prompt"
        return HarnessTask(name, self.library, chosen, len(documents), instances, without, why_not)

    def _instances(self, name: str, documents: Mapping[int, Mapping[str, Any]]) -> dict[int, list[Any]]:
        """Return the instances that the library's own code builds of these documents, by id."""
        library = self.library
        library.set_fewshot_seed(seed=self.seed)
        library.doc_iterator = lambda **_: iter(documents.items())
        try:
            with quiet():
                library.build_all_requests(
                    system_instruction=self.system or None,
                    apply_chat_template=self.chat,
                    fewshot_as_multiturn=self.multiturn,
                    chat_template=_template if self.chat else None,
                )
        except Exception as error:
            raise ValueError(
                f"task {name!r}: its prompts cannot be built: {sources._first_line(error)}"
            ) from error
        finally:
            del library.doc_iterator
        by_document: dict[int, list[Any]] = {}
        for instance in library.instances:
            by_document.setdefault(instance.doc_id, []).append(instance)
        return {doc: sorted(some, key=lambda instance: instance.idx) for doc, some in by_document.items()}

    def _why_not(self) -> str:
        """Return why there is no prompt without the question; "" if there is one."""
        if str(self.library.OUTPUT_TYPE) != "multiple_choice" or self.library.multiple_input:
            return "only prompts with options after them are asked without the question"
        if not self._question():
            return "its prompt names no field that options and answer do not need"
        if examples.source(self.library) == examples.EVALUATED:
            return "examples come from the documents themselves"
        return ""

    def _question(self) -> list[str]:
        """Return the fields that the prompt shows and that neither options nor answer use."""
        config, features = self.library.config, list(self.library.features)
        fields = _fields(config.doc_to_text, features)
        return sorted(
            fields - _fields(config.doc_to_choice, features) - _fields(config.doc_to_target, features)
        )

    def _blanked(self, doc: Mapping[str, Any]) -> dict[str, Any]:
        blank = {name: "" for name in self._question() if isinstance(doc.get(name), str)}
        return {**doc, **blank}


def _template(messages: Sequence[Message], add_generation_prompt: bool = True) -> Chat:
    return Chat.of(messages)


def context_of(instance: Any) -> Context:
    """Return the raw text or the conversation that a model is to continue."""
    context = instance.args[0]
    return tuple(context.messages) if isinstance(context, Chat) else str(context)


def metric_name(name: str) -> str:
    """Return a metric's name as a column name: small letters, digits and underscores."""
    plain = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return plain if plain[:1].isalpha() else f"m_{plain}"


def _fields(template: Any, features: Sequence[str]) -> set[str]:
    """Return the fields that a template of the library uses; none for a function."""
    if not isinstance(template, str):
        return set()
    if template in features:
        return {template}
    from jinja2 import TemplateError, meta

    try:
        return meta.find_undeclared_variables(templates.Bounded().parse(template)) & set(features)
    except TemplateError:
        return set()


def _with(instance: Any, response: Any) -> Any:
    own = copy.copy(instance)
    own.resps, own.filtered_resps = list(response) if isinstance(response, list) else [response], {}
    return own


def _same(first: Sequence[Any], second: Sequence[Any]) -> bool:
    return [_asked(instance) for instance in first] == [_asked(instance) for instance in second]


def _asked(instance: Any) -> list[Any]:
    return [str(part) if isinstance(part, str) else _named(part) for part in instance.args]


def _named(value: Any) -> Any:
    """Return a part of a config as JSON: functions by their source."""
    if callable(value):
        try:
            return inspect.getsource(value)
        except (OSError, TypeError):
            return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"
    if hasattr(value, "__dataclass_fields__"):
        return {name: _named(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(key): _named(own) for key, own in value.items()}
    if isinstance(value, list | tuple | set):
        return [_named(own) for own in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _json(doc: Mapping[str, Any]) -> Any:
    return json.loads(json.dumps(doc, default=str, ensure_ascii=False, sort_keys=True))


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence the library's progress bars and warnings within the block."""
    logger = logging.getLogger("lm_eval")
    before, logger.level = logger.level, logging.ERROR
    with contextlib.redirect_stderr(io.StringIO()):
        try:
            yield
        finally:
            logger.level = before
