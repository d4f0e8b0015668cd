"""Engine specs: which model runs in which engine, with which precision and settings.

A spec is a TOML file (shipped ones in ``catalogue/``, a user's own in ``$CULTUREMETER_HOME/engines/``), or is
made from a Hugging Face id, a local folder or the name of a hosted model.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from tasks.engines import checkpoint, content
from tasks.engines import options as engine_options
from tasks.engines.extras import check as check_installed
from tasks.engines.local import devices
from tasks.engines.protocols import EngineError, Generation
from tasks.engines.served import keys
from tasks.engines.served.by_name import fields_of
from tasks.engines.served.providers import SERVERS, server, thinking_tokens, unsent
from tasks.engines.templates import SpecVariables
from tasks.identity import checked_name
from tasks.parsing import complaints, parse_toml, plain, text_of

CATALOGUE = Path(__file__).parent / "catalogue"

OPERATIONAL = {
    "batch", "delay", "gpu_memory_utilization", "kv_cache_memory_bytes", "max_concurrency", "max_num_seqs",
    "max_retries", "memory_gib", "requests_per_minute", "timeout",
}  # fmt: skip
"""Options of any engine that change only the speed of an answer."""

TRUST = "CULTUREMETER_TRUST"
"""Environment variable with the user's permissions for models; a spec cannot set them."""
Trust = Literal["remote-code", "pickle", "pack-code"]
PICKLE_ADVICE = (
    "weights in a pickle (.bin, .pt) can run any code when they are read: take a model with safetensors, or "
    f"allow them with --trust-pickle, or with {TRUST}=pickle in the environment"
)
PICKLE_FORMATS = ("pt", "npcache")
"""Values of vLLM's load_format for pickled weights."""

IMPORTED, MODEL_HASH = "imported", "model_hash"
"""Kind of a model whose answers come from another program's log, and its option that states the hash."""
WITHOUT_WEIGHTS = ("published", IMPORTED, "fake")
"""Kinds that load no model."""
PUBLISHED_OF = {"english_human_evaluation": "Llama3"}
"""Stem of a file of published predictions -> the model that its paper names (Zhou et al. 2025)."""

VERSION = 3
"""Version of the engines of this machine, in their hashes: raised when one of them gives other numbers."""

Options = TypeVar("Options", bound=BaseModel)
Dtype = Literal["auto", "float32", "bfloat16", "float16"]
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max", "auto"]


