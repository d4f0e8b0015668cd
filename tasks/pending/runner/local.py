"""Runs a model with transformers or vLLM: log-probabilities of given tokens, and texts."""

from __future__ import annotations

import argparse
import copy
import inspect
import json
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


LEAST = -15.0
"""Log-probability from which tokens are compared."""


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
        self.ends = {*([named] if isinstance(named, int) else named or ()), self.tokenizer.eos_token_id}
        self.grammars: Any = None
        config = self.model.config.get_text_config()
        self.context = getattr(config, "max_position_embeddings", None) or 2**31
        self.keeps, self.pads, self.checked = True, True, 0
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
        """Implement ``Local.texts``; prompts with a schema need xgrammar."""
        can = ["response_format" not in line["body"] or self.has_grammars() for line in lines]
        if left := can.count(False):
            print(f"{left} prompts with a schema are left: pip install xgrammar, or --url", file=sys.stderr)
        bodies: list[Line | None] = [None] * len(lines)
        every = [(place, Text(self, lines[place])) for place, able in enumerate(can) if able]
        texts = [each for each in every if not each[1].is_done]  # others are longer than the model reads
        texts.sort(key=lambda each: (each[1].most, len(each[1].prompt)))  # a pass has similar ones
        while texts:
            n, longest = 1, [len(text.prompt) + text.most for _, text in texts]
            while self.pads and n < len(texts) and (n + 1) * max(longest[: n + 1]) <= self.positions:
                n += 1
            part, texts = texts[:n], texts[n:]
            with self.torch.inference_mode():
                self.write([text for _, text in part])
        for place, text in every:
            bodies[place] = text.reply()
        return bodies

    def write(self, texts: list[Text]) -> None:
        """Write texts together, token by token; padding stands before shorter prompts."""
        torch, longest = self.torch, max(len(text.prompt) for text in texts)
        device, past = self.model.device, None
        ids = [[0] * (longest - len(text.prompt)) + text.prompt for text in texts]
        mask = torch.tensor(
            [[0] * (longest - len(text.prompt)) + [1] * len(text.prompt) for text in texts], device=device
        )
        while not all(text.is_done for text in texts):
            own: Line = {"attention_mask": mask} if len(texts) > 1 else {}
            own |= (
                {"position_ids": (mask.cumsum(-1) - 1).clamp(0, self.context - 1)[:, -len(ids[0]) :]}
                if own
                else {}
            )
            inputs = torch.tensor(ids, device=device)
            out = self.model(inputs, past_key_values=past, use_cache=True, **self.last, **own)
            logits = out.logits[:, -1].float().cpu()
            if past is None and len(texts) > 1 and self.differs(*shortest(texts, logits)):
                for text in texts:
                    self.write([text])
                return
            past = out.past_key_values
            ids = [[0 if text.is_done else text.add(row)] for text, row in zip(texts, logits, strict=True)]
            mask = torch.cat([mask, torch.ones_like(mask[:, :1])], -1)

    def differs(self, prompt: list[int], logits: Any) -> bool:
        """Return whether padding changes what follows a prompt; then none is used any more."""
        plain = self.model(
            self.torch.tensor([prompt], device=self.model.device), use_cache=False, **self.last
        )
        both = (self.torch.log_softmax(each, -1) for each in (logits, plain.logits[0, -1].float().cpu()))
        own, other = both
        likely = other > LEAST
        self.pads = bool(((own - other).abs()[likely] <= self.tolerance).all())
        if not self.pads:
            print("prompts one by one from here on: padding changes this model's numbers", file=sys.stderr)
        return not self.pads

    def has_grammars(self) -> bool:
        """Return whether xgrammar is installed, which vLLM uses too."""
        try:
            import xgrammar
        except ImportError:
            return False
        if self.grammars is None:
            tokens = xgrammar.TokenizerInfo.from_huggingface(self.tokenizer, vocab_size=self.rows)
            self.grammars = xgrammar.GrammarCompiler(tokens)
        return True


