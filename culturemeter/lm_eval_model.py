"""Offers our engines as a model of lm-evaluation-harness, in the command ``culturemeter-lm-eval``.

    culturemeter-lm-eval --model culturemeter --model_args pretrained=smollm2-135m --tasks ./mine.yaml

Version 0.4.13 keeps a registry of models and does not search other packages, so the model must be registered
before the command runs. In Python, importing this module registers it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import lm_eval.models  # noqa: F401 - the registry finds the harness's own models only while it is empty
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from tasks.engines import load
from tasks.engines.pairs import rendered_context
from tasks.engines.protocols import RAW, EngineError, Sampling, TextPair
from tasks.engines.specs import load_spec
from warehouse.storage import usual_home

PAIRS = 4096
"""Number of pairs scored at once; their common prefix is computed once."""
TOKENS = 256
"""Most tokens generated if a task sets no limit."""


@register_model("culturemeter")
class CulturemeterModel(LM):  # type: ignore[misc]
    """A model (catalogue name, folder or Hugging Face id) that answers the harness's kinds of requests."""

    def __init__(self, pretrained: str, dtype: Any = None, **arguments: Any) -> None:
        """Load the engine.

        Args:
            arguments: the harness's own batch_size, max_batch_size and device, which engines choose
                themselves. Raises ValueError for others.
        """
        super().__init__()
        if unknown := arguments.keys() - {"batch_size", "max_batch_size", "device"}:
            raise ValueError(f"model_args: unknown argument {sorted(unknown)[0]!r}; known: pretrained, dtype")
        home = usual_home()
        self.spec = load_spec(pretrained, home / "engines", dtype)
        self.engine = load.load(self.spec, home / "models")
        self.tokenizer = getattr(self.engine, "tokenizer", None)

    @property
    def tokenizer_name(self) -> str:
        """Return the tokenizer's name for the harness's caches."""
        return str(getattr(self.tokenizer, "name_or_path", self.spec.name)).replace("/", "__")

    def chat_template(self, chat_template: bool | str = False) -> str | None:
        """Return the chat template for the harness's records; raises EngineError if the engine has none."""
        if self.tokenizer is None:
            raise EngineError(
                f'model {self.spec.name!r} (kind "{self.spec.kind}") has no chat template: leave '
                "--apply_chat_template out"
            )
        return str(self.tokenizer.chat_template) if chat_template else None

    def apply_chat_template(
        self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True
    ) -> str:
        """Render a conversation as a prompt; an assistant's last message is left open."""
        return rendered_context(self.tokenizer, chat_history)

    def loglikelihood(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """Return (log-probability, whether it is greedy) of each (context, continuation) pair.

        Raises:
            EngineError: the engine gives no log-probabilities.
        """
        load.check_ability(self.spec, "score")
        if not hasattr(self.engine, "score_pairs"):
            raise EngineError(f'model {self.spec.name!r} (kind "{self.spec.kind}") scores no continuations')
        pairs = [TextPair(*request.args) for request in requests]
        scored: list[tuple[float, bool]] = []
        for start in range(0, len(pairs), PAIRS):
            scores = self.engine.score_pairs(pairs[start : start + PAIRS])
            scored += zip(map(float, scores.logprob), map(bool, scores.is_greedy), strict=True)
        return scored

    def loglikelihood_rolling(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[float]:
        """Raise: no engine here scores whole texts in windows."""
        raise EngineError(
            "loglikelihood_rolling is not available here: use the harness's own models (--model hf)"
        )

    def generate_until(self, requests: Sequence[Any], disable_tqdm: bool = False) -> list[str]:
        """Return a text for each (context, settings).

        Raises:
            EngineError: the engine only scores, or a setting is unknown.
        """
        load.check_ability(self.spec, "generate")
        conversations = [[{"role": RAW, "content": request.args[0]}] for request in requests]
        generations = self.engine.generate(
            conversations, [_sampling(request.args[1]) for request in requests]
        )
        return [generation.text for generation in generations]


def _sampling(settings: dict[str, Any]) -> Sampling:
    """Return the sampling of the harness's generation_kwargs; raises EngineError if one is unknown."""
    rest = dict(settings)
    until, n = rest.pop("until", None) or [], rest.pop("max_gen_toks", TOKENS)
    do_sample = rest.pop("do_sample", None)
    temperature, top_p = rest.pop("temperature", None), rest.pop("top_p", 1.0)
    if rest:
        known = "do_sample, max_gen_toks, temperature, top_p, until"
        raise EngineError(f"unknown generation_kwargs {sorted(rest)[0]!r}; known: {known}")
    is_sampled = bool(do_sample) or (do_sample is None and bool(temperature))
    return Sampling(
        temperature=float(temperature or 1.0) if is_sampled else 0.0,
        top_p=float(top_p) if is_sampled else 1.0,
        max_tokens=int(n),
        stop=tuple([until] if isinstance(until, str) else until),
    )


def main() -> None:
    """Run the harness's command."""
    from lm_eval.__main__ import cli_evaluate

    cli_evaluate()


if __name__ == "__main__":
    main()
