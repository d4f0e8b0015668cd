"""Load a model whose every weight comes from its checkpoint."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AutoTokenizer

from tasks.engines.devices import device
from tasks.engines.protocols import EngineError
from tasks.engines.specs import EngineSpec, resolved


def load(auto_class: Any, spec: EngineSpec, folder: str) -> tuple[Any, Any]:
    """Tokenizer and model of a folder or Hugging Face id, on the spec's device, ready to score.

    Args:
        auto_class: the transformers class for the task, such as ``AutoModelForMaskedLM``.

    Raises:
        EngineError: not loadable by this class, or the checkpoint lacks weights that the class needs:
            transformers would fill them with random numbers.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, revision=spec.revision)
        model, info = auto_class.from_pretrained(
            folder,
            revision=spec.revision,
            dtype=getattr(torch, resolved(spec).dtype),
            output_loading_info=True,
            **spec.options,
        )
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).splitlines()[0]  # the rest lists every architecture there is
        raise EngineError(f"model {spec.name!r} cannot be loaded from {folder!r}: {reason}") from error
    if info["missing_keys"]:
        missing = ", ".join(sorted(info["missing_keys"])[:3])
        raise EngineError(
            f"the checkpoint of {spec.name!r} lacks {len(info['missing_keys'])} weights ({missing} …): its "
            "probabilities would be random; take one that still has the head of its pretraining"
        )
    return tokenizer, model.to(device(spec.device)).eval().requires_grad_(False)
