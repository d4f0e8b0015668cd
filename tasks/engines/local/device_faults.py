"""Faults of a device in the middle of a pass: too little memory, or a device that is lost.

With too little memory the call is repeated once, with half as many tokens in a pass, and the engine keeps
that size. Scores do not depend on it. After an error of the device itself nothing that it computes can be
trusted, and no later call works: the engine is given up, and the part under way is not stored.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch

from tasks.engines.protocols import EngineError

P = ParamSpec("P")
T = TypeVar("T")

LEAST_TOKENS = 64
"""Fewest tokens of a pass (``EngineSpec.batch_tokens``)."""
NO_MEMORY = ("out of memory", "allocate memory", "CUBLAS_STATUS_ALLOC_FAILED")
LOST = (
    "CUDA error", "HIP error", "CUBLAS_STATUS", "CUDNN_STATUS", "cudaError", "device-side assert",
    "NVML", "unspecified launch failure", "fell off the bus",
)  # fmt: skip
"""Words in errors of a device or its driver."""


class DeviceLost(EngineError):  # noqa: N818 - "raise DeviceLost" says it all
    """A device has failed; the message names the model and what to look at."""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error says that memory is too small."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return isinstance(error, RuntimeError) and any(word in str(error) for word in NO_MEMORY)


def is_lost(error: BaseException) -> bool:
    """Return whether an error says that the device has failed."""
    if is_out_of_memory(error) or not isinstance(error, RuntimeError):
        return False
    accelerator = getattr(torch, "AcceleratorError", ())
    return isinstance(error, accelerator) or any(word in str(error) for word in LOST)


def lost(name: str, error: BaseException) -> DeviceLost:
    """Return the error of a model whose device has failed."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return DeviceLost(
        f"model {name!r}: its device failed ({reason}): what it computed last is not stored; run again, and "
        "if that fails too, look for it in nvidia-smi and for Xid errors in dmesg"
    )


def too_small(name: str, error: BaseException, tokens: int) -> EngineError:
    """Return the error of a model for which the memory is too small. tokens: of its passes."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    is_gpu = isinstance(error, torch.OutOfMemoryError)
    more = ", or give a packed_trie more GPUs (gpus in its spec)" if is_gpu else ""
    return EngineError(
        f"model {name!r}: out of memory with passes of {tokens} tokens ({reason}): set a smaller "
        'batch_tokens in its spec, take dtype "bfloat16", or leave its device to it alone'
        f"{more}"
    )


def guarded(method: Callable[P, T]) -> Callable[P, T]:
    """Decorate a method of a scorer that runs its model.

    The method may have an argument ``progress``, to which nothing is reported twice. Raises ``DeviceLost``,
    or EngineError if half of the tokens are still too many.
    """
    signature = inspect.signature(method)

    @wraps(method)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        given = signature.bind(*args, **kwargs)
        scorer: Any = given.arguments["self"]
        if scorer.lost:
            raise scorer.lost
        report, seen = given.arguments.get("progress"), _Seen()
        if report:
            given.arguments["progress"] = seen.reporting(report)
        while True:
            try:
                return method(*given.args, **given.kwargs)
            except EngineError:
                raise
            except RuntimeError as error:
                if is_lost(error):
                    scorer.lost = lost(scorer.spec.name, error)
                    raise scorer.lost from error
                if not is_out_of_memory(error):
                    raise
                failure = error.with_traceback(None)  # its frames hold tensors
            tokens = scorer.spec.batch_tokens
            if scorer.is_halved or tokens // 2 < LEAST_TOKENS:
                raise too_small(scorer.spec.name, failure, tokens) from failure
            scorer.is_halved = True
            scorer.spec = scorer.spec.model_copy(update={"batch_tokens": tokens // 2})
            gc.collect()
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            seen.restart()

    return run


class _Seen:
    """Reports progress of a call, which may begin again, once."""

    def __init__(self) -> None:
        self.n = self.n_reported = 0

    def restart(self) -> None:
        self.n = 0

    def reporting(self, report: Callable[[int], None]) -> Callable[[int], None]:
        def once(n: int) -> None:
            self.n += n
            if (new := self.n - self.n_reported) > 0:
                self.n_reported = self.n
                report(new)

        return once
