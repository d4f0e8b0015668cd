"""Runs a model with transformers or vLLM: log-probabilities of given tokens, and texts."""

from __future__ import annotations

import argparse
import copy
import inspect
import math
import os
import sys
from bisect import bisect_left
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from tasks.pending.runner.replies import Line, pooled, reply, tokens_of

TOLERANCE = {"float32": 1e-3}
"""Largest difference in nats between passes over kept keys and values, and plain ones; others: 0.1."""


class Local:
    """Base of what runs a model here."""

    stated: Line
    """Identity of the engine, beside every answer."""

    def answers(self, lines: list[Line]) -> list[Line]:
        """Return an answer to each line that this program can answer."""
        if "groups" in lines[0]:
            return [{**self.head(line), **self.scored(line)} for line in lines]
        bodies = zip(lines, self.texts(lines), strict=True)
        return [
            {**self.head(line), "response": {"status_code": 200, "body": body}, "error": None}
            for line, body in bodies
            if body is not None
        ]

    def head(self, line: Line) -> Line:
        """Return what every answer begins with."""
        return {"custom_id": line["custom_id"], "engine": self.stated}

    def scored(self, line: Line) -> Line:
        """Return the log-probabilities of a line's continuations, in order, and what else it wants."""
        answer: Line = {name: [] for name in ("logprobs", *line["groups"][0].get("wants", ()))}
        for group in line["groups"]:
            logs, greedy = self.scores(group)
            shares = [sum(map(math.exp, own)) / len(own) for own in logs]
            both = zip(logs, group["continuations"], strict=True)  # tokens after a text's end are left out
            sums = [sum(own) / len(own) * len(rest) for own, rest in both]
            for name, values in (("logprobs", sums), ("probabilities", shares), ("greedy", greedy)):
                if name in answer:
                    answer[name] += values
        return answer

    def scores(self, group: Line) -> tuple[list[list[float]], list[bool]]:
        """Return log-probabilities of each continuation's tokens, and whether all are the most probable."""
        raise NotImplementedError

    def texts(self, lines: list[Line]) -> list[Line | None]:
        """Return the body of a reply for each line; None for one that this program cannot answer."""
        raise NotImplementedError


