"""A prompt that a model's context does not hold, told from a server's refusal. Pure.

Such a refusal is one prompt's outcome, as an answer that is cut off before its first token is: other prompts
of the run are shorter. Where the prompt fits and only the limit of tokens does not, there is room for some.
"""

from __future__ import annotations

import re

from tasks.engines.protocols import Generation
from tasks.engines.served.transport import Failed

CODES = ("context_length_exceeded", "exceed_context_size_error")
"""OpenAI's and llama.cpp's."""
_TOO_LONG = re.compile(
    r"maximum (context|model) length|exceeds?( the)?( available| model's)? context|context limit"
    r"|context (window|length|size) (of|is exceeded|exceeded)|prompt is too long"
    r"|longer than the (model's context|maximum model) length|input token count .{0,40}exceeds",
    re.IGNORECASE,
)
"""OpenAI, OpenRouter, vLLM, llama.cpp, Anthropic and Google."""
_LIMIT = re.compile(r"max_(completion_|output_|new_)?tokens", re.IGNORECASE)
_PROMPT = r"(?:at least |about )?(?P<prompt>\d+)"
_ROOM = (
    rf"context length is (?P<all>\d+) tokens.*?\({_PROMPT} (?:tokens )?(?:in the messages|of text input)",
    rf"context length is (?P<all>\d+) tokens.*?(?:request has|prompt contains) {_PROMPT} input tokens",
    r"exceed context limit: (?P<prompt>\d+) \+ \d+ > (?P<all>\d+)",
)
"""Where a server says how long the context and the prompt are, in tokens."""


def room(failure: Failed, limit: int) -> int | None:
    """Tokens that the context leaves for an answer, where prompt and answer were refused as too long.

    0 where the prompt alone is longer, or where what is left is no less than the ``limit`` that was refused.
    None where the refusal is about something else, or about the limit in words that do not say how much is
    left: that is the run's to mend.
    """
    error = failure.body.get("error") if isinstance(failure.body, dict) else None
    codes = [error.get("code"), error.get("type")] if isinstance(error, dict) else []
    is_said = any(code in codes for code in CODES) or _TOO_LONG.search(failure.words)
    if failure.status != 400 or not is_said:
        return None
    words = failure.words.replace(",", "")
    found = next(filter(None, (re.search(pattern, words, re.I | re.S) for pattern in _ROOM)), None)
    if found:
        left = int(found["all"]) - int(found["prompt"])
        return left if 0 < left < limit else 0
    return None if _LIMIT.search(words) else 0


def cut_off(prompt_tokens: int = 0, seed: int = 0) -> Generation:
    """The outcome of a prompt that the context does not hold: nothing is written."""
    return Generation("", "length", prompt_tokens, 0, seed)
