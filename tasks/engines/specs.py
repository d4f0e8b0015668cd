"""Engine specs: which model, through which engine, in which precision. Files, not code.

A spec is named by a TOML file (the shipped ones lie in ``catalogue/``, a user's own in
``$CULTURESCOPE_HOME/engines/``), or made on the fly from a Hugging Face id or a local folder.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from tasks.engines.protocols import EngineError, Generation

CATALOGUE = Path(__file__).parent / "catalogue"

OPERATIONAL = {
    "delay",
    "gpu_memory_utilization",
    "kv_cache_memory_bytes",
    "max_concurrency",
    "max_num_seqs",
    "max_retries",
    "requests_per_minute",
    "timeout",
}
"""Options of any engine that change how fast an answer comes, never the answer."""


class EngineSpec(BaseModel):
    """One model as it will be run. Everything that can change a result is in ``identity``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(description="what leaderboards call the model")
    kind: Literal["packed_trie", "masked", "seq2seq", "vllm", "openai", "fake"] = "packed_trie"
    model: str = Field(description="Hugging Face id, local folder, embedded:<name>, or a served model's id")
    revision: str | None = Field(default=None, description="commit, tag or branch of a Hugging Face model")
    dtype: Literal["float32", "bfloat16", "float16"] = "bfloat16"
    device: str = Field(default="auto", description="auto, cpu, cuda, cuda:1 …")
    prompt_style: Literal["auto", "chat", "base"] = Field(
        default="auto", description="auto: chat if the tokenizer has a chat template, else base"
    )
    base_url: str | None = Field(
        default=None, description="openai: the server's address, e.g. http://host:8000/v1"
    )
    api_key_env: str = Field(default="OPENAI_API_KEY", description="openai: the variable that holds the key")
    batch_tokens: int = Field(
        default=4096, ge=64, description="token positions per forward pass (bounds memory)"
    )
    usd_per_million_input_tokens: float | None = Field(
        default=None, ge=0, description="price of what is sent; both prices or neither"
    )
    usd_per_million_output_tokens: float | None = Field(default=None, ge=0, description="price of answers")
    options: dict[str, Any] = Field(default_factory=dict, description="passed to the engine as they are")

    @model_validator(mode="after")
    def _has_both_prices(self) -> Self:
        if (self.usd_per_million_input_tokens is None) != (self.usd_per_million_output_tokens is None):
            raise ValueError(
                "give both usd_per_million_input_tokens and usd_per_million_output_tokens, or neither"
            )
        return self

    def identity(self) -> dict[str, Any]:
        """What determines a score: not address, price, device, batch size or ``OPERATIONAL`` options."""
        fields = self.model_dump(include={"kind", "model", "revision", "dtype", "prompt_style"})
        return fields | {"options": {k: v for k, v in self.options.items() if k not in OPERATIONAL}}

    def hash(self) -> str:
        """16 hex digits that name this engine in request hashes."""
        return hashlib.sha256(json.dumps(self.identity(), sort_keys=True).encode()).hexdigest()[:16]


def cost(spec: EngineSpec, generations: Sequence[Generation]) -> float | None:
    """US dollars that these answers cost at the spec's prices; None if it has none.

    Answers alone: a failed try that the provider counts is not known here.
    """
    if spec.usd_per_million_input_tokens is None or spec.usd_per_million_output_tokens is None:
        return None
    sent = sum(g.prompt_tokens for g in generations) * spec.usd_per_million_input_tokens
    written = sum(g.completion_tokens for g in generations) * spec.usd_per_million_output_tokens
    return (sent + written) / 1e6


def load_spec(name: str, user_folder: Path | None = None) -> EngineSpec:
    """Find a model by catalogue name, TOML path, local folder or Hugging Face id.

    Raises:
        EngineError: nothing by that name; the message lists the names that exist.
    """
    known = catalogue(user_folder)
    if name in known:
        return known[name]
    path = Path(name).expanduser()
    if path.suffix == ".toml":
        return read_spec(path)
    if (path / "config.json").is_file():
        return EngineSpec(name=path.resolve().name, model=str(path.resolve()))
    if name.count("/") == 1 and not path.is_absolute() and not name.startswith("."):
        return EngineSpec(name=name.split("/")[1].lower(), model=name)
    raise EngineError(
        f"there is no model {name!r}: it is neither in the catalogue ({', '.join(sorted(known))}), nor a "
        "folder with a config.json, nor a Hugging Face id (owner/name), nor a spec file (*.toml)"
    )


def catalogue(user_folder: Path | None = None) -> dict[str, EngineSpec]:
    """All named specs, the user's over the shipped ones."""
    folders = [CATALOGUE] + ([user_folder] if user_folder and user_folder.is_dir() else [])
    return {p.stem: read_spec(p) for folder in folders for p in sorted(folder.glob("*.toml"))}


def read_spec(path: Path) -> EngineSpec:
    """Read one spec file; its stem is the default name.

    Raises:
        EngineError: not there, not TOML, or a field is unknown or wrong; names the file and the field.
    """
    try:
        return EngineSpec(**{"name": path.stem, **tomllib.loads(path.read_text(encoding="utf-8"))})
    except OSError as error:
        raise EngineError(f"there is no readable engine spec at {path}: {error.strerror}") from error
    except ValueError as error:
        raise EngineError(f"{path}: not a valid engine spec: {error}") from error
