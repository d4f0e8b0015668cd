"""The rule by which a model's layers of one kind see keys, taken from transformers in place of a table.

transformers asks for a mask of every kind of layer (AttentionMaskInterface), and gets the model's own rule:
its windows, chunks and the like as a function of positions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from transformers.masking_utils import causal_mask_function


@dataclass(frozen=True, eq=False)
class LayerMask:
    """The rule of a model by which its layers of one kind see keys, made for each pass.

    Attributes:
        visible: of transformers: (batch, head, query, key) -> bool, elementwise over tensors of positions.
    """

    visible: Callable[..., Any]

    @property
    def is_causal(self) -> bool:
        """Whether a query sees every key before it, and itself."""
        return self.visible is causal_mask_function

    def __call__(self, batch: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        """Return bool, broadcast over the arguments: whether a query at a position sees a key at another."""
        seen: torch.Tensor = self.visible(batch, torch.zeros_like(batch), query, key)
        return seen


def layer_mask(
    mask_function: Callable[..., Any] = causal_mask_function, use_vmap: bool = False, **_: Any
) -> LayerMask:
    """Return a layer's rule; transformers calls this function (AttentionMaskInterface).

    Raises:
        NotImplementedError: the rule is not known to be elementwise.
    """
    if use_vmap:
        raise NotImplementedError("its masks depend on more than positions")
    return LayerMask(mask_function)