class EngineSpec(BaseModel):
    """A model and how it runs. Everything that can change a result is in ``identity``."""

    # A base_url may contain a password, so errors do not quote invalid values.
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    name: str = Field(description="name of the model on leaderboards")
    kind: Literal[
        "packed_trie", "masked", "seq2seq", "vllm", "openai", "anthropic", "google", "published", "fake",
        "imported",
    ] = "packed_trie"  # fmt: skip
    model: str = Field(
        description="Hugging Face id, local folder, embedded:<name>, a served model's id, or the file of "
        "published predictions"
    )
    revision: str | None = Field(
        default=None,
        description="commit, tag or branch of a Hugging Face model; the plan looks its commit up",
    )
    content: str | None = Field(
        default=None,
        description="the model by content: a hash of its files, a commit, or a package's pin; the plan fills "
        "it in, and a stated one is checked",
    )
    dtype: Dtype = Field(
        default="auto", description="auto: float32 or bfloat16, whichever the device multiplies faster"
    )
    device: str = Field(default="auto", description="auto, cpu, cuda, cuda:1 …")
    prompt_style: Literal["auto", "chat", "base"] = Field(
        default="auto",
        description="auto: chat if the tokenizer has a chat template, else base, which completes a line",
    )
    chat_template_kwargs: SpecVariables = Field(
        default_factory=dict,
        description="variables of the model's chat template, such as enable_thinking; for scores, thinking "
        "is switched off without them",
    )
    base_url: str | None = Field(
        default=None, description="servers: the address, e.g. http://host:8000/v1; default: the provider's"
    )
    served_as: str | None = Field(
        default=None,
        min_length=1,
        description="servers: name in the engine hash in place of base_url, so that the address may change",
    )
    api_key_env: keys.Variable | None = Field(
        default=None,
        description="servers: the variable that holds the key, named …_API_KEY or …_TOKEN; default: "
        "OPENAI_API_KEY, ANTHROPIC_API_KEY, GEMINI_API_KEY",
    )
    batch_tokens: int = Field(
        default=4096, ge=64, description="token positions per forward pass (bounds memory)"
    )
    compile: bool = Field(
        default=False,
        description=(
            "packed_trie: whether torch compiles the layers; compiling takes up to a minute, and compiled "
            "layers are faster and round differently"
        ),
    )
    tensor_parallel: int = Field(
        default=1, ge=1, description="vllm: GPUs that share the weights of one copy of the model"
    )
    gpus: float | None = Field(
        default=None,
        gt=0,
        description="GPUs per copy; 0.5: two share one; default: tensor_parallel; packed_trie: enough for it",
    )
    reasoning: Effort | Annotated[int, Field(ge=1)] | None = Field(
        default=None,
        description=(
            "servers: reasoning effort: none, minimal, low, medium, high, xhigh, max, a number of tokens, or "
            "auto (the server decides)"
        ),
    )
    web: bool | None = Field(default=None, description="servers: whether the model searches the web")
    usd_per_million_input_tokens: float | None = Field(
        default=None, ge=0, description="price of input tokens; give both prices or neither"
    )
    usd_per_million_output_tokens: float | None = Field(
        default=None, ge=0, description="price of output tokens"
    )
    options: dict[str, Any] = Field(default_factory=dict, description="passed to the engine unchanged")

    @model_validator(mode="after")
    def _has_both_prices(self) -> Self:
        if (self.usd_per_million_input_tokens is None) != (self.usd_per_million_output_tokens is None):
            raise ValueError(
                "give both usd_per_million_input_tokens and usd_per_million_output_tokens, or neither"
            )
        return self

    @model_validator(mode="after")
    def _is_served(self) -> Self:
        if not self.is_served and (self.reasoning is not None or self.web is not None):
            raise ValueError(
                f"reasoning and web are settings of a server: they need one of the kinds {', '.join(SERVERS)}"
            )
        if self.chat_template_kwargs and not has_weights(self):
            raise ValueError(
                "chat_template_kwargs are for a model on this machine: a server has its own options"
            )
        if self.kind != "vllm" and self.tensor_parallel > 1:
            raise ValueError('tensor_parallel splits a model among GPUs: it needs kind = "vllm"')
        if self.kind != "packed_trie" and self.compile:
            raise ValueError('compile is for kind = "packed_trie"; vLLM compiles by itself')
        return self

    @field_validator("name")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if not name:
            raise ValueError("a model needs a name")
        return checked_name(name, "the name of a model")

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, base_url: str | None) -> str | None:
        if base_url is not None:
            server(base_url)
        return base_url

    @property
    def is_served(self) -> bool:
        """Whether the model runs behind a server's API."""
        return self.kind in SERVERS

    @property
    def key_variable(self) -> str:
        """The environment variable that holds the key of a served model."""
        return self.api_key_env or SERVERS[self.kind].key

    @property
    def key_pair(self) -> str:
        """The key's variable and the host that gets it (``keys.pair_of``)."""
        return keys.pair_of(self.key_variable, self.base_url or SERVERS[self.kind].url)

    def read_options(self, kind: type[Options]) -> Options:
        """Return the options in the engine's class; raises ``EngineError`` with unknown or wrong ones."""
        try:
            return kind(**self.options)
        except ValidationError as error:
            raise EngineError(f"engine {self.name!r}, options: {'; '.join(complaints(error))}") from error

    def identity(self) -> dict[str, Any]:
        """Return everything that determines a result; not price, device, batch size or ``OPERATIONAL``
        options.

        For a served model this includes its server (``served_as``, else host, port and path of ``base_url``),
        whose precision and prompt template are unknown, its settings of reasoning and web search, the fields
        of a sampling that are not sent to it (``unsent``), and the tokens for thinking (``thinking_tokens``).
        The fake engine has no precision. Published predictions are identified by the content of their file,
        and a local model by its own (``content``): neither its path nor its name is part of the identity.

        Raises:
            ValueError: dtype "auto" is still to be resolved (``resolved``).
            EngineError: the model is missing.
        """
        options = {k: v for k, v in self.options.items() if k not in OPERATIONAL}
        if self.is_served:
            provider = SERVERS[self.kind]
            own = {"options": options, "server": self.served_as or server(self.base_url or provider.url)}
            features = self.model_dump(include={"reasoning", "web"}, exclude_none=True)
            not_sent = {"not_sent": left_out} if (left_out := unsent(self)) else {}
            thinking = {"thinking": tokens} if (tokens := thinking_tokens(self)) else {}
            return (
                self.model_dump(include={"kind", "model", "revision"}) | own | features | not_sent | thinking
            )
        if self.kind == "published":
            return {"kind": self.kind, "sha256": content.content_hash(Path(self.model))}
        if not has_weights(self):
            fields = {"kind", "model", "revision", "prompt_style"}
            return self.model_dump(include=fields) | {"options": options}
        if self.dtype == "auto":
            raise ValueError(f'model {self.name!r}: dtype "auto" has no identity before ``resolved``')
        compiled = {"compile"} if self.compile else set[str]()
        variables = {"chat_template_kwargs"} if self.chat_template_kwargs else set[str]()
        local: dict[str, Any] = {
            "version": VERSION,
            "content": self.content or content_of(self),
            "options": options,
        }
        return self.model_dump(include={"kind", "prompt_style", "dtype"} | compiled | variables) | local

    def described(self) -> dict[str, Any]:
        """Return the fields that a run stores: all but the access data, and a server as in its identity."""
        identity = self.identity() if self.is_served or self.kind == "published" else {}
        server_fields = {
            name: identity[name] for name in ("server", "not_sent", "sha256") if name in identity
        }
        return self.model_dump(exclude={"base_url", "api_key_env"}) | server_fields

    def hash(self) -> str:
        """Return 16 hex digits that name this engine in request hashes: the hash of ``identity``."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()[:16]


def content_of(spec: EngineSpec, record: Path | None = None) -> str:
    """Return what a local model is now, by ``content.of``, whatever the spec states."""
    return content.of(spec.name, spec.model, spec.revision, record)


def has_weights(spec: EngineSpec) -> bool:
    """Return whether weights are loaded on this machine, in the spec's dtype."""
    return not spec.is_served and spec.kind not in WITHOUT_WEIGHTS


