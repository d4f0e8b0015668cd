"""Which options of a spec are known and harmless, by kind of engine.

An option goes to a library that may load code by name. So the list says what is allowed: numbers, switches,
and words from a fixed list. None of these values can name a module, a class, a file or an address. Anything
else needs the user's trust.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Test = Callable[[Any], bool]


def _switch(value: Any) -> bool:
    return isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _one_of(*words: str) -> Test:
    return lambda value: isinstance(value, str) and value in words


TRANSFORMERS: Mapping[str, Test] = {
    "attn_implementation": _one_of("eager", "sdpa", "flash_attention_2", "flex_attention"),
    "disable_mmap": _switch,
    "force_download": _switch,
    "local_files_only": _switch,
    "low_cpu_mem_usage": _switch,
    "memory_gib": _number,
    "trust_remote_code": _switch,  # has a permission of its own
}
"""Options of ``from_pretrained``."""
VLLM: Mapping[str, Test] = {
    **dict.fromkeys(
        (
            "block_size", "cpu_offload_gb", "data_parallel_size", "decode_context_parallel_size",
            "gpu_memory_utilization", "kv_cache_memory_bytes", "long_prefill_token_threshold", "max_logprobs",
            "max_model_len", "max_num_batched_tokens", "max_num_seqs", "max_parallel_loading_workers",
            "num_gpu_blocks_override", "pipeline_parallel_size", "prefill_context_parallel_size", "seed",
            "tensor_parallel_size",
        ),
        _number,
    ),
    **dict.fromkeys(
        (
            "async_scheduling", "disable_cascade_attn", "disable_custom_all_reduce",
            "disable_hybrid_kv_cache_manager", "disable_sliding_window", "enable_chunked_prefill",
            "enable_expert_parallel", "enable_prefix_caching", "enforce_eager", "language_model_only",
            "trust_remote_code", "use_tqdm_on_load",
        ),
        _switch,
    ),
    "distributed_executor_backend": _one_of("mp", "ray", "uni"),
    "dtype": _one_of("auto", "half", "float16", "bfloat16", "float", "float32"),
    "generation_config": _one_of("auto", "vllm"),
    "kv_cache_dtype": _one_of("auto", "float16", "bfloat16", "fp8", "fp8_e4m3", "fp8_e5m2"),
    "load_format": _one_of("auto", "hf", "safetensors", "pt", "npcache"),  # pickles need a permission
    "mamba_cache_dtype": _one_of("auto", "float32", "float16", "bfloat16"),
    "mamba_ssm_cache_dtype": _one_of("auto", "float32", "float16", "bfloat16"),
    "quantization": _one_of(
        "awq", "awq_marlin", "bitsandbytes", "compressed-tensors", "fp8", "gptq", "gptq_marlin"
    ),
    "tokenizer_mode": _one_of("auto", "hf", "mistral"),
}  # fmt: skip
"""Options of vLLM's ``EngineArgs``."""
HARMLESS: Mapping[str, Mapping[str, Test]] = {
    **dict.fromkeys(("packed_trie", "masked", "seq2seq"), TRANSFORMERS),
    "vllm": VLLM,
}
"""Kind -> option -> test of its value. Other kinds have option classes, which allow nothing else."""


def refused(kind: str, options: Mapping[str, Any]) -> list[str]:
    """Return the options that are not known to be harmless, or whose value is not."""
    if kind not in HARMLESS:
        return []
    return [name for name, value in options.items() if not (HARMLESS[kind].get(name) or _never)(value)]


def known(kind: str) -> list[str]:
    """Return the names of the harmless options of a kind."""
    return sorted(HARMLESS.get(kind, {}))


def in_flight(options: Mapping[str, Any]) -> int:
    """Return the number of requests at once that the options of a server set; 0 if they set none."""
    n = options.get("batch") or options.get("max_concurrency")
    return n if isinstance(n, int) else 0


def _never(_: Any) -> bool:
    return False
