"""A transformers model with all weights from its checkpoint, and its tokenizer and output head."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import AutoConfig

from tasks.engines.checkpoint import MERGE
from tasks.engines.local import device_faults, devices, other_kinds, products, spread, tokenizer_file
from tasks.engines.local.output_head import OutputHead
from tasks.engines.protocols import EngineError
from tasks.engines.specs import PICKLE_ADVICE, EngineSpec, is_allowed, with_dtype

OUTPUT = {"return_dict": True, "output_attentions": False, "output_hidden_states": False}
"""Settings of what a model returns, beside which a config.json has no say."""
UNMERGED = re.compile(r"lora_|modules_to_save|original_module|base_layer")
"""Parts of the names of weights that belong to an adapter (peft's), or to a model with one."""


class Pretrained:
    """A loaded model with its tokenizer and output head; base class of engines in this process."""

    def __init__(self, auto_class: Any, spec: EngineSpec, folder: str, **arguments: Any) -> None:
        """Load the model as ``load`` does; EngineError also if the model names no output layer."""
        self.spec = spec = with_dtype(spec)
        if devices.device(spec.device).type == "cpu":
            devices.keep_freed_memory()
        else:
            devices.multiply_exactly()
        try:
            self.tokenizer, self.model = load(auto_class, spec, folder, **arguments)
            if not spec.compile:  # the compiler has kernels of its own
                products.use(self.model)
            self.device: torch.device = self.model.device
            self._head = OutputHead(self.model, spec.name)
        except EngineError:
            raise
        except RuntimeError as error:
            if device_faults.is_out_of_memory(error):
                raise device_faults.too_small(spec.name, error, spec.batch_tokens) from error
            if device_faults.is_lost(error):
                raise device_faults.lost(spec.name, error) from error
            raise

    @property
    def n_tokens(self) -> int:
        """Number of tokens that the model both reads and scores."""
        return min(self._head.vocabulary, len(self.model.get_input_embeddings().weight))

    def check_tokens(self, *token_ids: Sequence[int] | NDArray[np.int64]) -> None:
        """Refuse tokens that the tokenizer has and the model lacks: it would read them from other memory.

        Raises:
            EngineError: names the token.
        """
        rows = self.n_tokens
        highest = max((int(np.max(ids)) for ids in token_ids if len(ids)), default=0)
        if highest >= rows:
            raise EngineError(
                f"the token {self.tokenizer.convert_ids_to_tokens(highest)!r} has number {highest}, and "
                f"model {self.spec.name!r} has only {rows} (0 to {rows - 1}): its tokenizer was extended and "
                "the model was not; take the tokenizer that belongs to it, or leave texts with this token out"
            )

    def close(self) -> None:
        """Free the model's memory."""
        del self.model, self._head
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def load(auto_class: Any, spec: EngineSpec, folder: str, **arguments: Any) -> tuple[Any, Any]:
    """Return tokenizer and model of a folder or Hugging Face id, on the spec's device, ready to score.

    Args:
        auto_class: the transformers class for the task, such as ``AutoModelForMaskedLM``.
        arguments: for its ``from_pretrained``, beside the spec's options.

    Raises:
        EngineError: this class cannot load it, its attention cannot be replaced by the one in ``arguments``,
            or the checkpoint lacks weights, which transformers would fill with random numbers.
    """
    own_code = {
        "trust_remote_code": False,
        "revision": spec.revision,
    }  # without a value, transformers prompts on a terminal
    own_code |= {k: v for k, v in spec.options.items() if k == "trust_remote_code"}
    arguments |= {"dtype": getattr(torch, with_dtype(spec).dtype)} | own_code | spec.options | OUTPUT
    if not is_allowed("pickle"):
        arguments["use_safetensors"] = True
    config = None
    try:
        config = AutoConfig.from_pretrained(folder, **own_code)
        tokenizer = tokenizer_file.read(spec.name, folder, own_code)
        model, info = auto_class.from_pretrained(folder, output_loading_info=True, **arguments)
    except EngineError:
        raise
    except Exception as error:  # of transformers, tokenizers, safetensors or a library for quantised weights
        reason = _reason(error)
        if "ignore_mismatched_sizes" in str(error):
            raise EngineError(
                f"model {spec.name!r}: the weights in {folder!r} have other shapes than its config.json "
                "describes: the files are of different models; get the model again"
            ) from error
        if "trust_remote_code" in str(error) or "custom code" in str(error):
            raise EngineError(
                f"model {spec.name!r} has code of its own in {folder!r}, which could do anything: read it, "
                "then set options = { trust_remote_code = true } in a spec file and allow it with "
                "--trust-remote-code"
            ) from error
        exchanged = arguments.get("attn_implementation", "")
        words = ("attn_implementation", "attention", str(exchanged))
        if config is not None and exchanged and any(word in reason for word in words):
            (named, *_) = config.architectures or ["it"]
            raise EngineError(
                f"the architecture {named} has no exchangeable attention, so it cannot run packed texts; "
                f"{other_kinds.served_by(named, spec.name)}"
            ) from error
        if "safetensors" in str(error) and not is_allowed("pickle"):
            raise EngineError(
                f"model {spec.name!r}: there are no safetensors in {folder!r}, and {PICKLE_ADVICE}"
            ) from error
        raise EngineError(f"model {spec.name!r} cannot be loaded from {folder!r}: {reason}") from error
    check_leftovers(spec.name, model, info["unexpected_keys"])
    if info["missing_keys"]:
        missing = ", ".join(sorted(info["missing_keys"])[:3])
        raise EngineError(
            f"the checkpoint of {spec.name!r} lacks {len(info['missing_keys'])} weights ({missing} …): its "
            "probabilities would be random; take a checkpoint with the head of its pretraining"
        )
    check_quantised(spec.name, model)
    if spread.is_spread(spec.name, model):
        return tokenizer, model.eval().requires_grad_(False)
    return tokenizer, model.to(devices.device(spec.device)).eval().requires_grad_(False)


def _reason(error: Exception) -> str:
    """Return one line on why a model is not loaded; further lines list architectures."""
    first, *more = str(error).strip().splitlines() or [type(error).__name__]
    if isinstance(error, KeyError):
        return f"its files name {first}, which transformers does not know"
    return " ".join([first, *more[:1]]) if first.endswith(":") else first


def check_quantised(name: str, model: Any) -> None:
    """Raise EngineError if a configuration has a quantisation that transformers would leave out."""
    if getattr(model.config, "quantization_config", None) and getattr(model, "hf_quantizer", None) is None:
        raise EngineError(
            f"model {name!r}: its weights are quantised in a way that transformers does not know, and would "
            "be read as plain numbers: take the model in bfloat16 or float32"
        )


def check_leftovers(name: str, model: Any, unexpected: Iterable[str]) -> None:
    """Check that a checkpoint has no weights that the model should use and does not.

    Heads of other tasks and stored masks may be left over. Weights of an adapter, a layer that the
    configuration does not have, and a weight of a module that has others (a bias) may not.

    Args:
        unexpected: names of the weights that were left out.

    Raises:
        EngineError: there are some; names one.
    """
    if unmerged := [key for key in sorted(unexpected) if UNMERGED.search(key)]:
        raise EngineError(
            f"model {name!r}: it has {len(unmerged)} weights of an adapter ({unmerged[0]} …), which would be "
            f"left out: {MERGE}"
        )
    own = {re.sub(r"\d+", "#", key) for key, _ in model.named_parameters()}
    owners = {key.rpartition(".")[0] for key, _ in model.named_parameters()}
    left = [
        key
        for key in sorted(unexpected)
        if re.sub(r"\d+", "#", key) in own or key.rpartition(".")[0] in owners
    ]
    if left:
        raise EngineError(
            f"model {name!r}: its config.json leaves out {len(left)} weights ({left[0]} …), "
            "so it is another model than was trained: take the config.json of these weights"
        )
