"""A transformers model with all weights from its checkpoint, and the log-probabilities from its output head.

Logits over a vocabulary of 250,000 are far larger than all hidden states. So they are computed by slices of
the vocabulary, only for the wanted positions, and in float32 for every dtype: bfloat16 logits are quantised
at about 0.1 nat.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from transformers import AutoTokenizer

from tasks.engines.local import devices
from tasks.engines.protocols import EngineError
from tasks.engines.specs import PICKLE_ADVICE, EngineSpec, is_allowed, with_dtype

VOCABULARY_SLICE = {"cpu": 1024, "cuda": 32768}
CACHED_LOGITS = 2**18
"""Number of logits per log-sum-exp on a CPU, so that they stay in the cache."""
TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1.0, torch.float16: 0.25}
"""Most nats between a model's own log-probabilities and ours. In half precision another order of operations
rounds differently; a wrong mask, position or scale is off by several nats."""

IntArray = NDArray[np.int64]


class Pretrained:
    """A loaded model with its tokenizer and output head; base class of engines in this process."""

    def __init__(self, auto_class: Any, spec: EngineSpec, folder: str, **arguments: Any) -> None:
        """Load the model as ``load`` does; EngineError also if the model names no output layer."""
        self.spec = spec = with_dtype(spec)
        if devices.device(spec.device).type == "cpu":
            devices.keep_freed_memory()
        self.tokenizer, self.model = load(auto_class, spec, folder, **arguments)
        self.device: torch.device = self.model.device
        self._head = OutputHead(self.model)

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
    arguments |= {"dtype": getattr(torch, with_dtype(spec).dtype)} | own_code | spec.options
    if not is_allowed("pickle"):
        arguments["use_safetensors"] = True
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **own_code)
        model, info = auto_class.from_pretrained(folder, output_loading_info=True, **arguments)
    except (
        OSError,
        ValueError,
        KeyError,
        AttributeError,
        ImportError,
        RuntimeError,
        SafetensorError,
    ) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]  # the rest lists architectures
        if "ignore_mismatched_sizes" in str(error):
            raise EngineError(
                f"model {spec.name!r}: the weights in {folder!r} have other shapes than its config.json "
                "describes: the files are of different models; get the model again"
            ) from error
        if "attn_implementation" in arguments and ("attn_implementation" in reason or "attention" in reason):
            raise EngineError(
                f"the architecture of {spec.name!r} has no exchangeable attention, so it cannot take a tree "
                f'mask; choose kind = "vllm": {reason}'
            ) from error
        if "safetensors" in str(error) and not is_allowed("pickle"):
            raise EngineError(
                f"model {spec.name!r}: there are no safetensors in {folder!r}, and {PICKLE_ADVICE}"
            ) from error
        raise EngineError(f"model {spec.name!r} cannot be loaded from {folder!r}: {reason}") from error
    if info["missing_keys"]:
        missing = ", ".join(sorted(info["missing_keys"])[:3])
        raise EngineError(
            f"the checkpoint of {spec.name!r} lacks {len(info['missing_keys'])} weights ({missing} …): its "
            "probabilities would be random; take a checkpoint with the head of its pretraining"
        )
    check_leftovers(spec.name, model, info["unexpected_keys"])
    return tokenizer, model.to(devices.device(spec.device)).eval().requires_grad_(False)


def check_leftovers(name: str, model: Any, unexpected: Iterable[str]) -> None:
    """Check that a checkpoint has no weights that the model should use and does not.

    Heads of other tasks and stored masks may be left over. A layer that the configuration does not have, a
    weight of a module that has others (a bias), and weights of an adapter may not.

    Args:
        unexpected: names of the weights that were left out.

    Raises:
        EngineError: there are some; names one.
    """
    own = {re.sub(r"\d+", "#", key) for key, _ in model.named_parameters()}
    owners = {key.rpartition(".")[0] for key, _ in model.named_parameters()}
    left = [
        key
        for key in sorted(unexpected)
        if re.sub(r"\d+", "#", key) in own or key.rpartition(".")[0] in owners or "lora_" in key
    ]
    if left:
        raise EngineError(
            f"model {name!r}: its config.json leaves out {len(left)} weights ({left[0]} …), "
            "so it is another model than was trained: take the config.json of these weights"
        )


class OutputHead:
    """The last linear layer of a language model, with the scale and soft cap after it."""

    def __init__(self, model: Any) -> None:
        """Find the head; raises ``EngineError`` if the model names no output layer."""
        self.model = model
        layer = model.get_output_embeddings()
        if layer is None:
            raise EngineError(f"the architecture {type(model).__name__} names no output layer to read from")
        self._layer = layer
        self._multiplies_into_float32 = layer.weight.is_cuda and layer.weight.dtype != torch.float32
        # Otherwise use a float32 copy of the head, so that logits are not rounded to half precision.
        self._weight: torch.Tensor = layer.weight if self._multiplies_into_float32 else layer.weight.float()
        self._bias: torch.Tensor | None = getattr(layer, "bias", None)
        config = model.config.get_text_config()
        scale, divisor = getattr(config, "logit_scale", None), getattr(config, "logits_scaling", None)
        self._scale = float(scale or 1.0) / float(divisor or 1.0)
        self._soft_cap: float | None = getattr(config, "final_logit_softcapping", None)

    @property
    def vocabulary(self) -> int:
        """Number of rows of the head: one more than the largest token id that it can score."""
        return len(self._weight)

    def run(self, **inputs: Any) -> tuple[torch.Tensor, Any]:
        """Run the model up to its head, with all transforms and scales before it.

        Returns:
            [b, n, d] hidden states at the input of the head, and the model's output (with empty logits).

        Raises:
            EngineError: the architecture does not call its output layer.
        """
        states: list[torch.Tensor] = []

        def capture(_: Any, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
            states.append(arguments[0])
            return (arguments[0][:, :0],)

        hook = self._layer.register_forward_pre_hook(capture)
        try:
            output = self.model(**inputs)
        finally:
            hook.remove()
        if not states:
            raise EngineError(f"{type(self.model).__name__} bypasses its output layer; it is not supported")
        return states[0], output

    def logprobs(self, hidden: torch.Tensor, rows: IntArray, tokens: IntArray) -> NDArray[np.float32]:
        """Return float32 [n]: natural-log probability of tokens[i] in the state hidden[rows[i]].

        Args:
            hidden: [r, d] states at the input of the head.
            rows, tokens: [n] row of the state, and token; in any order.
        """
        return self.read(hidden, rows, tokens)[0]

    def read(
        self, hidden: torch.Tensor, rows: IntArray, tokens: IntArray, finds_best: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return ``logprobs``, and bool [n]: no token is more probable (all False unless ``finds_best``)."""
        device = hidden.device
        by_token = np.argsort(tokens, kind="stable")
        ordered = tokens[by_token]
        row = torch.from_numpy(rows[by_token]).to(device)
        token = torch.from_numpy(ordered).to(device)
        logit = torch.empty(len(rows), dtype=torch.float32, device=device)
        # In float32, a sum over 256 slices of a vocabulary would lose 1e-5 nats per token to rounding.
        log_sum = torch.full((len(hidden),), -torch.inf, dtype=torch.float64, device=device)
        best = torch.full((len(hidden),), torch.inf if not finds_best else -torch.inf, device=device)
        width = VOCABULARY_SLICE["cuda" if hidden.is_cuda else "cpu"]
        states = hidden if self._multiplies_into_float32 else hidden.float()
        for start in range(0, self.vocabulary, width):
            logits = self._logits(states, start, start + width)
            log_sum = torch.logaddexp(log_sum, _log_sum_exp(logits).double())
            if finds_best:
                best = torch.maximum(best, logits.amax(-1))
            low, high = np.searchsorted(ordered, [start, start + width])
            logit[low:high] = logits[row[low:high], token[low:high] - start]
        out, is_best = np.empty(len(rows), dtype=np.float32), np.empty(len(rows), dtype=np.bool_)
        out[by_token] = (logit - log_sum[row]).cpu().numpy()
        is_best[by_token] = (logit >= best[row]).cpu().numpy()
        return out, is_best

    def _logits(self, states: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Return [r, stop - start] float32 logits of a vocabulary slice, after the model's scale and cap."""
        head = self._weight[start:stop]
        if self._multiplies_into_float32:
            logits = torch.mm(states, head.T, out_dtype=torch.float32)
        else:
            with _half_precision_products(self._layer.weight.dtype == torch.bfloat16):
                logits = torch.mm(states, head.T)
        if self._bias is not None:
            logits += self._bias[start:stop].float()
        if self._scale != 1.0:
            logits *= self._scale
        return torch.tanh(logits / self._soft_cap) * self._soft_cap if self._soft_cap else logits

    @torch.inference_mode()
    def check(self, **inputs: Any) -> None:
        """Compare with the model's own logits at the last position of the inputs.

        Raises:
            EngineError: they differ, because the architecture changes the logits after its head.
        """
        states, _ = self.run(**inputs)
        tokens = np.arange(self.vocabulary)
        own = self.logprobs(states[0, -1:], np.zeros_like(tokens), tokens)
        plain = torch.log_softmax(self.model(**inputs).logits[0, -1].float(), dim=-1).cpu().numpy()
        worst = float(np.abs(own - plain).max()) if own.shape == plain.shape else np.inf
        if not worst <= TOLERANCE[self.model.dtype]:
            raise EngineError(
                f"the architecture {type(self.model).__name__} changes its logits after the output layer "
                f"(by {worst:.2g} nats), so they cannot be read in slices; it is not supported"
            )


@contextmanager
def _half_precision_products(enabled: bool) -> Iterator[None]:
    """Let oneDNN multiply float32 tensors with bfloat16 values at bfloat16 speed, with float32 sums.

    It is exact for such tensors; without it the head of a bfloat16 model takes twice as long on a CPU.
    """
    matmul = torch.backends.mkldnn.matmul  # type: ignore[attr-defined]
    before = matmul.fp32_precision
    matmul.fp32_precision = "bf16" if enabled else before
    try:
        yield
    finally:
        matmul.fp32_precision = before


def _log_sum_exp(logits: torch.Tensor) -> torch.Tensor:
    """Return [r] log of the sum of exponentials of each row.

    Plain sums are tried first: on a CPU they are twice as fast as any method that finds the largest logit.
    """
    rows = max(1, CACHED_LOGITS // logits.shape[1])
    parts = torch.split(logits, rows)
    plain = torch.cat([part.exp().sum(-1) for part in parts]).log()
    if plain.isfinite().all():
        return plain
    # One column of log-softmax gives it, with a faster CPU kernel than torch.logsumexp.
    return torch.cat([part[:, 0] - torch.log_softmax(part, dim=-1)[:, 0] for part in parts])
