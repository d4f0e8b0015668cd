"""Requests for documents of lm-evaluation-harness: as they are, and with another or no question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast

from pydantic import Field

from tasks.engines.protocols import RAW, Sampling, TextPair
from tasks.evaluations.contract import GenerationParams, Rows
from tasks.evaluations.harness import form, kept
from tasks.evaluations.harness.library import VERSION, HarnessTask, context_of, load_tasks
from tasks.evaluations.recipe.study import HEADLINE
from tasks.identity import digest
from tasks.loop.pairs import Document, Pairs
from tasks.loop.positions import NO_ORDER, Order, are_labels, has_order, lettered
from tasks.loop.prompts import Prompt, Prompts
from tasks.loop.requests import Engine, Request
from tasks.loop.rows import Clustered, Slice, slices
from tasks.metrics.types import BoolArray

SCORES_VERSION = 5
"""Version, part of config_hash; raise it whenever a change in reading or computing changes a number."""

NO_QUESTION, OTHER_QUESTION = "no_question", "other_question"
CONDITIONS = (HEADLINE, NO_QUESTION, OTHER_QUESTION)

CLUSTERS = {
    "arab_culture": "country",
    "include_base": "subject",
    "global_mmlu": "subject",
    "copal_id": "category",
}
"""Cluster fields of known cultural tasks, by the beginning of their names."""

KNOBS = {"metric", "slice", "seed"}
"""Params that are in config_hash by value; prompts, documents and clusters are there by content."""

OWN = "the documents themselves"
_DEFAULT_TOKENS = 256


class HarnessParams(GenerationParams):
    """Tasks of lm-evaluation-harness, with nulls, clusters and intervals."""

    tasks: list[str] = Field([], description="names of tasks, groups or tags of the harness, or YAML files")
    data: dict[str, str] = Field(
        {}, description="file or folder to use instead of a task's own data; the key * stands for every task"
    )
    revision: dict[str, str] = Field(
        {}, description="commit of a data set of the hub, as 40 hex digits; a data set without one is refused"
    )
    fewshot: int | None = Field(
        None, ge=0, description="number of few-shot examples before each document; empty: the task's own"
    )
    fewshot_seed: int = Field(
        1234, ge=0, description="seed of the few-shot examples, for tasks that draw them at random"
    )
    chat: bool = Field(False, description="whether prompts are wrapped in the model's chat template")
    multiturn: bool = Field(False, description="with a chat template: whether examples are separate turns")
    system: str = Field(
        "", description="system prompt of the chat template; without a template, it precedes the prompt"
    )
    cluster: str = Field(
        "", description="field of the documents whose values are the clusters of the intervals"
    )
    slice: list[str] = Field(
        [], description="fields of the documents; results are broken down by their values"
    )
    metric: str = Field("", description="metric that is the headline; empty: the first metric of each task")
    limit: int | None = Field(None, ge=1, description="documents of each task, spread over clusters")
    batch: int = Field(128, ge=1, description="documents that are answered and stored together")


@dataclass(frozen=True)
class HarnessItem:
    """One document of one task.

    Attributes:
        cluster: label shared by related documents. fields: values for slices, "" if missing.
    """

    name: str
    task: HarnessTask
    doc: int
    cluster: str
    fields: Mapping[str, str]


@dataclass(frozen=True)
class HarnessStudy(Clustered):
    """All requests, independent of the model.

    Attributes:
        items: in the order of tasks, then documents; all arrays have this order. clustered_by: cluster field
            of each task, or OWN.
    """

    params: HarnessParams
    tasks: Mapping[str, HarnessTask]
    items: tuple[HarnessItem, ...]
    clustered_by: Mapping[str, str]
    computed: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)

    def slices(self) -> Iterator[tuple[Slice, BoolArray]]:
        """Yield every slice with its items: the overall one, then tasks if there are several, then fields."""
        columns = {name: [item.fields[name] for item in self.items] for name in self.params.slice}
        if len(self.tasks) > 1:
            columns = {"task": [item.task.name for item in self.items]} | columns
        return slices(columns, len(self.items))

    @cached_property
    def others(self) -> Mapping[str, str]:
        """Return another item of the task for each item: the next of another cluster in a fixed random ring.

        Items without one are left out.
        """
        tasks: dict[str, str] = {}
        for task in self.tasks:
            own = [item for item in self.items if item.task.name == task]
            ring = sorted(own, key=lambda item: digest([item.name]))
            for place, item in enumerate(ring):
                steps = (ring[(place + step) % len(ring)] for step in range(1, len(ring)))
                other = next((each for each in steps if each.cluster != item.cluster), None)
                if other is not None:
                    tasks[item.name] = other.name
        return tasks

    @cached_property
    def orders(self) -> Sequence[Order]:
        """Return each item's options in the order that its prompt shows (``_orders``)."""
        by_task = (_orders(task, [i for i in self.items if i.task is task]) for task in self.tasks.values())
        known = {name: order for own in by_task for name, order in own.items()}
        return [known[item.name] for item in self.items]

    @cached_property
    def by_name(self) -> Mapping[str, HarnessItem]:
        """Name -> item."""
        return {item.name: item for item in self.items}

    @cached_property
    def materials(self) -> dict[str, str]:
        """Implement ``contract.Study``."""
        return {"item": digest([task.identity for task in self.tasks.values()])}

    def config_hash(self) -> str:
        """Implement ``contract.Study``."""
        knobs, clusters = self.params.hashed(KNOBS), digest(self.clusters.tolist())
        return digest(["harness", SCORES_VERSION, VERSION, self.materials, clusters, knobs])

    def keep(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the cached value of a key, or make it now."""
        if key not in self.computed:
            self.computed[key] = make()
        return self.computed[key]

    def asked(self, item: HarnessItem, condition: str) -> Document | list[Prompt] | None:
        """Return an item's requests: pairs, or a prompt for each repetition; None if there are none."""
        return cast(
            "Document | list[Prompt] | None",
            self.keep((item.name, condition), lambda: self._asked(item, condition)),
        )

    def _asked(self, item: HarnessItem, condition: str) -> Document | list[Prompt] | None:
        task, instances = item.task, item.task.instances[item.doc]
        if task.writes:
            return None if condition else [_prompt(instances[0], n) for n in range(instances[0].repeats or 1)]
        if condition == NO_QUESTION:
            if item.doc not in task.without:
                return None
            instances = task.without[item.doc]
        pairs = tuple(TextPair(context_of(each), str(each.args[1])) for each in instances)
        if condition == OTHER_QUESTION:
            other = self.others.get(item.name)
            if other is None or task.library.multiple_input:
                return None
            contexts = [context_of(each) for each in task.instances[self.by_name[other].doc]]
            # An empty context is kept, because a metric compares with it.
            pairs = tuple(pair if pair.context == "" else TextPair(contexts[0], pair[1]) for pair in pairs)
        return Document(pairs)

    def requests(self) -> list[Request[Any]]:
        """Return all requests, in the order of answering."""
        requests: list[Request[Any]] = []
        for task in self.tasks.values():
            own = [item for item in self.items if item.task is task]
            for condition in CONDITIONS:
                requests += self._of_task(task, own, condition)
        return requests

    def of_items(self, places: Sequence[int]) -> HarnessStudy:
        """Return the study of some items, by their positions."""
        return replace(self, items=tuple(self.items[place] for place in places))

    def headline_requests(self) -> list[Request[Any]]:
        """Return the requests without those of controls."""
        by_task = ((task, [item for item in self.items if item.task is task]) for task in self.tasks.values())
        return [request for task, own in by_task for request in self._of_task(task, own, HEADLINE)]

    def _of_task(self, task: HarnessTask, items: Sequence[HarnessItem], condition: str) -> list[Request[Any]]:
        requests = [each for item in items if (each := self.asked(item, condition)) is not None]
        if not requests:
            return []
        label, batch = f"{task.name} {condition}".strip(), self.params.batch
        if task.writes:
            prompts = [prompt for some in requests for prompt in cast(list[Prompt], some)]
            sampling = sampling_of(task, self.params.seed)
            return [Prompts(topic=task.name, label=label, batch=batch, prompts=prompts, sampling=sampling)]
        documents = cast(list[Document], requests)
        return [Pairs(topic=task.name, label=label, batch=batch, documents=documents)]


def build_study(
    params: HarnessParams,
    tables: Mapping[str, Rows],
    engines: Mapping[str, Engine],
    stored: Rows | None = None,
) -> HarnessStudy:
    """Build the tasks and choose the documents, or take both from what an earlier run stored.

    Raises:
        ValueError: no task is named, a task cannot be built, or a field is missing; says what to do.
    """
    if not params.tasks:
        raise ValueError("--tasks: name a task of lm-evaluation-harness, or a YAML file of one")
    if params.multiturn and not params.chat:
        raise ValueError("--multiturn needs chat turns: add --chat")
    tasks = kept.tasks_of(stored, params.fewshot, params.fewshot_seed) if stored else load_tasks(
        params.tasks, params.data, params.revision, params.fewshot, params.fewshot_seed,
        lambda documents: _chosen(documents, params.cluster, params.limit),
        params.chat, params.multiturn, params.system,
    )  # fmt: skip
    by = {task.name: _cluster_field(task, params.cluster) for task in tasks}
    items = []
    for task in tasks:
        sampling_of(task, params.seed)
        for doc, fields in task.documents.items():
            _check_fields(task.name, fields, params.slice)
            name = f"{task.name}:{doc:06d}"
            cluster = name if by[task.name] == OWN else str(fields[by[task.name]])
            items.append(HarnessItem(name, task, doc, cluster, {s: str(fields[s]) for s in params.slice}))
    if params.metric and not any(params.metric in task.aggregations for task in tasks):
        known = sorted({metric for task in tasks for metric in task.aggregations})
        raise ValueError(f"--metric: no task has {params.metric!r}; known: {', '.join(known)}")
    return HarnessStudy(params, {task.name: task for task in tasks}, tuple(items), by)


def _orders(task: HarnessTask, items: Sequence[HarnessItem]) -> dict[str, Order]:
    """Return item -> its options' order in the prompt: named by letters, or all shown; none if it shows none.

    Of written answers it is known where all right ones are letters.
    """
    if task.writes:
        golds = [own if isinstance(own := task.golds[item.doc], list) else [own] for item in items]
        orders = lettered([str(own[0]) if own else "" for own in golds])
        return dict(zip((item.name for item in items), orders, strict=True))
    options = {item.name: task.choices(item.doc) if task.chooses else [] for item in items}
    if task.library.multiple_input or not task.chooses or not has_order(list(options.values())):
        return dict.fromkeys(options, NO_ORDER)
    orders_of = {}
    for item in items:
        own, gold = options[item.name], task.golds[item.doc]
        context = context_of(task.instances[item.doc][0])
        text = context if isinstance(context, str) else "\n".join(turn["content"] for turn in context)
        is_shown = are_labels(own) or all(option.strip() in text for option in own)
        right = [] if item.doc in task.wrong_labels else gold if isinstance(gold, list) else [gold]
        orders_of[item.name] = Order(right, len(own)) if is_shown else NO_ORDER
    return orders_of


def sampling_of(task: HarnessTask, seed: int) -> Sampling:
    """Return how a task's texts are drawn; raises ValueError for settings that no engine here has."""
    if not task.writes:
        return Sampling()
    own = form.generation(task.name, task.library.config.generation_kwargs)
    if own.num_beams > 1:
        raise ValueError(f"task {task.name!r}: generation_kwargs: num_beams: no engine here has beams")
    until = [own.until] if isinstance(own.until, str) else own.until or []
    is_drawn = own.do_sample or (own.do_sample is None and bool(own.temperature))
    return Sampling(
        temperature=own.temperature or 1.0 if is_drawn else 0.0,
        top_p=own.top_p if is_drawn else 1.0,
        max_tokens=own.max_gen_toks or _DEFAULT_TOKENS,
        seed=seed,
        stop=tuple(filter(None, until)),
    )


def _prompt(instance: Any, repetition: int) -> Prompt:
    context = context_of(instance)
    messages = [{"role": RAW, "content": context}] if isinstance(context, str) else list(context)
    return Prompt(messages, sample=str(repetition) if repetition else "")


def _chosen(documents: Sequence[Mapping[str, Any]], cluster: str, n: int | None) -> Sequence[int]:
    """Return ids of at most n documents: one of each cluster, then a second, in the order of a hash."""
    if n is None or n >= len(documents):
        return range(len(documents))
    taken: dict[str, int] = {}
    ranked: list[tuple[int, int, int]] = []
    for i in sorted(range(len(documents)), key=lambda i: digest([i])):
        of = str(documents[i].get(cluster, i))
        taken[of] = taken.get(of, 0) + 1
        ranked.append((taken[of], len(ranked), i))
    return sorted(i for *_, i in sorted(ranked)[:n])


def _cluster_field(task: HarnessTask, named: str) -> str:
    """Return the field whose values are the clusters, or OWN."""
    fields = next(iter(task.documents.values()))
    if named:
        _check_fields(task.name, fields, [named], "--cluster")
        return named
    known = next((own for start, own in CLUSTERS.items() if task.name.startswith(start)), OWN)
    return known if known in fields else OWN


def _check_fields(
    task: str, fields: Mapping[str, Any], wanted: Sequence[str], option: str = "--slice"
) -> None:
    for name in wanted:
        if name not in fields:
            there = ", ".join(sorted(map(str, fields)))
            raise ValueError(f"{option}: documents of {task!r} have no field {name!r}; they have: {there}")
