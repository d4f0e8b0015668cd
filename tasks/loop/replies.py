"""Checks whether a completion has a text, and reads the named fields in it. Pure.

Every text of a model that is parsed is read here: answers, drafts, labels and verdicts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from tasks.loop.objects import FoundObject, Pairs, begun, members, objects, plain_value
from tasks.loop.prompts import Completion
from tasks.loop.written import field_values, without_reasoning
from tasks.parsing import parse_json

NO_ANSWER = "not asked or not answered"
REFUSED, EMPTY, CUT_OFF = "refused", "empty answer", "cut off at max_tokens"
UNPARSABLE = "unparsable answer"

_LEAD = r"^[\s*_#>•\-\d.)]{0,12}"
"""Marks of Markdown, numbers and bullets before the name of a field."""

_NUMBER = re.compile(
    r"(?:(?:score|rating|grade|output|result)\s*[:=]?\s*)?([+-]?\d{1,6}(?:[.,]\d{1,6})?)"
    r"(?:\s*(?:/|out of|von|of)\s*(\d{1,6}(?:[.,]\d{1,6})?))?(?:\s*points?)?"
)
_NOTE = re.compile(r"\s*[(\[（【][^()\[\]（）【】]{0,300}[)\]）】]\s*[.!。]?$")
_NO_BRACES = re.compile(r"\s*[\"'][\w \-]{1,40}[\"']\s*:")
_ROW = re.compile(r"^\s*\|(.+)\|\s*$", re.M)
_OUTER = " \t\r\n\"'`*_~.,;:!?。，；：！？“”‘’„«»「」『』＂＇\u200b\ufeff<>|$\\"
_CLAUSE = re.compile(r"\s*(?:(?:[.,](?!\d)|[;:!\n—–。，；：！])|\s-\s|\bbecause\b|\bsince\b)")


def is_lost(reason: str | None) -> bool:
    """Return whether an answer is lost: the model had the prompt but refused, or its text is empty, cut off
    or unreadable.

    reason: why the answer is missing; "" or None if it exists.
    """
    return bool(reason) and reason != NO_ANSWER


def no_text(completion: Completion | None) -> str | None:
    """Return why a completion has no text; None if it has one, or probabilities of the options."""
    if completion is None:
        return NO_ANSWER
    if completion.finish_reason in ("refusal", "content_filter"):
        return REFUSED
    if completion.text.strip() or completion.option_logprobs:
        return None
    return CUT_OFF if completion.finish_reason == "length" else EMPTY


def whole_text(completion: Completion | None) -> tuple[str | None, str]:
    """Return (the text on one line, ""), or (None, why there is none); a text that was cut off is none."""
    reason = no_text(completion)
    if completion is None or reason:
        return None, reason or ""
    if completion.finish_reason == "length":
        return None, CUT_OFF
    return " ".join(completion.text.split()), ""


def unreadable(completion: Completion) -> str:
    """Return the reason why a text could not be parsed."""
    return CUT_OFF if completion.finish_reason == "length" else UNPARSABLE


def read_fields(text: str, names: Sequence[str]) -> dict[str, object] | None:
    """Return the fields that a model wrote in any text, by name; None without an object or a field.

    Of several complete JSON objects the last of those with most of the named fields counts, be it within
    another object. Without one, lines count that begin with a field's name (``**Label:** yes``); such a field
    runs to the next one. Nothing is completed: an object that never ends is none.

    Args:
        names: the fields, compared without case, spaces and hyphens. Other fields keep the model's spelling.
    """
    answer = without_reasoning(text)
    wanted = {_field(name): name for name in names}
    best, most = None, 0
    all_found = _found(answer)
    for found in all_found:
        for pairs in members(found.pairs):
            n = len({_field(key) for key, _ in pairs} & wanted.keys())
            if n and n >= most:
                best, most = pairs, n
                break
    if best is not None:
        return {wanted.get(_field(key), key): plain_value(value) for key, value in best}
    if begun(answer):
        return None
    if not all_found and _NO_BRACES.match(answer) and (own := read_fields(f"{{{answer}}}", names)):
        return own
    return _lines(_untabled(answer, wanted), wanted) or (
        {} if any(found.is_exact for found in all_found) else None
    )


def begun_fields(text: str, names: Sequence[str]) -> dict[str, object]:
    """Return the fields that are complete in a JSON object that was cut off, or whose rest cannot be read; {}
    without one. In the second, a field counts if it is written once, or always with the same value.
    """
    wanted = {_field(name): name for name in names}
    answer = without_reasoning(text)
    pairs: Pairs = begun(answer)
    if not pairs and "}" in answer and not objects(answer):
        written = {name: set(field_values(answer, name)) for name in names}
        pairs = tuple((name, values.pop()) for name, values in written.items() if len(values) == 1)
    return {wanted.get(_field(key), key): plain_value(value) for key, value in pairs}


def on_menu(value: object, menu: Iterable[str]) -> str | None:
    """Return the name of a menu that a model's value stands for; None if it is none, or several.

    A name may have marks around it, a note in brackets after it ("yes (acceptable)"), or a clause without
    another name ("yes, it is polite"). true and false stand for yes and no. Where names are numbers, so does
    "8", 8.0, "Score: 8" and "8/10", if 10 is the highest.
    """
    names = {normal(name): name for name in menu}
    if isinstance(value, bool):
        return names.get("yes" if value else "no") or names.get(str(value).casefold())
    if isinstance(value, int | float):
        value = f"{value:g}"
    if isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return None
    written = normal(value)
    if written in names:
        return names[written]
    written = _without_symbols(normal(unicodedata.normalize("NFKC", value)))
    for text in (written, _NOTE.sub("", written)):
        if (bare := text.strip(_OUTER)) in names:
            return names[bare]
    return _numbered(written.strip(_OUTER), names) or _first_clause(written, names)


def _without_symbols(text: str) -> str:
    """Return the text without emoji and other symbols at its ends, such as "yes ✅"."""
    is_symbol = [unicodedata.category(each) in ("So", "Sk", "Cf") or each == "\ufe0f" for each in text]
    begin, end = 0, len(text)
    while begin < end and (is_symbol[begin] or text[begin].isspace()):
        begin += 1
    while end > begin and (is_symbol[end - 1] or text[end - 1].isspace()):
        end -= 1
    return text[begin:end]


@lru_cache(maxsize=1 << 12)
def normal(text: str) -> str:
    """Return the form for comparing keys, verdicts and reasons: case folded, NFC, no outer space."""
    return unicodedata.normalize("NFC", text.casefold()).strip()


def _numbered(written: str, names: Mapping[str, str]) -> str | None:
    """Return the number on a menu of numbers that is written, also out of the highest of them."""
    match = _NUMBER.fullmatch(written)
    try:
        by_number = {float(name): name for name in names.values()}
    except ValueError:
        return None
    if match is None or (match[2] and float(match[2].replace(",", ".")) != max(by_number)):
        return None
    return by_number.get(float(match[1].replace(",", ".")))


def _first_clause(written: str, names: Mapping[str, str]) -> str | None:
    """Return the name before the first mark of a sentence, if no other name follows."""
    end = _CLAUSE.search(written)
    first = written[: end.start()].strip(_OUTER) if end else ""
    if first not in names or len(written) > 1000:
        return None
    others = "|".join(re.escape(name) for name in names if name != first)
    return (
        None
        if re.search(rf"(?<!\w)(?:{others})(?!\w)", written[end.start() if end else 0 :])
        else names[first]
    )


def _found(text: str) -> tuple[FoundObject, ...]:
    """Return the objects of a text, also of one that is an object written as a JSON string."""
    found = objects(text)
    if found or '\\"' not in text:
        return found
    bare = re.sub(r"^\s*```\w*\s*|\s*```\s*$", "", text).strip()
    if bare.startswith("{"):
        bare = f'"{bare}"'
    try:
        inner = parse_json(bare) if bare.startswith('"') else None
    except ValueError:
        return ()
    return objects(inner) if isinstance(inner, str) else ()


def _lines(text: str, wanted: Mapping[str, str]) -> dict[str, object] | None:
    """Return the fields of lines that begin with a name and a colon; each runs to the next name."""
    names = "|".join(
        re.escape(name).replace("_", r"[\s_-]?") for name in sorted(wanted, key=len, reverse=True)
    )
    marks = r"[*_`]{0,4}"
    head = re.compile(
        rf"{_LEAD}(?:\[(?P<boxed>{names})\][:：]?|(?P<plain>{names}){marks}[^\S\n]{{0,4}}(?:[:：=]{marks}|{marks}$))"
        rf"|<(?P<tag>{names})>",
        re.I | re.M,
    )
    heads = list(head.finditer(text))
    ends = [*(match.start() for match in heads[1:]), len(text)][: len(heads)]
    fields: dict[str, object] = {
        wanted[_field(match["boxed"] or match["plain"] or match["tag"])]: _value(text[match.end() : end])
        for match, end in zip(heads, ends, strict=True)
    }
    return fields or None


def _value(text: str) -> str:
    """Return the text of a field, without a closing tag and marks around it."""
    return re.sub(r"</[\w \-]{1,40}>\s*$", "", text).strip(" \t\r\n*")


def _untabled(text: str, wanted: Mapping[str, str]) -> str:
    """Return a table in Markdown whose first row names the fields as lines "name: value" of its last row."""
    rows = [[cell.strip(" *`") for cell in match[1].split("|")] for match in _ROW.finditer(text)]
    rows = [row for row in rows if any(cell.strip("-: ") for cell in row)]
    is_table = len(rows) > 1 and len(rows[0]) > 1 and all(_field(cell) in wanted for cell in rows[0])
    if not is_table or len(rows[-1]) != len(rows[0]):
        return text
    return "\n".join(f"{name}: {cell}" for name, cell in zip(rows[0], rows[-1], strict=True))


def _field(name: str) -> str:
    """Return a field's name for comparing."""
    return re.sub(r"[\s_-]+", "_", normal(name).strip("*`:"))
