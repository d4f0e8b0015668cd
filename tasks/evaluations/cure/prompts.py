"""How an item is asked, and what form the answer has to take. Pure.

Carries what the prompts of Vo and Koyejo (2025, appendix A) carry: a role that knows the country or group,
the persona, the situation, the question and the options; and in thick mode what each benchmark's explanation
has to name.
Nothing but the question is shown: no gold, rule, cue or label. Items stand in a prompt as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tasks.engines.protocols import Message
from tasks.evaluations.cure.benchmarks.common import BenchmarkItem
from tasks.evaluations.cure.materials import LABELS
from tasks.generation.prompts import Prompt

FIELDS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"thin": ("label",), "thick": ("label", "explanation")}
)
"""Mode -> the answer's fields, in order. The label is first in both: thin and thick then differ in what is
asked and not in where the label stands, and an explanation that is cut off does not take the label with it.
The price: an explanation gives reasons for a label that stands already."""

_ROLE = MappingProxyType(
    {
        "normad": "You know the social norms and the etiquette of {country} well, as people there live them.",
        "casa": "You know the norms of {country} well, and what symbols, objects, colours and gestures stand "
        "for there.",
        "culturebank": "You know the customs, values and expectations of this cultural group well: {group}.",
        "specnorm": "You know {country} well, and how the norms of its regions, peoples, faiths and "
        "generations differ.",
    }
)
_ASKED = MappingProxyType(
    {
        "normad": "Is what happens here socially acceptable in {country}?",
        "casa": "Is what the user plans culturally acceptable in {country}?",
    }
)
"""The question of published items that have none."""

_OPTIONS = MappingProxyType(
    {
        "normad": '"yes" (acceptable), "no" (not acceptable) or "neutral" (no norm there speaks for or '
        "against it)",
        "casa": '"yes" (acceptable) or "no" (not acceptable)',
        "culturebank": '"yes" or "no"',
        "specnorm": '"yes" or "no"',
    }
)
_EXPLAIN = MappingProxyType(
    {
        "normad": "Name the norm, value or practice of {country} that applies and say what it asks for here.",
        "casa": "Say what the symbols, objects or gestures in it mean in {country}, which taboos or customs "
        "touch them, and what follows from that for the user.",
        "culturebank": "Say which norm, value or expectation of the group applies, and tie it to this person "
        "and this situation.",
        "specnorm": "Name the norm that holds in this person's own community, not only what is usual in the "
        "country, and say how it applies to the details given.",
    }
)


def prompt(item: BenchmarkItem, mode: str) -> Prompt:
    """What a candidate is sent. In thin mode the labels' probabilities are wanted where the label stands; in
    thick mode text is read."""
    options = LABELS[item.benchmark] if mode == "thin" else ()
    field = "label" if options else ""
    return Prompt(conversation(item, mode), schema(item.benchmark, mode), options, field)


def conversation(item: BenchmarkItem, mode: str) -> list[Message]:
    """The role as system message, then the item, the options and the form of the answer."""
    where = {"country": item.extra.get("country_name", item.group), "group": item.group}
    asks = [f"Answer with {_OPTIONS[item.benchmark]}."]
    form = 'Write one JSON object: "label" (your answer).'
    if mode == "thick":
        asks.append(f"Then explain it in two to four sentences. {_EXPLAIN[item.benchmark].format(**where)}")
        form = 'Write one JSON object: "label" (your answer), then "explanation".'
    parts = [*_shown(item, where), " ".join(asks), form]
    return [
        {"role": "system", "content": _ROLE[item.benchmark].format(**where)},
        {"role": "user", "content": "\n\n".join(parts)},
    ]


def schema(benchmark: str, mode: str) -> dict[str, Any]:
    """JSON schema of an answer, within what strict mode and xgrammar take."""
    fields = {"label": {"type": "string", "enum": list(LABELS[benchmark])}, "explanation": {"type": "string"}}
    return {
        "type": "object",
        "properties": {name: fields[name] for name in FIELDS[mode]},
        "required": list(FIELDS[mode]),
        "additionalProperties": False,
    }


def _shown(item: BenchmarkItem, where: Mapping[str, str]) -> Sequence[str]:
    """Persona, situation and question, each under its name; a published text is the situation."""
    texts = item.extra
    question = texts.get("question") or _ASKED[item.benchmark].format(**where)
    shown = {
        "Person": texts.get("persona"),
        "The user writes" if item.benchmark == "casa" else "Situation": situation(item),
        "Question": question,
    }
    return [f"{name}: {text}" for name, text in shown.items() if text]


def situation(item: BenchmarkItem) -> str:
    """What happens: published stories and queries are the whole question; "" where there is none."""
    return item.extra.get("situation") or ("" if "question" in item.extra else item.question)
