"""Architectures whose speed is measured with random weights, on which it does not depend."""

from __future__ import annotations

from dataclasses import dataclass

from transformers import LlamaConfig

SLACK = 1.25
"""Memory of weights and activations, as a multiple of the weights'."""


@dataclass(frozen=True)
class Shape:
    """Dimensions of an architecture that determine its speed."""

    hidden: int
    layers: int
    heads: int
    kv_heads: int
    inner: int
    vocabulary: int = 128_256

    def config(self, layers: int) -> LlamaConfig:
        """Return a model configuration with this number of layers."""
        return LlamaConfig(
            hidden_size=self.hidden,
            num_hidden_layers=layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            intermediate_size=self.inner,
            vocab_size=self.vocabulary,
        )

    def weights(self, layers: int) -> int:
        """Return the number of weights: embedding and head, and each layer's attention and inner matrices."""
        attention = 2 * self.hidden * (self.hidden + self.hidden * self.kv_heads // self.heads)
        return 2 * self.vocabulary * self.hidden + layers * (attention + 3 * self.hidden * self.inner)


SHAPES = {
    "llama-8b": Shape(hidden=4096, layers=32, heads=32, kv_heads=8, inner=14336),
    "llama-70b": Shape(hidden=8192, layers=80, heads=64, kv_heads=8, inner=28672),
}


def fits(shape: Shape, bytes_each: int, free: int) -> bool:
    """Return whether all layers of a shape and the activations of a pass fit into ``free`` bytes."""
    return SLACK * bytes_each * shape.weights(shape.layers) < free