class Text:
    """A text that a model writes."""

    def __init__(self, runner: Transformers, line: Line) -> None:
        self.runner, self.body, self.prompt = runner, line["body"], tokens_of(line)
        self.most = min(self.body["max_tokens"], runner.context - len(self.prompt))
        self.stops, self.written = self.body.get("stop", ()), list[int]()
        self.text, self.finish, self.content = "", "length", list[Line]()
        self.generator = runner.torch.Generator().manual_seed(self.body["seed"])
        form = self.body.get("response_format")
        self.allowed = Allowed(runner.grammars, form) if form else None
        self.top = self.body.get("top_logprobs") or self.body.get("logprobs") or 0

    @property
    def is_done(self) -> bool:
        """Whether nothing more is to be written."""
        return self.finish == "stop" or len(self.written) >= self.most

    def add(self, logits: Any) -> int:
        """Return the next token, which is added. Alternatives are those that a schema allows, as in vLLM."""
        tokenizer, ends = self.runner.tokenizer, self.runner.ends
        logits = self.allowed.only(logits) if self.allowed else logits
        token = self.drawn(logits)
        self.written.append(token)
        self.content += [self.alternatives(logits, token)] if self.top else []
        if token in ends or (self.allowed and self.allowed.ends_with(token)):
            self.finish = "stop"
            return token
        self.text = str(tokenizer.decode(self.written, skip_special_tokens=True))
        if found := [self.text.index(stop) for stop in self.stops if stop in self.text]:
            self.text, self.finish = self.text[: min(found)], "stop"
        return token

    def drawn(self, logits: Any) -> int:
        """Return the most probable token, or one by chance."""
        if not self.body["temperature"]:
            return int(logits.argmax())
        torch = self.runner.torch
        shares, tokens = torch.softmax(logits / self.body["temperature"], -1).sort(descending=True)
        shares[1:][shares.cumsum(-1)[:-1] >= self.body["top_p"]] = 0
        return int(tokens[torch.multinomial(shares, 1, generator=self.generator)])

    def alternatives(self, logits: Any, token: int) -> Line:
        """Return a token with the most probable ones in its place."""
        logs, decode = self.runner.torch.log_softmax(logits, -1), self.runner.tokenizer.decode
        tokens = dict.fromkeys([token, *logs.topk(self.top).indices.tolist()])
        pairs = [(str(decode([each])), float(logs[each])) for each in tokens]
        return pooled(pairs[0][0], pairs)

    def reply(self) -> Line:
        """Return the body of a reply."""
        body = reply(self.text, self.finish, len(self.prompt), len(self.written))
        if self.content:
            body["choices"][0]["logprobs"] = {"content": self.content}
        return body


def shortest(texts: list[Text], logits: Any) -> tuple[list[int], Any]:
    """Return the shortest prompt, which has most padding, and its row of logits."""
    place = min(range(len(texts)), key=lambda place: len(texts[place].prompt))
    return texts[place].prompt, logits[place]


class Allowed:
    """The tokens that may come next in JSON of a schema, by the rules of culturemeter's own engine."""

    def __init__(self, grammars: Any, form: Line) -> None:
        import xgrammar

        own = json.dumps(form["json_schema"]["schema"])
        grammar = grammars.compile_json_schema(own, any_whitespace=False, separators=(",", ":"))
        self.matcher = xgrammar.GrammarMatcher(grammar)
        self.mask = xgrammar.allocate_token_bitmask(1, grammar.tokenizer_info.vocab_size)
        self.apply = xgrammar.apply_token_bitmask_inplace

    def only(self, logits: Any) -> Any:
        """Return the logits of the tokens that may come next, others at minus infinity."""
        allowed = logits.clone()[None]
        self.matcher.fill_next_token_bitmask(self.mask)
        self.apply(allowed, self.mask)
        return allowed[0]

    def ends_with(self, token: int) -> bool:
        """Return whether nothing may follow a token."""
        return not self.matcher.accept_token(token) or bool(self.matcher.is_terminated())


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
