"""BLEnD: everyday life in 16 places, in 13 languages, by short answers (Myung et al. 2024).

``--data``: a clone of nlee0212/BLEnD, or some of its files: ``<Place>_data.json`` with the annotators'
answers and their counts, and, if they are there, ``<Place>_questions.csv`` for topics and
``<Place>_prompts.csv`` for its own prompts. A question is asked in the local language and in English.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from tasks.evaluations.recipe import SHARE, Metric
from tasks.evaluations.recipe.benchmark import UNKNOWN, ReadItem, benchmark
from tasks.evaluations.recipe.definition import SHORT
from tasks.evaluations.recipe.files import Files, Record, records, spelt, whole
from tasks.evaluations.recipe.items import Item, LeftOut
from tasks.published.scores import blend as scoring
from tasks.published.scores import lemmas
from tasks.published.scores.blend import AnswerGroup

ENGLISH, OWN = "en", "own"
LANGUAGES = {
    "algeria": "ar", "assam": "as", "azerbaijan": "az", "china": "zh", "ethiopia": "am", "greece": "el",
    "indonesia": "id", "iran": "fa", "mexico": "es", "north_korea": "ko", "northern_nigeria": "ha",
    "south_korea": "ko", "spain": "es", "uk": ENGLISH, "us": ENGLISH, "west_java": "su",
}  # fmt: skip
"""Maps a place to its language; other places have ``UNKNOWN``."""
NAMES = {
    "ar": "Arabic", "as": "Assamese", "az": "Azerbaijani", "zh": "Chinese", "am": "Amharic", "el": "Greek",
    "id": "Indonesian", "fa": "Persian", "es": "Spanish", "ko": "Korean", "ha": "Hausa", "su": "Sundanese",
    ENGLISH: "English", UNKNOWN: "the language of the question",
}  # fmt: skip
_OURS = "Answer in a few words, in {language}, and write nothing else.\n\nQuestion: {q}\nAnswer:"
LOCAL, IN_ENGLISH = "local", "english"
_IDKS = ("idk", "no-answer", "not-applicable")

ASKED = "questions in a language"
"""Unit of the data: a question is asked in the local language and in English."""

BATCH = 128
"""Prompts completed together; answers are short."""


class BlendQuestion(NamedTuple):
    """One question of a place that has answers."""

    id: str
    text: str
    english: str
    groups: tuple[AnswerGroup, ...]


def read(files: Files, params: Any) -> Iterator[ReadItem]:
    """Yield every question of every place, in both languages and all chosen prompts.

    Raises:
        ValueError: a file is not BLEnD's, or a chosen prompt or lemmatiser is missing.
    """
    for path in files.needed("*_data.json"):
        place = _place(path)
        local = LANGUAGES.get(place, UNKNOWN)
        topics, prompts = _topics(files, place), _prompts(files, place, params.prompts)
        for record in records(path):
            question = _question(record)
            if isinstance(question, LeftOut):
                yield question
                continue
            for language in dict.fromkeys((local, ENGLISH)):
                for prompt in params.prompts:
                    wording = prompts[prompt][language == ENGLISH]
                    yield _item(place, language, local, prompt, wording, topics, question, params)


def _item(
    place: str, language: str, local: str, prompt: str, wording: str, topics: Mapping[str, str],
    question: BlendQuestion, params: Any,
) -> ReadItem:  # fmt: skip
    is_translated = language == ENGLISH != local
    text = question.english if is_translated else question.text
    if not text:
        return LeftOut("without its text in the language", ASKED)
    named = [answer for g in question.groups for answer in (g.english if is_translated else g.local)]
    shown = wording.replace("{language}", NAMES[language]).replace("{q}", text)
    return {
        "item": "/".join([place, question.id, language, *([] if prompt == OWN else [prompt])]),
        "question_id": question.id,
        "place": place,
        "language": language,
        "asked_in": LOCAL if language == local else IN_ENGLISH,
        "topic": topics.get(question.id, UNKNOWN),
        "prompt_id": prompt,
        "like": f"{place}/{language}/{prompt}",
        "question": text,
        "english_question": question.english,
        "asked": shown,
        "accepted": " | ".join(answer.replace("|", "/") for answer in named if answer.strip()) or "-",
        "groups": json.dumps(question.groups, ensure_ascii=False),
        "lemmas": _lemmas(language) if params.lemmas == "published" else "",
    }


def _question(record: Record) -> BlendQuestion | LeftOut:
    """Return the question, or why it is left out. Raises ValueError if the entry is not BLEnD's."""
    entries, idks = record.get("annotations"), record.get("idks")
    if not isinstance(idks, Mapping) or not isinstance(entries, list):
        raise ValueError(f"{record.place}: it has no annotations and idks: is it in data/annotations?")
    counts = {spelt(str(name)): count for name, count in idks.items()}
    unknowing, *without = (_count(record, counts.get(spelt(name)), name) for name in _IDKS)
    if sum(without) >= scoring.MOST_WITHOUT or unknowing >= scoring.MOST_UNKNOWING or not entries:
        return LeftOut(
            "without enough annotators who answered, as in the published evaluation", is_fault=False
        )
    groups = tuple(sorted((_group(record, entry) for entry in entries), key=lambda group: -group.votes))
    return BlendQuestion(
        record.text("key", "id"), record.text("question"), record.text("en_question"), groups
    )