def model_hash(spec: EngineSpec) -> str:
    """Return 16 hex digits that name a spec's model in any engine, for joins across evaluations.

    Engine, precision and options change digits of an answer, so two engines of one model count as one model.
    A model is its prompt style, the variables of its chat template, and:

    - on this machine: weights, tokenizer, chat template and adapter by ``content``
    - a file of published predictions: its content
    - a served model: its id, revision, server (``served_as``, else host, port and path), and the spec's
      settings of reasoning and web search; nothing else is known about it
    - a model of a log: the hash that its options state
    """
    if spec.kind == IMPORTED:
        return str(spec.options[MODEL_HASH])
    if spec.is_served:
        host = spec.served_as or server(spec.base_url or SERVERS[spec.kind].url)
        reasoning = "" if spec.reasoning is None else str(spec.reasoning)
        web = "" if spec.web is None else str(spec.web).lower()
        parts = [f"{host}/{spec.model}", spec.revision or "", "", reasoning, web]
    elif has_weights(spec):
        variables = spec.chat_template_kwargs
        template = json.dumps(variables, sort_keys=True) if variables else ""
        parts = [spec.content or content_of(spec), "", spec.prompt_style, template, ""]
    else:
        is_file = spec.kind == "published"
        name = content.content_hash(Path(spec.model)) if is_file else spec.model
        parts = [name, spec.revision or "", spec.prompt_style, "", ""]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def allow(key_pairs: Sequence[str] = (), **asked: bool) -> None:
    """Allow more than before, in this process and those that it starts; asked: permissions, with _ for -."""
    more = [name.replace("_", "-") for name, is_asked in asked.items() if is_asked]
    os.environ[TRUST] = ",".join(dict.fromkeys([*_allowed(), *more, *key_pairs]))


