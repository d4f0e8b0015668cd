"""Log-probabilities from the hidden states before a model's output layer.

Logits over a vocabulary of 250,000 are far larger than all hidden states. So they are computed by slices of
the vocabulary, only for the wanted positions, and in float32 for every dtype: bfloat16 logits are quantised
at about 0.1 nat.

A model may scale or cap its logits after that layer. Names of settings do not say what it does, so it is
measured: the model runs once with known values in place of the layer's output (``OutputHead.measure``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tasks.engines.local import memory, products
from tasks.engines.protocols import EngineError

VOCABULARY_SLICE = {"cpu": 1024, "cuda": memory.LOGITS}
CACHED_LOGITS = 2**18
"""Number of logits per log-sum-exp on a CPU, so that they stay in the cache."""
SMALL, LARGE = 2.0**-10, 2.0**100
"""Logits that show a scale and a cap: powers of two are scaled without rounding."""
N_STATES = 4
"""Number of random states for which the layer is compared with a plain product."""
ROUNDING = 16
"""Most rounding steps between a logit of the model and ours, relative to the largest logit."""

IntArray = NDArray[np.int64]


class NotANumber(EngineError):  # noqa: N818 - "raise NotANumber" says it all
    """A model's log-probabilities are not numbers; the message names the usual causes."""


def numbers(name: str, logprob: NDArray[np.floating[Any]]) -> None:
    """Check that log-probabilities of a model are numbers; raises ``NotANumber``."""
    if np.isnan(logprob).any():
        raise NotANumber(
            f"model {name!r}: a probability is not a number, because weights are damaged (NaN, infinite) or "
            'too large for float16: get the model again; with dtype = "float16", take float32 or bfloat16'
        )