def _group(record: Record, entry: Any) -> AnswerGroup:
    of = [entry.get(name) if isinstance(entry, Mapping) else None for name in ("answers", "en_answers")]
    if not all(isinstance(each, list) and all(isinstance(a, str | int | float) for a in each) for each in of):
        raise ValueError(f"{record.place}: an annotation has no lists answers and en_answers")
    local, english = (tuple(map(str, each or ())) for each in of)
    if (count := _count(record, entry.get("count"), "count")) < 1:
        raise ValueError(f"{record.place}: an annotation has the count {count}")
    return AnswerGroup(local, english, count)


def _count(record: Record, value: Any, name: str) -> int:
    if (count := whole(value)) is None or count < 0:
        raise ValueError(f"{record.place}: {name} {str(value)[:40]!r} is not a count of annotators")
    return count


def _place(path: Path) -> str:
    """Return the place of a file: northern_nigeria of Northern_Nigeria_data.json."""
    return path.stem.rpartition("_")[0].lower().replace(" ", "_").replace("-", "_")


def _topics(files: Files, place: str) -> dict[str, str]:
    """Return topics by question."""
    paths = [path for path in files.named("*_questions.csv") if _place(path) == place]
    every = [record for path in paths for record in records(path)]
    if every and "id" not in every[0].cells:
        raise ValueError(f"{every[0].place}: there is no column ID: is it a file of data/questions?")
    return {record.text("ID"): record.text("Topic").lower() or UNKNOWN for record in every}


def _prompts(files: Files, place: str, wanted: list[str]) -> dict[str, tuple[str, str]]:
    """Return prompts by name, in the local language and in English. Raises ValueError if one is missing."""
    wordings = {OWN: (_OURS, _OURS)}
    for path in files.named("*_prompts.csv"):
        if _place(path) == place:
            for record in records(path):
                wordings[record.text("id")] = record.text("Translation"), record.text("English")
    for name in wanted:
        if not all("{q}" in words for words in wordings.get(name, ("", ""))):
            there = ", ".join(sorted(wordings))
            raise ValueError(
                f"--prompts {name}: {place} has no such prompt with {{q}} in both languages; known: "
                f"{there}. BLEnD's own are in data/prompts/ of its clone"
            )
    return wordings


def _lemmas(language: str) -> str:
    """Return the lemmatisers that score a language, with their versions.

    Raises:
        ValueError: one is missing.
    """
    for each in dict.fromkeys((language, ENGLISH)):
        if lack := lemmas.missing(each):
            what = "has no lemmatiser that is a package" if lack == "-" else f"needs {lack}: install it"
            raise ValueError(
                f"--lemmas published: {NAMES[each]} {what}; or leave the place out (--data FILE), or take "
                "--lemmas words"
            )
    return "; ".join(lemmas.described(each) for each in dict.fromkeys((language, ENGLISH)))


def score(params: Any, item: Item, text: str) -> tuple[float, float]:
    """Return SEM-B and SEM-W of a text, in [0, 1]."""
    language, fields = item.fields["language"], item.fields
    lemmatise = lemmas.lemmas_of if params.lemmas == "published" else lambda language: scoring.words
    own = None if language == ENGLISH else lemmatise(language)
    answer = scoring.answer_of(text, fields["asked"])
    return scoring.scores(answer, _groups(fields["groups"]), own, lemmatise(ENGLISH))


@lru_cache(maxsize=1 << 14)
def _groups(cell: str) -> tuple[AnswerGroup, ...]:
    return tuple(
        AnswerGroup(tuple(local), tuple(english), count) for local, english, count in json.loads(cell)
    )


_KNOBS = {
    "prompts": (
        list[str],
        Field(
            [OWN],
            min_length=1,
            description="own: this project's prompt; inst-4, pers-3 and so on: BLEnD's prompts of that "
            "name in data/prompts",
        ),
    ),
    "lemmas": (
        Literal["words", "published"],
        Field(
            "words",
            description="forms that are compared besides the spelling: words, or published (BLEnD's "
            "lemmatisers)",
        ),
    ),
}

EVALUATION = benchmark(
    "blend",
    SHORT,
    read,
    score=score,
    units={"questions": ("place", "question_id"), ASKED: ("item",)},
    knobs=_KNOBS,
    hashed=("lemmas",),
    title="What is usual in everyday life in 16 places? (BLEnD)",
    prompt="{{ asked }}",
    accepted="accepted",
    language="language",
    within="like",
    cut_off="scored",
    metric=Metric(
        "sem_b",
        label="SEM-B",
        bounds=SHARE,
        null="best",
        description="Share of questions whose answer contains one of the annotators' answers: literally, "
        "or by its words or lemmas.",
        source="Myung et al. 2024",
    ),
    also=(
        Metric(
            "sem_w",
            label="SEM-W",
            bounds=SHARE,
            null="best",
            description="SEM-B in which an answer is weighted by the number of annotators who gave it, "
            "divided by the number who gave the most frequent one.",
            source="Myung et al. 2024",
        ),
    ),
    cluster="question_id",
    slices=("place", "asked_in", "language", "topic", "prompt_id"),
    profiles={
        "smoke": {"limit": 20, "asked_in": [LOCAL], "max_tokens": 32},
        "demo": {"asked_in": [LOCAL], "max_tokens": 32, "batch": BATCH},
        "full": {"max_tokens": 256, "batch": BATCH},
        "paper": {"prompts": ["inst-4", "pers-3"], "max_tokens": 512, "batch": BATCH},
    },
    licence="CC BY-SA 4.0, by the card of huggingface.co/datasets/nayeon212/BLEnD",
    source="github.com/nlee0212/BLEnD",
    citation="Myung et al. 2024, BLEnD: A Benchmark for LLMs on Everyday Knowledge in Diverse Cultures and "
    "Languages",
)