def is_allowed(permission: Trust) -> bool:
    """Return whether the user permits Python code of models or packs, or pickled weights, which run it."""
    return permission in _allowed()


def may_send_key(spec: EngineSpec) -> bool:
    """Return whether the key of a served model may go to its server, by ``keys`` and the user."""
    return spec.key_pair in _allowed() or not keys.needs_permission(spec.key_pair)


def _allowed() -> list[str]:
    return os.environ.get(TRUST, "").replace(",", " ").split()


def writer(spec: EngineSpec) -> EngineSpec:
    """Return the spec with which a model writes: a scorer's model writes with vLLM.

    A spec with settings of the scorer's own, or of a kind that cannot write, is returned unchanged.
    """
    if spec.kind != "packed_trie" or spec.compile or spec.options:
        return spec
    return spec.model_copy(update={"kind": "vllm"})


def check_options(spec: EngineSpec) -> None:
    """Check that the options of a local model are known and harmless, or that the user trusts the model.

    Raises:
        EngineError: an option may name code or a file, or has a value of an unexpected kind.
    """
    if refused := engine_options.refused(spec.kind, spec.options):
        if is_allowed("remote-code"):
            return
        raise EngineError(
            f"model {spec.name!r}, options.{refused[0]}: not among the options that are known to be "
            f"harmless for kind {spec.kind!r} ({', '.join(engine_options.known(spec.kind))}), and may name "
            "code or a file: leave it out, or read it and allow it with --trust-remote-code, or with "
            f"{TRUST}=remote-code in the environment"
        )


def check_trust(spec: EngineSpec) -> None:
    """Check that the user permits what a spec needs; nothing is loaded.

    Raises:
        EngineError: a permission is missing; the message says how to give it.
    """
    check_options(spec)
    if spec.options.get("trust_remote_code") and not is_allowed("remote-code"):
        raise EngineError(
            f"model {spec.name!r} asks to run Python code from its own repository (trust_remote_code): "
            f"read it, then allow it with --trust-remote-code, or with {TRUST}=remote-code in the environment"
        )
    if spec.options.get("load_format") in PICKLE_FORMATS and not is_allowed("pickle"):
        raise EngineError(f"model {spec.name!r}, options.load_format: {PICKLE_ADVICE}")


def with_dtype(spec: EngineSpec) -> EngineSpec:
    """Return the spec with dtype "auto" replaced by its device's dtype (``devices.auto_dtype``).

    Specs with another dtype, and kinds without a dtype, are returned unchanged, without using the device.

    Raises:
        EngineError: the device is missing, or the libraries for local models are not installed.
    """
    if spec.dtype != "auto" or not has_weights(spec):
        return spec
    check_installed("torch", f"model {spec.name!r}")
    return spec.model_copy(update={"dtype": devices.auto_dtype(spec.device)})


def resolved(spec: EngineSpec, record: Path | None = None) -> EngineSpec:
    """Return the spec with the dtype of its device, its model's content, and a Hugging Face id's commit.

    Its files are read, or the hub is asked, so that the returned spec names one model for good.

    Args:
        record: folder with the hashes of large files (``content.content_hash``).

    Raises:
        EngineError: the model is missing, or is not the one that the spec's content states.
    """
    if not has_weights(spec):
        return spec
    spec = with_dtype(spec)
    found = content_of(spec, record)
    if spec.content not in (None, found):
        raise EngineError(
            f"model {spec.name!r}: {spec.model} has changed: its content is {found}, and {spec.content} was "
            "planned or stated; run again to score the new one, or put the old files back"
        )
    commit = {"revision": found.removeprefix(content.HUB)} if found.startswith(content.HUB) else {}
    return spec.model_copy(update={"content": found, **commit})


def cost(spec: EngineSpec, generations: Sequence[Generation]) -> float | None:
    """Return the cost of completions in US dollars at the spec's prices; None if it has none.

    Failed tries that the provider charges for are unknown and not included.
    """
    if spec.usd_per_million_input_tokens is None or spec.usd_per_million_output_tokens is None:
        return None
    sent = sum(g.prompt_tokens for g in generations) * spec.usd_per_million_input_tokens
    written = sum(g.completion_tokens for g in generations) * spec.usd_per_million_output_tokens
    return (sent + written) / 1e6


