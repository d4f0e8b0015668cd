"""Does a recommendation keep what the person must keep? Decided by its ingredients, or not at all. Pure.

``foods.toml`` says what foods are. The ingredients are those that the recommendation lists; where it lists
none, those that the warehouse knows of a dish of that name. A rule is broken by any ingredient of a class
that it forbids, and kept if most ingredients are known foods and none is forbidden or in doubt; else nothing
is said.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from tasks.evaluations.explication.personas import Persona
from tasks.evaluations.explication.phrases import is_in, plain
from tasks.evaluations.explication.task import Task, sections_of

_FILE: Mapping[str, Any] = tomllib.loads(Path(__file__).with_name("foods.toml").read_text(encoding="utf-8"))
RULES: Mapping[str, list[str]] = _FILE["rules"]
_UNSURE: Mapping[str, list[str]] = _FILE["unsure"]
_WITHOUT = {plain(word).strip(): set(classes) for word, classes in _FILE["without"].items()}

_KIND_OF_RULE = {
    **dict.fromkeys(("vegetarian", "vegan"), "diet"),
    **dict.fromkeys(("halal", "kosher", "jain", "no_beef"), "religion"),
    **dict.fromkeys(("coeliac", "diabetic", "low_salt"), "health"),
}
KNOWN_SHARE = 0.6
"""Part of the ingredients that must be known foods before a rule counts as kept."""

_LONGEST = 4
"""Words of a food's name at most."""
_ABSENT = re.compile(r"(?:no|without|instead of|not|free from|avoid|skip|omit)(?: \w+)?$")
_UNITS = {"minute": 1.0, "min": 1.0, "mins": 1.0, "minutes": 1.0} | dict.fromkeys(
    ("hour", "hours", "hr", "hrs", "h"), 60.0
)
_NUMBERS = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "ten": 10, "twelve": 12, "fifteen": 15, "twenty": 20,
    "thirty": 30, "forty": 40, "sixty": 60, "half an": 0.5,
}  # fmt: skip
_DURATION = re.compile(
    rf"\b(?:(?:(\d+(?:[.,]\d+)?)\s*(?:-|–|to|or)\s*)?(\d+(?:[.,]\d+)?)|({'|'.join(_NUMBERS)}))[\s-]*"
    rf"({'|'.join(sorted(_UNITS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)

Verdicts = dict[str, bool | None]
"""What must be kept -> whether it is; None: cannot be decided."""


@dataclass(frozen=True)
class Dishes:
    """What the warehouse knows of dishes: words of a name -> countries and ingredients."""

    by_name: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> Dishes:
        """Rows with item, aliases, countries, ingredients; names that are plain foods are left out."""
        names: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
        for row in rows:
            known = (tuple(row["countries"] or ()), tuple(row["ingredients"] or ()))
            for name in (row["item"], *(row["aliases"] or ())):
                words = plain(name).strip()
                if len(words) > 3 and _food(words) is None:
                    names.setdefault(words, known)
        return cls(names)

    def find(self, text: str) -> str | None:
        """The longest known name within a text; of equally long ones the first."""
        words, best = plain(text).split(), ""
        for start in range(len(words)):
            for end in range(start + 1, min(start + 7, len(words) + 1)):
                name = " ".join(words[start:end])
                if name in self.by_name and len(name) > len(best):
                    best = name
        return best or None


def classes_of(ingredient: str) -> set[str] | None:
    """The classes of one ingredient; None where it is no known food."""
    words, classes, is_known, place = plain(ingredient).split(), set[str](), False, 0
    while place < len(words):
        for length in range(min(_LONGEST, len(words) - place), 0, -1):
            own = _food(" ".join(words[place : place + length]))
            if own is None:
                continue
            before, after = " ".join(words[max(0, place - 3) : place]), words[place + length :]
            is_known = True
            if not _ABSENT.search(before) and after[:1] != ["free"]:
                classes |= own - _taken_away(before)
            place += length - 1
            break
        place += 1
    return classes if is_known else None


def check(persona: Persona, task: Task, recommendation: str, dishes: Dishes) -> Verdicts:
    """All that the task says must be kept and that the person asks for: kept, violated or undecided."""
    sections = sections_of(task, recommendation)
    listed = sections.get(task.ingredients_section, "" if task.ingredients_section else recommendation)
    ingredients = [part for part in re.split(r"[,;\n•]|\band\b|\bwith\b", listed) if plain(part).strip()]
    if not ingredients and (dish := dishes.find(sections.get(task.title_section, ""))):
        ingredients = list(dishes.by_name[dish][1])
    foods = [classes_of(part) for part in ingredients]
    known = [classes for classes in foods if classes is not None]
    present = set[str]().union(*known)
    is_enough = bool(known) and len(known) >= KNOWN_SHARE * len(foods)
    text, wanted, checks = recommendation, set(task.constraints), persona.checks
    verdicts: Verdicts = {}
    for rule in checks.rules:
        if _KIND_OF_RULE[rule] in wanted:
            verdicts[f"rule:{rule}"] = _keeps(rule, present, is_enough)
    if "allergy" in wanted:
        for allergen in checks.allergens:
            verdicts[f"allergen:{allergen}"] = False if allergen in present else True if is_enough else None
    if "dislike" in wanted and checks.avoids:
        is_there = is_in(checks.avoids, " . ".join(ingredients))
        verdicts["avoids"] = False if is_there else True if is_enough else None
    if "time" in wanted and checks.max_minutes is not None:
        minutes = stated_minutes(text)
        verdicts["time"] = None if minutes is None else minutes <= checks.max_minutes
    if "equipment" in wanted and checks.lacks:
        verdicts["equipment"] = not is_in(checks.lacks, text)
    if "budget" in wanted and persona.constraints.budget == "low":
        verdicts["budget"] = False if "costly" in present else True if is_enough else None
    if "skill" in wanted and persona.constraints.cooking_skills == "novice":
        verdicts["skill"] = not is_in(_FILE["techniques"]["expert"], text)
    return verdicts


def stated_minutes(text: str) -> float | None:
    """All durations of a text together, in minutes, the longer end of ranges; None where none is stated."""
    durations = [
        (float(match[2].replace(",", ".")) if match[2] else _NUMBERS[match[3].lower()])
        * _UNITS[match[4].lower()]
        for match in _DURATION.finditer(text)
    ]
    return sum(durations) if durations else None


def _keeps(rule: str, present: set[str], is_enough: bool) -> bool | None:
    """By the classes of all ingredients. Kosher also keeps meat and milk apart."""
    is_mixed = rule == "kosher" and "milk" in present and not present.isdisjoint(("meat", "beef", "poultry"))
    if is_mixed or not present.isdisjoint(RULES[rule]):
        return False
    in_doubt = not present.isdisjoint(_doubts(_UNSURE.get(rule, ())))
    return True if is_enough and not in_doubt else None


def _taken_away(before: str) -> set[str]:
    """Classes, and doubts about them, that a food does not have after these words."""
    away: set[str] = set()
    for word, classes in _WITHOUT.items():
        if f" {word} " in f" {before} ":
            away |= set(_doubts(RULES["vegetarian"] if "unsure" in classes else classes))
            away |= classes - {"unsure"}
    return away


def _doubts(classes: Iterable[str]) -> Iterable[str]:
    """Marks beside the classes themselves, for rules that depend on what nobody says."""
    return (f"unsure {name}" for name in classes)


@lru_cache(maxsize=1 << 14)
def _food(words: str) -> frozenset[str] | None:
    """Classes and doubts of a phrase that is a food: of the longest of the file's phrases that fit it."""
    for size in range(len(words), 0, -1):
        names = _phrases().get((words[:size], True), ()) if " " not in words[size:] else ()
        if size == len(words):
            names = (*names, *_phrases().get((words, False), ()))
        if names:
            own = set(names) - {"plain"}
            return frozenset(own | set(_doubts(own)))
    return None


@cache
def _phrases() -> Mapping[tuple[str, bool], tuple[str, ...]]:
    """Every phrase of the file, without its star and whether it has one -> its classes."""
    phrases: dict[tuple[str, bool], tuple[str, ...]] = {}
    for name, own in _FILE["classes"].items():
        for phrase in own:
            key = plain(phrase).strip(), phrase.endswith("*")
            phrases[key] = (*phrases.get(key, ()), name)
    return phrases
