"""Part of the figure ``gpu``: tokens per second that vLLM generates, with prompts as in the evaluations.

vLLM creates the random weights itself. Its texts are random, so nearly all reach the limit of tokens, from
which a run's time is also planned.
"""

from __future__ import annotations

import time
from statistics import median
from tempfile import TemporaryDirectory

import torch
from transformers import AutoTokenizer

from benchmarks import inputs
from benchmarks.process import Result, WorkerError, measure, peak, show
from benchmarks.shapes import SHAPES, Shape, fits
from benchmarks.sizes import Sizes
from tasks.engines import load
from tasks.engines.protocols import Sampling
from tasks.engines.specs import EngineSpec
from warehouse import home


def figure(name: str, sizes: Sizes) -> Result:
    """Print a shape's line and return its figures, or {"skipped": reason} if it was not measured."""
    try:
        ours = measure(
            on_gpu, name=name, conversations=sizes.gpu_conversations, tokens=sizes.gpu_tokens,
            repeats=sizes.repeats,
        )  # fmt: skip
    except WorkerError as error:
        ours = {"skipped": str(error)}
    if "skipped" in ours:
        show(f"vllm, {name} shape: skipped: {ours['skipped']}")
    else:
        show(
            f"vllm, {name} shape, writes {ours['rate']:,.0f} tokens/s {peak(ours)} — {ours['conversations']} "
            f"conversations at once, {sizes.gpu_tokens} tokens each, random, {ours['device']}"
        )
    return ours


def on_gpu(name: str, conversations: int, tokens: int, repeats: int) -> Result:
    """Return the figures of a shape in bfloat16; {"skipped": reason} without a GPU or if it does not fit."""
    if not torch.cuda.is_available():
        return {"skipped": "torch sees no CUDA device"}
    shape, free = SHAPES[name], torch.cuda.mem_get_info()[0]
    if not fits(shape, 2, free):
        needed = 2 * shape.weights(shape.layers) / 2**30
        return {"skipped": f"its weights need {needed:,.0f} GiB, and {free / 2**30:,.0f} GiB are free"}
    return generation(shape, "cuda", conversations, tokens, repeats) | {
        "device": torch.cuda.get_device_name()
    }


def generation(shape: Shape, device: str, conversations: int, tokens: int, repeats: int) -> Result:
    """Return the tokens per second of concurrent conversations: the median of ``repeats`` after a first one.

    Args:
        tokens: maximum tokens of each answer.
    """
    questions = inputs.questions(conversations)
    dialogues = [[{"role": "user", "content": question}] for question in questions]
    with TemporaryDirectory(prefix="culturemeter-bench-") as folder:
        shape.config(shape.layers).save_pretrained(folder)
        AutoTokenizer.from_pretrained(inputs.model_folder()).save_pretrained(folder)
        spec = EngineSpec(
            name="random", kind="vllm", model=folder, device=device, dtype="bfloat16",
            options={"load_format": "dummy"},
        )  # fmt: skip
        engine = load.load(spec, home() / "models")
        try:
            rates = []
            for repeat in range(1 + repeats):  # each with another seed, so that nothing is cached
                start = time.perf_counter()
                answers = engine.generate(
                    dialogues, Sampling(temperature=1.0, max_tokens=tokens, seed=repeat)
                )
                n_tokens = sum(answer.completion_tokens for answer in answers)
                rates.append(n_tokens / (time.perf_counter() - start))
        finally:
            engine.close()
    return {
        "rate": median(rates[1:]),
        "conversations": len(dialogues),
        "completion_tokens": n_tokens,
        "prompt_tokens": sum(answer.prompt_tokens for answer in answers),
    }