def load_spec(name: str, user_folder: Path | None = None, dtype: Dtype | None = None) -> EngineSpec:
    """Return the spec of a model by name, id, or path of its spec, folder or published predictions.

    Args:
        user_folder: folder of the user's specs, which may be read-only.
        dtype: used in place of the spec's own.

    Raises:
        EngineError: the name is unknown (the message lists the known names), or model or device is missing.
    """
    spec = find_spec(name, user_folder)
    record = hashes_in(user_folder.parent / "models") if user_folder else None
    if user_folder and spec.is_served and (pairs := keys.remembered(user_folder.parent)):
        allow(key_pairs=pairs)
    return resolved(spec if dtype is None else spec.model_copy(update={"dtype": dtype}), record)


def hashes_in(cache: Path) -> Path:
    """Return the folder with the hashes of large files. cache: ``$CULTUREMETER_HOME/models``."""
    return cache / ".hashes"


def find_spec(name: str, user_folder: Path | None) -> EngineSpec:
    """Return a model's spec as ``load_spec`` does, but leave dtype "auto" and do not look at its content."""
    known = catalogue(user_folder)
    if name in known:
        return read_spec(known[name])
    if fields := fields_of(name):
        return _spec_from(fields)
    path = Path(name).expanduser()
    if path.suffix == ".toml":
        return read_spec(path)
    if (path / "config.json").is_file():
        return _spec_from({"name": path.resolve().name, "model": str(path.resolve())})
    checkpoint.check_path(path)
    if path.suffix == ".json" and path.is_file():
        of = PUBLISHED_OF.get(path.stem.casefold(), path.stem)
        return _spec_from({"name": f"{of} (published)", "kind": "published", "model": str(path.resolve())})
    if name.count("/") == 1 and not path.is_absolute() and not name.startswith("."):
        return _spec_from({"name": name.split("/")[1].lower(), "model": name})
    checkpoint.check_inner(path)
    raise EngineError(
        f"unknown model {name!r}; known: {', '.join(sorted(known))}. Or give a folder with a config.json, a "
        "Hugging Face id (owner/name), a hosted model (openai/…, anthropic/…, google/…, openrouter/…, "
        "http://host:8000/v1#name), a spec file (*.toml), or a file of published predictions (*.json)"
    )


def _spec_from(fields: dict[str, Any]) -> EngineSpec:
    """Return the spec of a model without a file; raises EngineError for an invalid name or address."""
    try:
        return EngineSpec(**fields)
    except ValidationError as error:
        raise EngineError(
            f"{plain(error.errors()[0]['msg'])}; or name it in a spec file (docs/add-a-model.md)"
        ) from error


def catalogue(user_folder: Path | None = None) -> dict[str, Path]:
    """Return all spec files by name, the user's in place of shipped ones; none is read."""
    folders = [CATALOGUE] + ([user_folder] if user_folder and user_folder.is_dir() else [])
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.toml"))}


def read_spec(path: Path) -> EngineSpec:
    """Return the spec in a file.

    The default name is the file's stem, or model_reasoning_web if the spec sets reasoning or web search, such
    as gpt-5_high_false (Lin et al. 2026, table 2).

    Raises:
        EngineError: the file is missing or not TOML, or a field is unknown or wrong; names file and field.
    """
    try:
        fields = parse_toml(text_of(path.read_bytes()))
        spec = EngineSpec(**{"name": path.stem, **fields})
        if "name" in fields or (spec.reasoning is None and spec.web is None):
            return spec
        name = f"{spec.model.rsplit('/', 1)[-1]}_{spec.reasoning or 'auto'}_{str(bool(spec.web)).lower()}"
        return spec.model_copy(update={"name": name})
    except OSError as error:
        raise EngineError(f"there is no readable engine spec at {path}: {error.strerror}") from error
    except ValidationError as error:
        raise EngineError(f"{path}: not a valid engine spec: {'; '.join(complaints(error))}") from error
    except ValueError as error:
        raise EngineError(f"{path}: not a valid engine spec: {error}") from error
