"""Read a task's YAML, with what it includes, and check everything in it before the library sees it.

Without ``--trust-remote-code`` a task may hold only what is listed here. Any other name is refused, since the
library would import it, download it or open it as a file.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from tasks.engines.specs import is_allowed

METRICS = frozenset({
    "acc", "acc_bytes", "acc_mutual_info", "acc_norm", "bits_per_byte", "bleu", "brier_score", "bypass",
    "byte_perplexity", "chrf", "chrf++", "exact_match", "f1", "likelihood", "mcc", "perplexity", "ter",
    "word_perplexity",
})  # fmt: skip
"""Metrics of the library. Of any other name it imports a module: of a file, or of the hub."""
AGGREGATIONS = frozenset({
    "bits_per_byte", "bleu", "brier_score", "bypass", "chrf", "chrf++", "f1", "matthews_corrcoef", "mean",
    "median", "nanmean", "perplexity", "ter", "weighted_perplexity",
})  # fmt: skip
SAMPLERS = frozenset({"default", "first_n"})
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""Names of the most tokens of a text, all of which the library knows."""
MOST_REPEATS, MOST_EXAMPLES = 1_000, 1_000
OUTPUT_TYPES = frozenset({"loglikelihood", "loglikelihood_rolling", "multiple_choice", "generate_until"})

CODE = "it runs code ({what}): review it, then add --trust-remote-code"
_MOST_BYTES = 4_000_000
_MOST_VALUES = 200_000
"""Values of a YAML, aliases written out: a few lines can stand for billions."""


@dataclass(frozen=True)
class Function:
    """A function that a task names after ``!function``, and the folder of its module."""

    name: str
    folder: Path


class Loader(yaml.CSafeLoader):  # type: ignore[misc]
    """Reads plain YAML, and ``!function`` as a ``Function`` that is not imported."""

    folder = Path()


def _function(loader: Loader, node: yaml.Node) -> Function:
    name = loader.construct_scalar(node) if isinstance(node, yaml.ScalarNode) else "?"
    return Function(str(name), loader.folder)


Loader.add_constructor("!function", _function)


def load(path: Path, root: Path) -> dict[str, Any]:
    """Return a task's YAML with the files that it includes; no function is imported.

    Args:
        root: folder outside of which nothing is read, symbolic links resolved.

    Raises:
        ValueError: a file is outside of the folder, is no YAML mapping, or includes itself.
    """
    return _load(path, root.resolve(), ())


def _load(path: Path, root: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    path = within(path, root, "includes")
    if path in above:
        raise ValueError(f"{path.name} includes itself")
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"{path.name} has more than {_MOST_BYTES:,} bytes")
    loader = Loader(path.read_text("utf-8-sig"))
    loader.folder = path.parent
    try:
        own = loader.get_single_data()
    except yaml.constructor.ConstructorError as error:
        raise ValueError(f"{path.name}: {error.problem}: only plain YAML and !function are read") from error
    finally:
        loader.dispose()
    if not isinstance(own, dict):
        raise ValueError(f"{path.name} is not a YAML mapping")
    if sum(1 for _ in _values(own)) > _MOST_VALUES:
        raise ValueError(f"{path.name} has more than {_MOST_VALUES:,} values")
    included = own.pop("include", None)
    merged: dict[str, Any] = {}
    for each in included if isinstance(included, list) else [included] if included is not None else []:
        if not isinstance(each, str):
            raise ValueError(f"{path.name}: include is not the name of a file")
        merged |= {
            k: v for k, v in _load(path.parent / each, root, (*above, path)).items() if k != "task_list"
        }
    return merged | own


def within(path: Path, root: Path, verb: str = "reads") -> Path:
    """Return a file's own place, links resolved; raises ValueError if it is no file of a folder."""
    resolved = path.resolve()
    if not resolved.is_relative_to(root):
        raise ValueError(f"it {verb} {str(path)!r}, outside of the task's folder: copy the file there")
    if not resolved.is_file():
        raise ValueError(f"it {verb} {str(path)!r}, which is no file")
    return resolved


def _values(value: Any) -> Iterator[Any]:
    """Yield every key and value at any depth, one more than the most at most."""
    left, n = [value], 0
    while left and n <= _MOST_VALUES:
        each, n = left.pop(), n + 1
        yield each
        if isinstance(each, Mapping):
            left += [*each.keys(), *each.values()]
        elif isinstance(each, list | tuple | set):
            left += each