class Transformers(Local):
    """A decoder-only model in transformers."""

    model: Any

    def __init__(self, options: argparse.Namespace, engine: Line, folder: Path, stated: Line) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.torch, self.stated = torch, stated
        device = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.positions = options.positions or (65536 if device.startswith("cuda") else 2048)
        own: Line = {"trust_remote_code": options.trust_remote_code}
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=getattr(torch, engine["dtype"]),
            use_safetensors=True,
            output_loading_info=True,
            **own,
        )
        model, info = loaded
        if info["missing_keys"]:
            sys.exit(f"{folder} lacks weights ({min(info['missing_keys'])} …): it cannot be used")
        self.model = model.to(device).eval().requires_grad_(False)
        self.tokenizer = AutoTokenizer.from_pretrained(folder, **own)
        self.rows = len(self.model.get_input_embeddings().weight)
        self.tolerance = TOLERANCE.get(engine["dtype"], 0.1)
        takes = inspect.signature(self.model.forward).parameters
        self.last: Line = {"logits_to_keep": 1} if "logits_to_keep" in takes else {}
        named = getattr(self.model.generation_config, "eos_token_id", None) or self.model.config.eos_token_id
        self.ends = set([named] if isinstance(named, int) else named or ())
        self.keeps, self.checked = True, 0
        self.kept: tuple[list[int], Any, Any] = ([], None, None)
        """The last prefix, its keys and values, and the logits after it."""

    def scores(self, group: Line) -> tuple[list[list[float]], list[bool]]:
        """Implement ``Local.scores``; tokens that continuations share run once."""
        prefix, rests = group["prefix"], group["continuations"]
        if max(max(prefix), *(max(rest) for rest in rests)) >= self.rows:
            sys.exit(f"a token of the requests is not among the model's {self.rows:,}: it is another model")
        with self.torch.inference_mode():
            if "own_text" in group:
                return self.along_own_text(prefix, rests, group["own_text"]), []
            if self.keeps and len(prefix) > self.checked:
                self.check(prefix, rests)
            return self.read(prefix, rests, self.keeps)

    def check(self, prefix: list[int], rests: list[list[int]]) -> None:
        """Compare passes over kept keys and values with plain ones, on the longest prefix so far."""
        some = sorted(rests, key=len)[-2:]
        self.checked = len(prefix)
        try:
            kept, plain = (self.read(prefix, some, keeps)[0] for keeps in (True, False))
            both = zip(chain(*kept), chain(*plain), strict=True)
            worst = max(abs(a - b) for a, b in both)
        except (AttributeError, NotImplementedError, RuntimeError, TypeError, ValueError):
            worst = math.inf
        if not worst <= self.tolerance:
            self.keeps = False
            print(
                f"plain passes from here on: kept keys and values give {worst:.4f} nats more", file=sys.stderr
            )

    def read(
        self, prefix: list[int], rests: list[list[int]], keeps: bool
    ) -> tuple[list[list[float]], list[bool]]:
        """Return what ``scores`` does. keeps: whether the prefix runs once, and not with every text."""
        torch, device = self.torch, self.model.device
        if keeps and self.kept[0] != prefix:
            out = self.model(torch.tensor([prefix], device=device), use_cache=True, **self.last)
            self.kept = (prefix, out.past_key_values, out.logits[0, -1:])
        inner = sorted({tuple(rest[:-1]) for rest in rests})
        # A text that begins another one is read in the other one's pass.
        rows = [a for a, b in zip(inner, [*inner[1:], None], strict=True) if b is None or b[: len(a)] != a]
        own: dict[tuple[int, ...], list[int]] = {row: [] for row in rows}
        for place, rest in enumerate(rests):
            own[rows[bisect_left(rows, tuple(rest[:-1]))]].append(place)
        logs: list[list[float]] = [[] for _ in rests]
        greedy = [False for _ in rests]
        width = max(1, self.positions // (len(prefix) + max(map(len, rows)) + 1))
        for at in range(0, len(rows), width):
            part = rows[at : at + width]
            for row, logits in zip(part, self.logits(prefix, part, keeps), strict=True):
                table = logits.float()
                sums, best = torch.logsumexp(table, -1), table.amax(-1)
                for place in own[row]:
                    n = len(rests[place])
                    tokens = torch.tensor(rests[place], device=device)
                    found = table[torch.arange(n, device=device), tokens]
                    logs[place] = (found - sums[:n]).tolist()
                    greedy[place] = bool((found >= best[:n]).all())
        return logs, greedy

    def logits(self, prefix: list[int], rows: list[tuple[int, ...]], keeps: bool) -> Iterator[Any]:
        """Yield [1 + n, V] logits for each row of n tokens: after the prefix, and after each token."""
        torch, device = self.torch, self.model.device
        longest = max(map(len, rows))
        padded = [[*row, *[0] * (longest - len(row))] for row in rows]  # padding comes after all that is read
        if not keeps:
            out = self.model(
                torch.tensor([[*prefix, *row] for row in padded], device=device), use_cache=False
            )
            yield from (
                all_of[len(prefix) - 1 :][: 1 + len(row)]
                for all_of, row in zip(out.logits, rows, strict=True)
            )
            return
        _, past, first = self.kept
        after: Any = [first[:0]] * len(rows)
        if longest:
            past = copy.deepcopy(past)
            past.batch_repeat_interleave(len(rows))
            at = torch.arange(len(prefix), len(prefix) + longest, device=device).expand(len(rows), -1)
            ids = torch.tensor(padded, device=device)
            after = self.model(ids, past_key_values=past, position_ids=at, use_cache=True).logits
        yield from (torch.cat([first, own[: len(row)]]) for own, row in zip(after, rows, strict=True))

    def along_own_text(self, prefix: list[int], rests: list[list[int]], most: int) -> list[list[float]]:
        """Return the log-probabilities of each continuation's tokens at the steps of the model's own text."""
        torch, ids, past = self.torch, prefix, None
        logs: list[list[float]] = [[] for _ in rests]
        for step in range(min(most, max(map(len, rests)))):
            inputs = torch.tensor([ids], device=self.model.device)
            out = self.model(inputs, past_key_values=past, use_cache=True, **self.last)
            row, past = torch.log_softmax(out.logits[0, -1].float(), -1), out.past_key_values
            for own, rest in zip(logs, rests, strict=True):
                if step < len(rest):
                    own.append(float(row[rest[step]]))
            ids = [int(row.argmax())]
            if ids[0] in self.ends:
                break
        return logs

    def texts(self, lines: list[Line]) -> list[Line | None]:
        """Implement ``Local.texts`` for prompts without a schema and alternatives."""
        can = [n for n, line in enumerate(lines) if not line["body"].keys() & {"response_format", "logprobs"}]
        if len(can) < len(lines):
            print(
                f"{len(lines) - len(can)} prompts with a schema are left: they need vLLM or --url",
                file=sys.stderr,
            )
        bodies: list[Line | None] = [None] * len(lines)
        for n in can:
            with self.torch.inference_mode():
                bodies[n] = self.text(lines[n]["body"], tokens_of(lines[n]))
        return bodies

    def text(self, body: Line, prompt: list[int]) -> Line:
        """Return the body of a reply to one prompt."""
        torch, ids, past, written = self.torch, prompt, None, list[int]()
        drawn = torch.Generator().manual_seed(body["seed"])
        stops, text, finish = body.get("stop", ()), "", "length"
        while len(written) < body["max_tokens"]:
            inputs = torch.tensor([ids], device=self.model.device)
            out = self.model(inputs, past_key_values=past, use_cache=True, **self.last)
            past = out.past_key_values
            ids = [self.drawn(out.logits[0, -1].float().cpu(), body, drawn)]
            written += ids
            if ids[0] in self.ends:
                finish = "stop"
                break
            text = str(self.tokenizer.decode(written, skip_special_tokens=True))
            if found := [text.index(stop) for stop in stops if stop in text]:
                text, finish = text[: min(found)], "stop"
                break
        return reply(text, finish, len(prompt), len(written))

    def drawn(self, logits: Any, body: Line, generator: Any) -> int:
        """Return the next token."""
        if not body["temperature"]:
            return int(logits.argmax())
        shares, tokens = self.torch.softmax(logits / body["temperature"], -1).sort(descending=True)
        shares[1:][shares.cumsum(-1)[:-1] >= body["top_p"]] = 0
        return int(tokens[self.torch.multinomial(shares, 1, generator=generator)])


class Vllm(Local):
    """A model in vLLM, with the settings of culturemeter's own engine."""

    def __init__(self, options: argparse.Namespace, engine: Line, folder: Path, stated: Line) -> None:
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")
        if (os.cpu_count() or 1) < 4:
            os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
        from transformers import AutoConfig
        from vllm import LLM
        from vllm.platforms import current_platform

        self.stated, own = stated, {"trust_remote_code": options.trust_remote_code}
        settings: Line = {
            "dtype": engine["dtype"], "seed": 0, "max_model_len": -1, "use_tqdm_on_load": False,
            "max_num_batched_tokens": engine["batch_tokens"], "load_format": "safetensors",
            "tensor_parallel_size": engine["tensor_parallel"],
            "structured_outputs_config": {"backend": "xgrammar", "disable_any_whitespace": True},
        }  # fmt: skip
        if current_platform.is_cpu():
            config = AutoConfig.from_pretrained(folder, **own).get_text_config()
            context = getattr(config, "max_position_embeddings", None) or engine["batch_tokens"]
            longest = engine["options"].get("max_model_len", 0)
            settings |= {
                "enforce_eager": True, "enable_chunked_prefill": False, "block_size": 32,
                "max_model_len": min(context, engine["batch_tokens"]),
                "max_num_batched_tokens": max(longest, engine["batch_tokens"]),
            }  # fmt: skip
            if not os.environ.get("VLLM_CPU_KVCACHE_SPACE"):
                settings["kv_cache_memory_bytes"] = 2**31
        else:
            settings |= {"hf_overrides": {"head_dtype": "float32"}}
        self.llm: Any = LLM(model=str(folder), **settings | engine["options"] | own)
        self.context = int(self.llm.model_config.max_model_len)

    def scores(self, group: Line) -> tuple[list[list[float]], list[bool]]:
        """Implement ``Local.scores``; every continuation runs by itself."""
        from vllm import SamplingParams

        params = SamplingParams(
            max_tokens=1, temperature=0.0, prompt_logprobs=1, skip_reading_prefix_cache=True, detokenize=False
        )
        prefix, rests = group["prefix"], group["continuations"]
        if "own_text" in group:
            sys.exit("scores along a model's own text need transformers: --program transformers")
        prompts: list[Any] = [{"prompt_token_ids": [*prefix, *rest]} for rest in rests]
        logs, greedy = [], []
        for rest, out in zip(rests, self.llm.generate(prompts, params, use_tqdm=False), strict=True):
            places = (out.prompt_logprobs or [])[len(prefix) :]
            scored = [of_place[token] for of_place, token in zip(places, rest, strict=True)]
            logs.append([token.logprob for token in scored])
            greedy.append(all(token.rank == 1 for token in scored))
        return logs, greedy

    def texts(self, lines: list[Line]) -> list[Line | None]:
        """Implement ``Local.texts``."""
        tokens = [tokens_of(line) for line in lines]
        bodies: list[Line | None] = [reply("", "length", len(ids), 0) for ids in tokens]
        can = [n for n, ids in enumerate(tokens) if len(ids) < self.context]
        prompts: list[Any] = [{"prompt_token_ids": tokens[n]} for n in can]
        outputs = self.llm.generate(prompts, [self.params(lines[n]["body"]) for n in can], use_tqdm=False)
        for n, out in zip(can, outputs, strict=True):
            own = out.outputs[0]
            body = reply(own.text, own.finish_reason, len(tokens[n]), len(own.token_ids))
            if own.logprobs:
                content = []
                for token, places in zip(own.token_ids, own.logprobs, strict=True):
                    others = [(each.decoded_token, each.logprob) for each in places.values()]
                    content.append(pooled(places[token].decoded_token, others))
                body["choices"][0]["logprobs"] = {"content": content}
            bodies[n] = body
        return bodies

    def params(self, body: Line) -> Any:
        """Return vLLM's parameters of a request."""
        from vllm import SamplingParams
        from vllm.sampling_params import StructuredOutputsParams

        form = body.get("response_format")
        own = {name: body[name] for name in ("temperature", "top_p", "max_tokens", "seed")}
        return SamplingParams(
            **own,
            stop=body.get("stop", []),
            logprobs=body.get("top_logprobs") or body.get("logprobs") or None,
            structured_outputs=StructuredOutputsParams(json=form["json_schema"]["schema"]) if form else None,
        )
