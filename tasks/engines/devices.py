"""Where a model runs."""

from __future__ import annotations

import torch


def device(name: str) -> torch.device:
    """The device of a spec: "auto" is the GPU where there is one, else the CPU."""
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    return torch.device(name)
