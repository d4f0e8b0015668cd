"""Checks of items: every fault and doubt has a name. Pure: call them on any ``CulturallItem``, also in a
notebook.

A fault excludes an item. A doubt comes from an imperfect rule or a model's opinion, and people decide on it.
People also judge whether the answer is true and the scene natural.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple, get_args
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from tasks.builders.culturall.language import wrong_language, wrong_script
from tasks.evaluations.culturall.items import TOPICS, CulturallItem, ItemTexts
from tasks.evaluations.culturall.matching import is_match, plain
from tasks.evaluations.culturall.matching.choices import LETTERS, options
from tasks.evaluations.culturall.matching.quantities import numbers

Doubt = Literal[
    "answer_named", "personal_data", "region_differs", "region_language", "sensitive", "topic_differs",
    "translation_differs",
]  # fmt: skip
DOUBTS: frozenset[str] = frozenset(get_args(Doubt))
Reason = Doubt | Literal[
    "unreadable", "cut_off", "refused", "incomplete", "too_long", "broken_choice", "choice_changed",
    "answer_changed", "answer_leaked", "wrong_language", "unknown_region", "unknown_topic", "not_translated",
    "near_duplicate", "too_easy",
]  # fmt: skip
"""Names of faults and doubts; the first three faults are of completions that are not a draft (``drafts``)."""

MAX_SCENARIO_CHARS = 2000
"""Maximum characters of a scenario; the other texts are shorter."""
MAX_ANSWER_WORDS = 12
"""Maximum words of a free answer; a longer one is not short and objective."""

MIN_BACK_SIMILARITY = 45.0
"""Minimum similarity (``fuzz.ratio`` of plain texts, 0 to 100) of a text and its translation to English and
back.

A synonym lowers the similarity as much as a lost clause does, so less than this is only a doubt.
"""

_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.\w+")
_PHONE = re.compile(r"(?<![\d.,])\+?\d(?:[ ().-]?\d){8,14}(?![\d.,]*\d)")
_LARGEST_WORD_NUMBER = 31


class ItemFault(NamedTuple):
    """An objection to an item."""

    reason: Reason
    detail: str

    @property
    def is_doubt(self) -> bool:
        """Whether people decide on it."""
        return self.reason in DOUBTS


@dataclass(frozen=True)
class Labels:
    """A model's labels and translations of an item; None if they could not be read.

    Attributes:
        back: scenario, question and answer translated to English and back.
    """

    region: str | None = None
    topic: str | None = None
    content: str | None = None
    back: tuple[str, str, str] | None = None


def draft_faults(item: CulturallItem) -> list[ItemFault]:
    """Return the faults in an item's own texts: parts, options, leak, language, personal data."""
    incomplete = _parts(item)
    return incomplete or [*_choice(item), *_leak(item), *_language(item), *_personal(item)]


def release_faults(
    item: CulturallItem, labels: Labels, regions: Collection[str], spoken: Mapping[str, Collection[str]]
) -> list[ItemFault]:
    """Return the faults and doubts of an item before publication, except near-duplicates.

    Args:
        regions: ISO 3166-1 alpha-2 codes.
        spoken: languages of each region; the language is not checked in a region without any.
    """
    label_faults = [
        *_region(item, labels, regions, spoken),
        *_topic(item, labels),
        *_translation(item, labels),
    ]
    return [*draft_faults(item), *label_faults, *_content(labels)]


def unchanged(item: CulturallItem, choices: Sequence[str], answer: str) -> list[ItemFault]:
    """Return a fault if a rewritten item changed the options or the answer of its source.

    Args:
        choices: the source's options in order; empty for a free answer.
        answer: the source's answer: a letter with options, else a text.
    """
    option_texts = (
        [plain(text) for text in options(item.native.question).values()] if item.form == "choice" else []
    )
    if option_texts != [plain(text) for text in choices]:
        return [ItemFault("choice_changed", f"options were {list(choices)}")]
    is_same = (
        item.native.answer == answer
        if choices
        else is_match(item.native.answer, [answer], item.language, item.native.question)
    )
    return [] if is_same else [ItemFault("answer_changed", f"the answer was {answer!r}")]


def _parts(item: CulturallItem) -> list[ItemFault]:
    missing = [name for name in ItemTexts._fields[:3] if not getattr(item.native, name).strip()]
    if missing:
        return [ItemFault("incomplete", f"no {', '.join(missing)}")]
    if len(item.native.scenario) > MAX_SCENARIO_CHARS:
        return [ItemFault("too_long", f"the scenario has {len(item.native.scenario)} characters")]
    if item.form == "free" and len(item.native.answer.split()) > MAX_ANSWER_WORDS:
        return [ItemFault("too_long", f"the answer has {len(item.native.answer.split())} words")]
    return []