class OutputHead:
    """The last linear layer of a language model, with the scale, soft cap or bias after it."""

    def __init__(self, model: Any, name: str = "") -> None:
        """Find the head; raises ``EngineError`` if the model names no linear output layer.

        Args:
            name: of the model, for errors.
        """
        self.model, self._name = model, name or type(model).__name__
        layer = model.get_output_embeddings()
        weight = getattr(layer, "weight", None)
        if not isinstance(weight, torch.Tensor) or weight.dim() != 2 or not weight.is_floating_point():
            raise EngineError(
                f"the architecture {type(model).__name__} names no linear output layer to read from"
            )
        self._layer = layer
        # Otherwise use a float32 copy of the head, so that logits are not rounded to half precision.
        on_gpu = weight.is_cuda and weight.dtype != torch.float32
        self._weight: torch.Tensor = weight if on_gpu else weight.float()
        self._bias: torch.Tensor | None = getattr(layer, "bias", None)
        self._scale = 1.0
        self._soft_cap: float | None = None
        self._later_bias: torch.Tensor | None = None

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

        with _hooked(self._layer.register_forward_pre_hook, capture):
            output = self.model(**inputs)
        if len(states) != 1 or states[0].dim() != 3:
            raise self._bypassed()
        return states[0], output

    def plain(self, wanted: IntArray, **inputs: Any) -> torch.Tensor:
        """Return float32 [w, V]: the model's own log-probabilities of all tokens, at the wanted positions of
        one text. They define what every score must equal."""

        def reduce(_: Any, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
            return (arguments[0][:, wanted],)

        with products.plain(), _hooked(self._layer.register_forward_pre_hook, reduce):
            logits: torch.Tensor = self.model(**inputs).logits
        return torch.log_softmax(logits[0].float(), dim=-1)

    def logprobs(self, hidden: torch.Tensor, rows: IntArray, tokens: IntArray) -> NDArray[np.float32]:
        """Return float32 [n]: natural-log probability of tokens[i] in the state hidden[rows[i]].

        Args:
            hidden: [r, d] states at the input of the head, on any device.
            rows, tokens: [n] row of the state, and token; in any order.
        """
        return self.read(hidden, rows, tokens)[0]

    def read(
        self, hidden: torch.Tensor, rows: IntArray, tokens: IntArray, finds_best: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Return ``logprobs``, and bool [n]: no token is more probable (all False unless ``finds_best``).

        Raises:
            NotANumber: the model's weights are damaged or too large.
        """
        hidden = hidden.to(device := self._weight.device)
        by_token = np.argsort(tokens, kind="stable")
        ordered = tokens[by_token]
        if len(ordered) and not 0 <= ordered[0] <= ordered[-1] < self.vocabulary:
            raise IndexError(f"tokens {ordered[0]} to {ordered[-1]} of a head with {self.vocabulary} rows")
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
        numbers(self._name, out)
        is_best[by_token] = (logit >= best[row]).cpu().numpy()
        return out, is_best

    @property
    def _multiplies_into_float32(self) -> bool:
        return self._weight.is_cuda and self._weight.dtype != torch.float32

    def _logits(self, states: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        """Return [r, stop - start] float32 logits of a vocabulary slice, after the model's scale and cap."""
        head = self._weight[start:stop]
        if self._multiplies_into_float32:
            logits = torch.mm(states, head.T, out_dtype=torch.float32)
        else:
            is_half = self._layer.weight.dtype == torch.bfloat16
            with _half_precision_products(is_half):
                logits = torch.mm(states, head.T) if is_half else products.linear(states, head)
        if self._bias is not None:
            logits += self._bias[start:stop].float()
        return self._after(logits, start)

    def _after(self, logits: torch.Tensor, start: int = 0) -> torch.Tensor:
        """Return what the model makes of its output layer's logits from a token on; changes them in place."""
        if self._scale != 1.0:
            logits *= self._scale
        if self._later_bias is not None:
            logits += self._later_bias[start : start + logits.shape[-1]]
        return torch.tanh(logits / self._soft_cap) * self._soft_cap if self._soft_cap else logits

    @torch.inference_mode()
    def measure(self, **inputs: Any) -> None:
        """Find the scale, cap or bias after the output layer, and check that nothing else is there.

        Args:
            inputs: of a pass over any short text.

        Raises:
            EngineError: the architecture changes its logits in another way, or its layer is not linear.
        """
        drawn = torch.Generator().manual_seed(0)
        size, device = self.vocabulary, self._weight.device
        probe = 20 * torch.randn(4, size, generator=drawn)
        probe[:3] = torch.tensor([[0.0], [SMALL], [LARGE]])
        given: list[torch.Tensor] = []

        def replace(_: Any, arguments: tuple[torch.Tensor, ...], output: torch.Tensor) -> torch.Tensor:
            given.append(arguments[0])
            return probe[None].to(device)

        with _hooked(self._layer.register_forward_hook, replace):
            after = self.model(**inputs).logits
        if len(given) != 1 or after.shape != (1, 4, size):
            raise self._bypassed()
        step = ROUNDING * max(torch.finfo(after.dtype).eps, torch.finfo(torch.float32).eps)
        after = after[0].float().cpu()
        cap = float(after[2, 0])
        is_capped = 0 < cap < 1 / SMALL**2
        scale = float(after[1, 0]) / SMALL if is_capped else cap / LARGE
        self._scale = 1.0 if abs(scale - 1) <= step else scale
        self._soft_cap = cap if is_capped else None
        self._later_bias = after[0].to(device) if bool(after[0].any()) and not is_capped else None
        worst = (self._after(probe[3:].to(device)).cpu() - after[3:]).abs().max() / after[3:].abs().max()
        alike = (after[2] == after[2, 0]).all()
        if not (scale > 0 and alike and worst <= step):
            raise EngineError(
                f"the architecture {type(self.model).__name__} changes its logits after the output layer by "
                "more than a scale, a soft cap or a bias, so they cannot be read in slices; it is not "
                "supported"
            )
        states = torch.randn(N_STATES, given[0].shape[-1], generator=drawn)
        self._check_layer(states.to(device, given[0].dtype))

    def _check_layer(self, states: torch.Tensor) -> None:
        """Compare the layer's output for these states [r, d] with the plain product of ``_logits``."""
        own = torch.cat(
            [
                self._logits(
                    states.float() if not self._multiplies_into_float32 else states, start, start + 2**15
                )
                for start in range(0, self.vocabulary, 2**15)
            ],
            dim=1,
        )
        plain = self._after(self._layer(states[None])[0].float())
        numbers(self._name, plain.cpu().numpy())
        step = ROUNDING * torch.finfo(self._layer.weight.dtype).eps
        if not (own - plain).abs().max() <= step * max(1.0, float(plain.abs().max())):
            raise EngineError(
                f"the output layer of {type(self.model).__name__} is not a plain product, so its logits "
                "cannot be read in slices; it is not supported"
            )

    def _bypassed(self) -> EngineError:
        return EngineError(f"{type(self.model).__name__} bypasses its output layer; it is not supported")


@contextmanager
def _hooked(register: Callable[[Any], Any], hook: Any) -> Iterator[None]:
    handle = register(hook)
    try:
        yield
    finally:
        handle.remove()


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
    """Return [r] log of the sum of exponentials of each row; a row depends on no other.

    Without the row's maximum, logits of about -100 (GPT-2's) have denormal exponentials and lose digits.
    """
    if logits.is_cuda:
        return torch.logsumexp(logits, dim=-1)
    rows = max(1, CACHED_LOGITS // logits.shape[1])
    return torch.cat([torch.logsumexp(part, dim=-1) for part in torch.split(logits, rows)])
