"""Attention of many short blocks, and of prefixes, by plain products or PyTorch's fused kernels."""

from __future__ import annotations

import math

import torch
from torch.nn.functional import scaled_dot_product_attention


def block_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor, scaling: float | None,
    shared: tuple[torch.Tensor, torch.Tensor] | None = None,
) -> torch.Tensor:  # fmt: skip
    """Return the attention of many short blocks.

    On a CPU it is computed with plain products, which are faster on short blocks than PyTorch's fused kernel.

    Args:
        query: [n, kv_heads, q, g, d]; g heads share their keys.
        key, value: [n, kv_heads, k, d] and [n, kv_heads, k, v].
        mask: [n, 1, q, 1, c + k] additive.
        shared: keys [1, kv_heads, c, d] and values [1, kv_heads, c, v] before those of every block.

    Returns:
        [n, kv_heads, q, g, v].
    """
    n, kv_heads, q, g, d = query.shape
    k = key.shape[2]
    c = shared[0].shape[2] if shared else 0
    if query.is_cuda:
        return _fused(query, key, value, mask, scaling, shared)
    # Heads that share their keys are rows of one product.
    rows = query.reshape(n, kv_heads, q * g, d)
    scores = rows @ key.transpose(2, 3)
    if shared:
        scores = torch.cat([_shared_product(rows, shared[0].transpose(2, 3)), scores], dim=-1)
    scores = scores.view(n, kv_heads, q, g, c + k)
    scale = scaling or d**-0.5
    # A power of two, as in most models, causes no rounding in half precision.
    if math.frexp(scale)[0] != 0.5:
        scores = scores.float()
    weights = torch.softmax(torch.add(mask, scores, alpha=scale, out=scores), dim=-1)
    weights = weights.to(value.dtype).view(n, kv_heads, q * g, c + k)
    out = weights[..., c:] @ value
    if shared:
        out += _shared_product(weights[..., :c], shared[1])
    return out.view(n, kv_heads, q, g, -1)


def _fused(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor, scaling: float | None,
    shared: tuple[torch.Tensor, torch.Tensor] | None,
) -> torch.Tensor:  # fmt: skip
    """Return ``block_attention`` by PyTorch's fused kernel for a GPU.

    With a mask and heads that share keys (enable_gqa), PyTorch would fall back to plain products, which hold
    all scores in memory. So heads that share their keys are rows of one head.
    """
    n, kv_heads, q, g, d = query.shape
    if shared:
        expanded = (states.expand(n, -1, -1, -1) for states in shared)
        key, value = (torch.cat(both, dim=2) for both in zip(expanded, (key, value), strict=True))
    rows = query.reshape(n, kv_heads, q * g, d)
    by_row = mask.expand(-1, -1, -1, g, -1).reshape(n, 1, q * g, -1)
    out = scaled_dot_product_attention(rows, key, value, attn_mask=by_row, scale=scaling)
    return out.view(n, kv_heads, q, g, -1)


def prefix_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None,
    scaling: float | None, is_fused: bool,
) -> torch.Tensor:  # fmt: skip
    """Return the attention of prefixes, [b, heads, n, v].

    Args:
        is_fused: on a GPU, where only a kernel without mask in half precision takes heads that share keys;
            for others the keys are repeated, which takes as much memory as the queries.
    """
    group = query.shape[1] // key.shape[1]
    if is_fused and group > 1 and (mask is not None or query.dtype == torch.float32):
        key, value = (states.repeat_interleave(group, dim=1) for states in (key, value))
        group = 1
    return scaled_dot_product_attention(
        query, key, value, attn_mask=mask, is_causal=mask is None, scale=scaling, enable_gqa=group > 1
    )


def _shared_product(rows: torch.Tensor, shared: torch.Tensor) -> torch.Tensor:
    """Return [n, heads, r, x]: [n, heads, r, y] rows times a shared [1, heads, y, x], a product per head."""
    n, heads, r, _ = rows.shape
    together = rows.transpose(0, 1).reshape(heads, n * r, -1) @ shared[0]
    return together.view(heads, n, r, -1).transpose(0, 1)