def _choice(item: CulturallItem) -> list[ItemFault]:
    if item.form != "choice":
        return []
    texts = options(item.native.question)
    if not texts:
        return [ItemFault("broken_choice", "the question does not have the four options A to D")]
    if item.native.answer not in LETTERS:
        return [ItemFault("broken_choice", f"the answer {item.native.answer!r} is not a letter")]
    plains = [plain(text) for text in texts.values()]
    if not all(plains) or len(set(plains)) < len(plains):
        return [ItemFault("broken_choice", "an option is empty, or two are equal")]
    return []


def _leak(item: CulturallItem) -> list[ItemFault]:
    """Return a fault if the scenario contains the gold answer.

    It is only a doubt if the question contains it, since a question may offer alternatives, and for a
    variant, which may be a part of the answer.
    """
    scenario, question = plain(item.native.scenario), plain(item.native.question)
    if item.form == "choice":
        texts = options(item.native.question)
        gold = plain(texts.get(item.native.answer, ""))
        wrong_options = [plain(text) for letter, text in texts.items() if letter != item.native.answer]
        if (
            len(gold) > 3
            and _contains(scenario, gold)
            and not any(_contains(scenario, option) for option in wrong_options)
        ):
            return [ItemFault("answer_leaked", f"the scenario has the right option alone: {gold!r}")]
        return []
    answers = [answer for answer in map(plain, item.accepted) if not _is_number(answer)]
    if answers and answers[0] == plain(item.native.answer) and _contains(scenario, answers[0]):
        return [ItemFault("answer_leaked", f"the scenario says {answers[0]!r}")]
    answer_text = next((answer for answer in answers if _contains(f"{scenario} {question}", answer)), None)
    return [ItemFault("answer_named", f"scenario or question says {answer_text!r}")] if answer_text else []


def _contains(text: str, words: str) -> bool:
    """Return whether the text contains the words: as whole words, or anywhere in scripts without spaces."""
    if not words:
        return False
    if any(
        "\u0e00" <= c <= "\u0eff" or "\u1780" <= c <= "\u17ff" or "\u3040" <= c <= "\u9fff" for c in words
    ):
        return len(words) > 1 and words in text.replace(" ", "")
    return f" {words} " in f" {text} "


def _is_number(text: str) -> bool:
    """Return whether an answer is only a number, which the scenario may contain for another reason."""
    return bool(re.fullmatch(r"(minus)?[\d ]+", text))


def _language(item: CulturallItem) -> list[ItemFault]:
    scenario, question = item.native[:2]
    evidence = wrong_script(scenario, item.language) or wrong_language(
        f"{scenario} {question}", item.language
    )
    return [ItemFault("wrong_language", f"declared {item.language}: {evidence}")] if evidence else []


def _personal(item: CulturallItem) -> list[ItemFault]:
    text = " ".join(item.native)
    match = _EMAIL.search(text) or _PHONE.search(text)
    return [ItemFault("personal_data", f"an address or number of a person: {match[0]!r}")] if match else []


def _region(
    item: CulturallItem, labels: Labels, regions: Collection[str], spoken: Mapping[str, Collection[str]]
) -> Iterable[ItemFault]:
    if item.region not in regions:
        yield ItemFault("unknown_region", f"{item.region or 'none'!r} is not an ISO 3166-1 alpha-2 code")
        return
    if labels.region and labels.region != item.region:
        yield ItemFault("region_differs", f"declared {item.region}, read as {labels.region}")
    if item.language not in spoken.get(item.region, {item.language}):
        yield ItemFault("region_language", f"{item.language} is not a language of {item.region}")


def _topic(item: CulturallItem, labels: Labels) -> Iterable[ItemFault]:
    if item.topic not in TOPICS:
        yield ItemFault("unknown_topic", f"{item.topic or 'none'!r} is not one of the {len(TOPICS)} topics")
    elif labels.topic and labels.topic != item.topic:
        yield ItemFault("topic_differs", f"declared {item.topic}, read as {labels.topic}")


def _translation(item: CulturallItem, labels: Labels) -> Iterable[ItemFault]:
    """Yield faults of the translation: missing, not English, other letters, lost numbers, or different after
    translation back."""
    if item.language == "en":
        return
    if item.english is None or not all(item.english[:3]):
        yield ItemFault("not_translated", "there is no English translation")
        return
    evidence = wrong_language(f"{item.english.scenario} {item.english.question}", "en")
    if evidence:
        yield ItemFault("not_translated", f"the translation is not English: {evidence}")
    if item.form == "choice" and (
        item.english.answer != item.native.answer or not options(item.english.question)
    ):
        yield ItemFault("broken_choice", "the translation has other letters")
    lost_number = _lost_numbers(" ".join(item.native[:2]), " ".join(item.english[:2]))
    if lost_number:
        yield ItemFault("translation_differs", f"the translation lacks the number {lost_number}")
    if labels.back is None:
        return
    native = plain(" ".join(item.native[:2]))
    similarity = fuzz.ratio(native, plain(" ".join(labels.back[:2])))
    if similarity < MIN_BACK_SIMILARITY:
        yield ItemFault("translation_differs", f"translated back, the text is {similarity:.0f} % the same")
    if item.form == "free" and not is_match(
        labels.back[2], item.accepted, item.language, item.native.question
    ):
        yield ItemFault("translation_differs", f"translated back, the answer is {labels.back[2]!r}")


