"""Log-probabilities of chosen tokens, with the output head applied only where they are read.

A model's logits over a vocabulary of 250,000 are far larger than all its hidden states. So the model is run
with a hook that takes the hidden states away in front of the head, the wanted positions are picked, and
the head is applied to these in slices of bounded size. Whatever an architecture does before its head
(transforms, scales) is done by its own code.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tasks.engines.protocols import EngineError

LOGITS = 2**24
"""Logits that exist at a time: 64 MiB in float32, and as much again for their log-softmax."""

TOLERANCE = {torch.float32: 1e-3, torch.bfloat16: 1.0, torch.float16: 0.25}
"""Nats by which ``check`` lets the model's own logits differ: half precisions round them."""

IntArray = NDArray[np.int64]


class OutputHead:
    """The last linear layer of a language model.

    Its product is taken in float32 whatever the model's dtype: bfloat16 logits are quantised at about 0.1
    nat. In half precision that costs a float32 copy of the head.
    """

    def __init__(self, model: Any) -> None:
        """Find the head.

        Raises:
            EngineError: the model names no output layer.
        """
        self.model = model
        layer = model.get_output_embeddings()
        if layer is None:
            raise EngineError(f"the architecture {type(model).__name__} names no output layer to read from")
        self._layer = layer
        self._weight = layer.weight.float()
        bias = getattr(layer, "bias", None)
        self._bias = None if bias is None else bias.float()

    @property
    def vocabulary(self) -> int:
        """Rows of the head: one more than the largest token id that it can score."""
        return len(self._weight)

    def run(self, **inputs: Any) -> tuple[torch.Tensor, Any]:
        """Run the model up to its head.

        Returns:
            [b, n, d] hidden states as they enter the head, and the model's output (with empty logits).

        Raises:
            EngineError: the architecture does not call its output layer.
        """
        states: list[torch.Tensor] = []

        def take(_: Any, arguments: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor]:
            states.append(arguments[0])
            return (arguments[0][:, :0],)

        hook = self._layer.register_forward_pre_hook(take)
        try:
            output = self.model(**inputs)
        finally:
            hook.remove()
        if not states:
            raise EngineError(f"{type(self.model).__name__} bypasses its output layer; it is not supported")
        return states[0], output

    def logprobs(self, states: torch.Tensor, rows: IntArray, tokens: IntArray) -> NDArray[np.float32]:
        """Natural log of the probability of each token in a state.

        Args:
            states: [r, d] as they enter the head.
            rows: [n] which state a token is read from, ascending.
            tokens: [n] the tokens.

        Returns:
            float32 [n] log-softmax over the whole vocabulary, in float32.
        """
        out = np.empty(len(rows), dtype=np.float32)
        step = max(1, LOGITS // self.vocabulary)
        for start in range(0, len(states), step):
            low, high = np.searchsorted(rows, [start, start + step])
            logits = torch.nn.functional.linear(
                states[start : start + step].float(), self._weight, self._bias
            )
            row, token = (
                torch.from_numpy(a).to(logits.device) for a in (rows[low:high] - start, tokens[low:high])
            )
            out[low:high] = torch.log_softmax(logits, dim=-1)[row, token].cpu().numpy()
        return out

    @torch.inference_mode()
    def check(self, **inputs: Any) -> None:
        """Compare with the model's own logits, on the last position of the given inputs.

        Raises:
            EngineError: they differ: the architecture does something to the logits after its head.
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
