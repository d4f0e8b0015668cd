"""Probing templates: a sentence with slots for dish, country and blank, cut where a model needs it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.engines.protocols import Cloze
from tasks.evaluations.fmlama.params import FmlamaParams

DISH, COUNTRY, BLANK = "[X]", "[C]", "[Y]"


@dataclass(frozen=True)
class Template:
    """One wording. ``text`` has [X] and perhaps [C] before [Y]."""

    template: str
    language: str
    variant: int
    mentions_country: bool
    text: str

    @property
    def lead(self) -> str:
        """The space between sentence and blank, where the language writes one."""
        return " " if self.text.split(BLANK)[0].endswith(" ") else ""

    @property
    def after(self) -> str:
        """What follows the blank."""
        return self.text.split(BLANK)[1]

    @property
    def tail(self) -> str:
        """The template's own text between its last slot and the blank."""
        return re.split(r"\[[XC]\]", self._before)[-1]

    def before(self, name: str, country: str) -> str:
        """The sentence up to the blank. Slots are filled at once, so that names may look like slots."""
        values = {DISH: name, COUNTRY: country}
        return re.sub(r"\[[XC]\]", lambda slot: values[slot[0]], self._before)

    def cloze(self, prompts: Sequence[str]) -> Cloze:
        """What an engine is sent: these sentences, up to the blank and after it."""
        return Cloze(tuple(prompts), self.lead, self.after, self.tail)

    @property
    def _before(self) -> str:
        return self.text.split(BLANK)[0].removesuffix(" ")


def choose_templates(params: FmlamaParams, rows: Sequence[Mapping[str, Any]]) -> list[Template]:
    """The templates of the chosen languages and wordings, checked.

    Raises:
        ValueError: a template lacks a slot or has one after the blank, or a language has none.
    """
    fields = Template.__dataclass_fields__
    templates = [Template(**{name: row[name] for name in fields}) for row in rows]
    chosen = [t for t in templates if t.language in params.languages and t.variant in params.variants]
    for template in chosen:
        check_template(template)
    without = sorted(set(params.languages) - {t.language for t in chosen})
    if without:
        known = ", ".join(sorted({t.language for t in templates}))
        raise ValueError(
            f"there is no template in {', '.join(without)}; name wordings 1 to 5 in `variants`, and of the "
            f"languages {known}"
        )
    return sorted(chosen, key=lambda t: (t.language, t.mentions_country, t.variant))


def check_template(template: Template) -> None:
    """Raise ValueError if a template lacks a slot, or has one after the blank."""
    before, *after = template.text.split(BLANK)
    slots = [DISH] + [COUNTRY] * template.mentions_country
    if len(after) != 1 or sorted(re.findall(r"\[[XC]\]", before)) != sorted(slots) or "[" in after[0]:
        raise ValueError(
            f"template {template.template}: {template.text!r} must have {' and '.join(slots)} once each, and "
            f"then {BLANK}"
        )
