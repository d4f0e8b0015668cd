"""Stands for an engine that works elsewhere: writes down what it is asked for, or gives what came back.

Requests call it like any engine. To write down, it raises ``Asked`` with one *form* for each prefix, pair or
prompt: tokens to score, or a line of the Batch API. With answers in the same order it returns them, so that
the code that makes the rows of a run makes those of an import. Texts are turned into tokens here, so a runner
elsewhere follows our boundary rules without knowing them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tasks.engines import content, openings, pairs, prompting, templates
from tasks.engines.local import embedded, hub_models
from tasks.engines.prompting import ContinuationScorer
from tasks.engines.protocols import (
    RAW,
    Alternatives,
    CandidateScores,
    Cloze,
    Conversations,
    EngineError,
    Generation,
    PairScores,
    Progress,
    Sampling,
    Samplings,
    Schema,
    Schemas,
    TextPair,
    each,
    each_number,
    each_schema,
    is_continued,
)
from tasks.engines.secrets import Secrets
from tasks.engines.served.failures import Failed
from tasks.engines.served.hosted import answer_tokens
from tasks.engines.served.openai_http import OpenAIGenerator, response_format
from tasks.engines.served.openai_reply import BatchLine, read_batch_answer, read_reply
from tasks.engines.served.transport import Caller, checked
from tasks.engines.specs import EngineSpec
from tasks.pending.answers import Refused

Form = dict[str, Any]

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
KINDS = ("packed_trie", "vllm", "openai")
"""Kinds of engines whose requests can be written down."""


class Asked(Exception):  # noqa: N818 - nothing is wrong
    """Carries what an engine was asked for: a form for each prefix, pair or prompt, in order."""

    def __init__(self, forms: list[Form]) -> None:
        super().__init__()
        self.forms = forms


class _Unsent(OpenAIGenerator):
    """The requests of a served model, which are written down here and sent by others: no key is read."""

    def read_key(self) -> str | None:
        return None


class Away(ContinuationScorer):
    """An engine behind the ``Scorer``, ``CandidateScorer``, ``PairScorer`` and ``Generator`` protocols."""

    def __init__(self, spec: EngineSpec, served_as: str, cache: Path) -> None:
        """Take a resolved spec; nothing is loaded before it is asked.

        Args:
            served_as: name by which servers of a model with weights must know it, which so states what it is.
            cache: ``$CULTUREMETER_HOME/models``.

        Raises:
            EngineError: this kind of engine works only here.
        """
        if spec.kind not in KINDS:
            raise EngineError(
                f'model {spec.name!r}: requests to kind "{spec.kind}" cannot be answered elsewhere (only '
                f"{', '.join(KINDS)}): culturemeter run sends them from here"
            )
        self.spec, self._served_as, self.cache = spec, served_as, cache
        self.answers: Sequence[Any] | None = None
        """One ``Scores`` or generation for each unit of the next call; None: write down what is asked."""
        self._lists: dict[int, list[list[int]]] = {}

    @cached_property
    def folder(self) -> Path:
        """The folder with the model's tokenizer and configuration; not necessarily with its weights."""
        is_on_hub = not self.spec.model.startswith(content.PREFIX) and not content.is_folder(self.spec.model)
        return hub_models.described(self.spec) if is_on_hub else Path(embedded.resolve(self.spec, self.cache))

    @cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer."""
        from tasks.engines.local import tokenizer_file  # with transformers, of which served models need none

        return tokenizer_file.read(
            self.spec.name, str(self.folder), self._own_code, replaces=self.spec.kind != "vllm"
        )

    @property
    def _own_code(self) -> Mapping[str, Any]:
        return {"trust_remote_code": bool(self.spec.options.get("trust_remote_code"))}

    @cached_property
    def length(self) -> int:
        """The most tokens that the model reads."""
        from transformers import AutoConfig

        own = self.spec.options.get("max_model_len")
        stated = pairs.longest(AutoConfig.from_pretrained(self.folder, **self._own_code), self.tokenizer)
        return min(stated, own) if isinstance(own, int) and own > 0 else stated

    @cached_property
    def served(self) -> _Unsent:
        """The client of a served model, which sends nothing."""
        return _Unsent(self.spec)

    @cached_property
    def _caller(self) -> Caller:
        nobody: Any = None
        return Caller(nobody, "", Secrets(None), 0.0, 0)

    def generation_of(self, line: bytes) -> tuple[Generation, str]:
        """Return the generation in a line of a batch's results, and the model that the server names.

        Raises:
            Refused: it has none, for a reason.
        """
        try:
            answer = checked(BatchLine, self._caller.read_object(line))
            own = answer.response.body if answer.response else None
            named = own.get("model") if isinstance(own, dict) else None
            return read_batch_answer(answer, self._caller, self._read), str(named or "")
        except Failed as failure:
            raise Refused(f"it holds no answer: {self._caller.clean(failure.words)}") from None

    def _read(self, body: Any) -> Generation:
        return self.served.read(body) if self.spec.is_served else read_reply(body, self._caller.secrets)

    def score(
        self, prefixes: Sequence[str], continuations: Sequence[str], progress: Progress | None = None
    ) -> NDArray[np.float32]:
        """Implement ``Scorer.score``."""
        return self._ask(prefixes, prefixes[0], continuations).logprob

    def score_each(
        self,
        prefixes: Sequence[str],
        continuations: Sequence[Sequence[str]],
        progress: Progress | None = None,
    ) -> list[NDArray[np.float32]]:
        """Implement ``Scorer.score_each``."""
        if self.answers is not None:
            return [answer.logprobs.astype(np.float32) for answer in self.answers]
        rests = [self._tokens(*one) for one in zip(prefixes, continuations, strict=True)]
        starts = self._starts(prefixes, [max(map(len, own), default=1) for own in rests])
        raise Asked([{"prefix": s, "continuations": r} for s, r in zip(starts, rests, strict=True)])

    def score_candidates(
        self, cloze: Cloze, candidates: Sequence[str], progress: Progress | None = None
    ) -> CandidateScores:
        """Implement ``CandidateScorer.score_candidates`` as ``packed_trie`` and ``vllm`` do."""
        is_trie = self.spec.kind == "packed_trie"
        wants: Form = {"wants": ["probabilities"]}
        if cloze.is_own and is_trie:
            from tasks.engines.local.own_text import MOST_STEPS

            wants |= {"own_text": MOST_STEPS}
        filled = prompting.fill(cloze, candidates)
        scores = self._ask(cloze.before, cloze.tail, filled, wants)
        if is_trie and (unknown := self.tokenizer.unk_token_id) is not None:
            unspelled = [unknown in ids for ids in self._tokens(cloze.tail, filled)]
            scores.logprob[:, unspelled] = scores.probability[:, unspelled] = np.nan
        return scores

    def score_pairs(self, texts: Sequence[TextPair], progress: Progress | None = None) -> PairScores:
        """Implement ``PairScorer.score_pairs``."""
        length = self.length - (2 if self.spec.kind == "vllm" else 0)
        both = pairs.pair_tokens(self.tokenizer, texts, length, self.spec.chat_template_kwargs)
        if self.answers is None:
            wants = {"wants": ["greedy"]}
            cut = [(pair.tokens[: -pair.n_scored], pair.tokens[-pair.n_scored :]) for pair in both]
            raise Asked([{"prefix": start, "continuations": [rest], **wants} for start, rest in cut])
        return PairScores(
            np.concatenate([answer.logprobs for answer in self.answers]).astype(np.float32),
            np.concatenate([answer.greedy for answer in self.answers]),
            np.array([pair.n_scored for pair in both], dtype=np.int64),
            np.array([pair.n_cut for pair in both], dtype=np.int64),
        )

    def generate(
        self,
        conversations: Conversations,
        samplings: Samplings,
        schemas: Schemas = None,
        alternatives: Alternatives = 0,
        progress: Progress | None = None,
    ) -> list[Generation]:
        """Implement ``Generator.generate``."""
        n = len(conversations)
        per_prompt, forms, numbers = each(samplings, n), each_schema(schemas, n), each_number(alternatives, n)
        if self.answers is not None:
            thinks = self.spec.is_served and self.served.thinking
            return [
                replace(
                    own,
                    seed=sampling.seed,
                    finish_reason="length"
                    if thinks and own.finish_reason == "stop" and answer_tokens(own) > sampling.max_tokens
                    else own.finish_reason,
                )
                for own, sampling in zip(self.answers, per_prompt, strict=True)
            ]
        settings = (conversations, per_prompt, forms, numbers)
        raise Asked(self._served_lines(*settings) if self.spec.is_served else self._local_lines(*settings))

    def _served_lines(
        self,
        conversations: Conversations,
        samplings: Sequence[Sampling],
        schemas: Sequence[Schema],
        alternatives: Sequence[int],
    ) -> list[Form]:
        """Return lines as the model's server would get them."""
        if any(conversation[0]["role"] == RAW for conversation in conversations):
            raise EngineError(f"model {self.spec.name!r} is served as a chat model: it continues no raw text")
        each_one = zip(conversations, samplings, schemas, alternatives, strict=True)
        return [{"url": f"/v1{self.served.path}", "body": self.served.request(*one)} for one in each_one]

    def _local_lines(
        self,
        conversations: Conversations,
        samplings: Sequence[Sampling],
        schemas: Sequence[Schema],
        alternatives: Sequence[int],
    ) -> list[Form]:
        """Return lines for a model with weights, each with its tokens.

        Where a chat server would turn the messages into other tokens, the tokens are sent as a text.
        """
        spec, tokenizer, is_chat = self.spec, self.tokenizer, True
        if any(is_continued(conversation) for conversation in conversations):
            tokens = openings.continued(spec, tokenizer, conversations, samplings, self.length)
            is_chat = False
        else:
            tokens, samplings = openings.opened(
                spec, tokenizer, conversations, samplings, schemas, alternatives
            )
            is_chat = not prompting.is_plain(tokenizer, spec.prompt_style)
        lines = list[Form]()
        for conversation, sampling, schema, top, ids in zip(
            conversations, samplings, schemas, alternatives, tokens, strict=True
        ):
            body: Form = {"model": self._served_as} | _settings(sampling, schema, top)
            if not is_chat or ((schema is not None or top) and not self._is_usual(conversation, ids)):
                body |= {"prompt": ids} | ({"logprobs": top} if top else {})
                lines.append({"url": COMPLETIONS, "body": body})
                continue
            body |= {"messages": [dict(message) for message in conversation]}
            body |= {"logprobs": True, "top_logprobs": top} if top else {}
            if spec.chat_template_kwargs:
                body["chat_template_kwargs"] = dict(spec.chat_template_kwargs)
            lines.append({"url": CHAT, "body": body, "prompt_token_ids": ids})
        return lines

    def _is_usual(self, conversation: Sequence[Mapping[str, str]], ids: list[int]) -> bool:
        """Return whether a chat server begins an answer after the same tokens."""
        if not templates.may_think(self.tokenizer):
            return True
        usual = templates.prompt(self.tokenizer, conversation, self.spec.chat_template_kwargs)
        return prompting.text_tokens(self.tokenizer, [usual])[0] == ids

    def _score(
        self, prefixes: Sequence[str], tail: str, continuations: Sequence[str], progress: Progress | None
    ) -> CandidateScores:
        return self._ask(prefixes, tail, continuations)

    def _ask(
        self, prefixes: Sequence[str], tail: str, continuations: Sequence[str], wants: Form | None = None
    ) -> CandidateScores:
        """Return the scores that came back; raise ``Asked`` if there are none yet."""
        rests = self._tokens(tail, continuations)
        n_tokens = np.array([len(ids) for ids in rests], dtype=np.int64)
        if self.answers is None:
            starts = self._starts(prefixes, [int(n_tokens.max())] * len(prefixes))
            raise Asked([{"prefix": start, "continuations": rests, **(wants or {})} for start in starts])
        logprobs = np.stack([answer.logprobs for answer in self.answers]).astype(np.float32)
        means = np.full_like(logprobs, np.nan)
        if wants:
            means = np.stack([answer.probabilities for answer in self.answers]).astype(np.float32)
        return CandidateScores(logprobs, means, n_tokens)

    def _starts(self, prefixes: Sequence[str], n_last: Sequence[int]) -> list[list[int]]:
        """Return the tokens of prefixes. n_last: tokens of the longest continuation of each.

        Raises:
            EngineError: one is longer than the model reads.
        """
        starts = prompting.text_tokens(self.tokenizer, prefixes)
        for prefix, start, n in zip(prefixes, starts, n_last, strict=True):
            if len(start) + n - 1 > self.length:
                raise EngineError(
                    f"the prompt {prefix[:60]!r} … has {len(start) + n - 1} tokens with its longest "
                    f"continuation, more than {self.length}: shorten it"
                )
        return starts

    def count_tokens(self, prefix: str, continuations: Sequence[str]) -> NDArray[np.int64]:
        """Implement ``Scorer.count_tokens``."""
        return np.array([len(ids) for ids in self._tokens(prefix, continuations)], dtype=np.int64)

    def _tokens(self, prefix: str, continuations: Sequence[str]) -> list[list[int]]:
        """Return the tokens of continuations; the last list is kept, because its prefixes come one by one."""
        key = hash((prefix[-32:], tuple(continuations)))
        if key not in self._lists:
            self._lists = {key: prompting.continuation_tokens(self.tokenizer, prefix, continuations)}
        return self._lists[key]


def _settings(sampling: Sampling, schema: Schema, top: int) -> Form:
    """Return the fields of a request for one completion, beside its prompt."""
    body: Form = {
        "max_tokens": sampling.max_tokens, "temperature": sampling.temperature, "top_p": sampling.top_p,
        "seed": sampling.seed,
    }  # fmt: skip
    if sampling.stop:
        body["stop"] = list(sampling.stop)
    if schema is not None:
        body["response_format"] = response_format(schema)
    return body