def check(name: str, config: Mapping[str, Any]) -> None:
    """Raise ValueError for a task that holds anything which is not listed here, unless code is permitted."""
    if is_allowed("remote-code"):
        return
    if (what := next(_code(config), None)) is not None:
        raise ValueError(f"task {name!r}: {CODE.format(what=what)}")
    try:
        _Form.model_validate(dict(config))
    except ValidationError as error:
        raise ValueError(f"task {name!r}: {_first(error)}") from error
    generation(name, config.get("generation_kwargs"))


def _first(error: ValidationError, words: Mapping[str, str] | None = None) -> str:
    """Return where the first error is, and what is wrong there. words: type of an error -> what is said."""
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"][:3])
    why = (words or _WORDS).get(first["type"], str(first["msg"]).removeprefix("Value error, "))
    return f"{where}: {why}" if where else why


_WORDS = {
    "extra_forbidden": "there is no such setting: leave it out (if code of the task needs it: review that, "
    "then add --trust-remote-code)"
}


def _code(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield everything that makes the library run code which is not its own."""
    for value in _values(config):
        if isinstance(value, Function):
            yield f"!function {value.name}"
    for key in ("class", "custom_dataset", "unsafe_code", "use_prompt"):
        if config.get(key):
            yield key
    if _dict(config.get("dataset_kwargs")).get("trust_remote_code"):
        yield "dataset_kwargs.trust_remote_code"
    for metric in _dicts(config.get("metric_list")):
        if metric.get("hf_evaluate"):
            yield "a metric of the hub, hf_evaluate"
        if not _is_one_of(metric.get("metric"), METRICS):
            yield f"the metric {metric.get('metric')!r}, which the library does not have"
        if "aggregation" in metric and not _is_one_of(metric["aggregation"], AGGREGATIONS):
            yield f"the aggregation {metric['aggregation']!r}, which the library does not have"
    for ensemble in _dicts(config.get("filter_list")):
        for one in _dicts(ensemble.get("filter")):
            if not _is_one_of(one.get("function"), FILTERS):
                yield f"the filter {one.get('function')!r}, which the library does not have"


def _is_one_of(value: Any, known: Collection[str]) -> bool:
    return isinstance(value, str) and value in known


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _one_of(known: Collection[str]) -> Any:
    def checked(value: str) -> str:
        if value not in known:
            raise ValueError(f"{value!r} is not one of {', '.join(sorted(known))}")
        return value

    return Annotated[str, AfterValidator(checked)]


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"it is no pattern: {error}") from error
    return value


_Pattern = Annotated[str, AfterValidator(_pattern)]


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class _Plain(_Closed):
    """A filter without settings."""


class _Map(_Closed):
    mapping_dict: dict[str | int | float, Any]
    default_value: Any = None


class _First(_Closed):
    k: int = Field(ge=1)


class _Regex(_Closed):
    regex_pattern: _Pattern = ""
    group_select: int = 0
    fallback: str = "[invalid]"


class _ChoiceRegex(_Regex):
    ignore_case: bool = False
    ignore_punctuation: bool = False
    regexes_to_ignore: list[_Pattern] | None = None


FILTERS: Mapping[str, type[_Closed]] = {
    **dict.fromkeys(
        (
            "format_span", "lowercase", "majority_vote", "remove_whitespace", "take_first", "uppercase",
        ),
        _Plain,
    ),
    "map": _Map,
    "multi_choice_regex": _ChoiceRegex,
    "regex": _Regex,
    "regex_pos": _Regex,
    "take_first_k": _First,
}  # fmt: skip
"""Filters of the library -> their settings. Its filter ``custom`` calls a function."""


def _filter(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Check the settings of a filter that the library has."""
    settings = {key: own for key, own in value.items() if key != "function"}
    name = str(value.get("function"))
    try:
        FILTERS[name].model_validate(settings)
    except ValidationError as error:
        raise ValueError(f"the filter {name!r}: {_first(error)}") from error
    return value


class Generation(_Closed):
    """Settings that say how a task's texts are drawn, all that engines here have. The library has more."""

    until: str | list[str] | None = None
    max_gen_toks: int | None = Field(None, ge=1, validation_alias=AliasChoices(*_LIMITS))
    do_sample: bool | None = None
    temperature: float | None = Field(None, ge=0, allow_inf_nan=False)
    top_p: float = Field(1.0, gt=0, le=1)
    num_beams: int = Field(1, ge=1)


def generation(task: str, settings: Any) -> Generation:
    """Return a task's ``generation_kwargs``, read; raises ValueError for an unknown or a wrong one."""
    try:
        return Generation.model_validate(settings or {})
    except ValidationError as error:
        known = ", ".join(sorted(Generation.model_fields.keys()))
        why = _first(error, {"extra_forbidden": "no engine here has it: leave it out"})
        raise ValueError(f"task {task!r}: generation_kwargs: {why} (known: {known})") from error


class _Metric(_Closed):
    metric: _one_of(METRICS)  # type: ignore[valid-type]
    aggregation: _one_of(AGGREGATIONS) = "mean"  # type: ignore[valid-type]
    higher_is_better: bool = True
    hf_evaluate: bool = False
    ignore_case: bool = False
    ignore_punctuation: bool = False
    ignore_numbers: bool = False
    regexes_to_ignore: list[_Pattern] | None = None
    average: str | None = None
    weight_by_size: bool = False


class _Ensemble(_Closed):
    name: str
    filter: list[Annotated[dict[str, Any], AfterValidator(_filter)]]


_Template = str | int | list[Any] | dict[str, Any] | None


class _Fewshot(_Closed):
    sampler: _one_of(SAMPLERS) = "default"  # type: ignore[valid-type]
    split: str | None = None
    fewshot_indices: list[int] | None = None
    samples: list[dict[str, Any]] | None = None
    doc_to_text: str | int | None = None
    doc_to_choice: _Template = None
    doc_to_target: _Template = None
    gen_prefix: str | None = None
    fewshot_delimiter: str | None = None
    target_delimiter: str | None = None


class _DatasetKwargs(_Closed):
    """Settings of the reader. Where files and commits lie is checked in ``sources``."""

    data_files: str | list[str] | dict[str, str | list[str]] | None = None
    revision: str | None = None
    trust_remote_code: bool = False
    column_names: list[str] | None = None
    header: int | None = None
    sep: str | None = None
    delimiter: str | None = None
    quotechar: str | None = None
    encoding: str | None = None
    field: str | None = None
    verification_mode: _one_of({"no_checks", "basic_checks", "all_checks"}) = "basic_checks"  # type: ignore[valid-type]
    streaming: bool = False


class _Form(_Closed):
    """Every setting of a task without code. Other settings are refused."""

    task: str
    task_alias: str | None = None
    tag: str | list[str] | None = None
    group: str | None = None
    dataset_path: str | None = None
    dataset_name: str | None = None
    dataset_kwargs: _DatasetKwargs | None = None
    training_split: str | None = None
    validation_split: str | None = None
    test_split: str | None = None
    fewshot_split: str | None = None
    doc_to_text: str | int | None = None
    doc_to_target: _Template = None
    doc_to_choice: _Template = None
    doc_to_image: _Template = None
    doc_to_audio: _Template = None
    unsafe_code: bool = False
    use_prompt: None = None
    process_docs: None = None
    process_results: None = None
    custom_dataset: None = None
    description: str = ""
    target_delimiter: str = " "
    fewshot_delimiter: str = "\n\n"
    gen_prefix: str | None = None
    fewshot_config: _Fewshot | None = None
    num_fewshot: int | None = Field(None, ge=0, le=MOST_EXAMPLES)
    metric_list: list[_Metric] | None = None
    output_type: _one_of(OUTPUT_TYPES) = "generate_until"  # type: ignore[valid-type]
    generation_kwargs: Any = None  # ``generation`` reads it
    repeats: int = Field(1, ge=1, le=MOST_REPEATS)
    filter_list: list[_Ensemble] | None = None
    should_decontaminate: bool = False
    doc_to_decontamination_query: str | None = None
    metadata: Any = None


def resolved(value: Any) -> Any:
    """Return a config with its functions imported, as the library does it; only where code is permitted."""
    if isinstance(value, Function):
        from lm_eval.tasks._yaml_loader import _import_func_in_yml

        if not is_allowed("remote-code"):
            raise ValueError(CODE.format(what=f"!function {value.name}"))
        return _import_func_in_yml(value.name, value.folder)
    if isinstance(value, Mapping):
        return {key: resolved(own) for key, own in value.items()}
    return [resolved(own) for own in value] if isinstance(value, list) else value