def _lost_numbers(native: str, english: str) -> str:
    """Return the first number none of whose possible values is in the English text; "" if there is none.

    Small numbers are ignored, because English may write them as words or a month's name; so are dates such
    as 1.3.2024.
    """
    english_values = frozenset[float]().union(*numbers(english))
    large = (values for values in numbers(native) if min(values, default=0) > _LARGEST_WORD_NUMBER)
    missing = next((values for values in large if values.isdisjoint(english_values)), None)
    return f"{min(missing):g}" if missing else ""


def _content(labels: Labels) -> list[ItemFault]:
    if labels.content in (None, "none"):
        return []
    return [ItemFault("sensitive", f"read as {labels.content}")]


SAME_WORDING, SAME_MEANING = 85.0, 0.88
"""Default limits of ``near_duplicates``. Among 334 items that test different knowledge, the most similar pair
reaches 65 in wording and 0.76 in meaning (with all-MiniLM-L6-v2)."""

SHARED_WORDS = 0.5
"""Minimum share of the shorter text's words that two texts have in common; others are not compared letter by
letter."""

_BUCKETS = 1024
_CHUNK = 512
_LONG_WORD = 16
"""Characters from which a word counts as text of a script without spaces; its character pairs are its
words."""


def near_duplicates(
    items: Sequence[CulturallItem],
    vectors: NDArray[np.float32] | None = None,
    same_wording: float = SAME_WORDING,
    same_meaning: float = SAME_MEANING,
) -> list[ItemFault | None]:
    """Return a fault for every item that nearly repeats an earlier one without such a fault, else None.

    Originals of one language and all English texts are compared by wording (``fuzz.ratio`` of plain scenario,
    question and answer, 0 to 100), and with vectors the English texts also by meaning.

    Args:
        vectors: [items, d] embeddings of the English texts; a row of zeros has no duplicate.
        same_wording: minimum similarity of wording.
        same_meaning: minimum cosine, above 0.
    """
    wordings = [
        _Wording([_compared(item.native) for item in items], [item.language for item in items], same_wording),
        _Wording([_compared(item.english) for item in items], ["en"] * len(items), same_wording),
    ]
    units = None if vectors is None else _units(vectors)
    is_unique = np.zeros(len(items), dtype=bool)
    twins: list[ItemFault | None] = []
    for start in range(0, len(items), _CHUNK):
        stop = min(start + _CHUNK, len(items))
        candidates = [wording.candidates(start, stop) for wording in wordings]
        meaning = np.full((stop - start, stop), -1.0) if units is None else units[start:stop] @ units[:stop].T
        for row in range(start, stop):
            same_words = [pairs[row - start, :row] for pairs in candidates]
            cosines = meaning[row - start, :row]
            fault = None
            is_close = is_unique[:row] & (same_words[0] | same_words[1] | (cosines >= same_meaning))
            for other in map(int, np.flatnonzero(is_close)):
                detail = next(filter(None, (wording.similarity(row, other) for wording in wordings)), "")
                if not detail and cosines[other] >= same_meaning:
                    detail = f"cosine {cosines[other]:.2f} in English"
                if detail:
                    fault = ItemFault("near_duplicate", f"{detail} as {items[other].item}")
                    break
            is_unique[row] = fault is None
            twins.append(fault)
    return twins


class _Wording:
    """Texts in groups: only texts of the same group are compared, and no empty ones."""

    def __init__(self, texts: Sequence[str], groups: Sequence[str], limit: float) -> None:
        self.texts, self.groups, self.limit = texts, np.array(groups), limit
        self.words = np.zeros((len(texts), _BUCKETS), dtype=np.float32)
        for row, text in enumerate(texts):
            self.words[row, [crc32(word.encode()) % _BUCKETS for word in _words(text)]] = 1
        self.sizes = self.words.sum(axis=1)

    def candidates(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return [stop - start, stop] booleans: two texts of a group share enough words to be compared."""
        shared = self.words[start:stop] @ self.words[:stop].T
        needed = np.maximum(1, SHARED_WORDS * np.minimum(self.sizes[start:stop, None], self.sizes[:stop]))
        return np.asarray((shared >= needed) & (self.groups[start:stop, None] == self.groups[:stop]))

    def similarity(self, row: int, other: int) -> str:
        """Return the similarity of two texts as a message; "" below the limit."""
        if self.groups[row] != self.groups[other] or not (self.texts[row] and self.texts[other]):
            return ""
        score = fuzz.ratio(self.texts[row], self.texts[other], score_cutoff=self.limit)
        return f"{score:.0f} % the same" if score else ""


def _compared(texts: ItemTexts | None) -> str:
    return plain(" ".join(texts[:3])) if texts else ""


def _words(text: str) -> Iterator[str]:
    for word in text.split():
        yield from map("".join, pairwise(word)) if len(word) >= _LONG_WORD else [word]


def _units(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the vectors scaled to length 1; vectors of zeros stay zeros."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1), dtype=np.float32)
