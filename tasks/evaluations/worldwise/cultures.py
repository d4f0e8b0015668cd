"""Which cultures a model is asked to be: their targets on each dimension and their persona prompts. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tasks.evaluations.worldwise.params import WorldwiseParams
from tasks.evaluations.worldwise.user_files import Row
from tasks.identity import UnknownName
from tasks.metrics.alignment import bucketed_profile, linear_profile

BASELINE = "baseline"
"""The culture of answers without a persona."""

BUCKETED = {"hofstede_bucketed": "hofstede_published"}
"""Profiles that are another's scores in the seven steps of WorldWiseAI 2024."""


@dataclass(frozen=True)
class Culture:
    """A persona. ``target`` maps dimensions to -2..+2; the baseline has neither prompt nor target."""

    culture: str
    name: str
    persona: str
    target: Mapping[str, float]


@dataclass(frozen=True)
class Targets:
    """A target profile on -2..+2: country -> dimension -> target, all of one framework."""

    framework: str
    of_country: Mapping[str, Mapping[str, float]]


def choose_targets(name: str, rows: Sequence[Row]) -> Targets:
    """The profile of this name, normalised: bucketed, or linear if any score is beyond -2..+2.

    Raises:
        UnknownName: no such profile. ValueError: of several frameworks, or scores of no known scale.
    """
    stored = {str(r["profile"]) for r in rows}
    source = name if name in stored else BUCKETED.get(name, name)
    if source not in stored:
        known = stored | {bucketed for bucketed, of in BUCKETED.items() if of in stored}
        raise UnknownName("target profile", name, sorted(known))
    chosen = [r for r in rows if r["profile"] == source]
    frameworks = sorted({str(r["framework"]) for r in chosen})
    if len(frameworks) > 1:
        raise ValueError(f"profile {name!r} has targets of {', '.join(frameworks)}: make one profile of each")
    scores = [float(r["score"]) for r in chosen]
    try:
        if source != name:
            scores = bucketed_profile(scores).tolist()
        elif any(abs(score) > 2 for score in scores):
            scores = linear_profile(scores).tolist()
    except ValueError as error:
        raise ValueError(f"profile {name!r} is neither on 0..100 nor on -2..+2: {error}") from error
    of_country: dict[str, dict[str, float]] = {}
    for r, score in zip(chosen, scores, strict=True):
        of_country.setdefault(str(r["country"]), {})[str(r["dimension"])] = score
    return Targets(frameworks[0], of_country)


def choose_cultures(
    params: WorldwiseParams, targets: Targets, dimensions: set[str], rows: Mapping[str, Sequence[Row]]
) -> tuple[Culture, ...]:
    """The baseline, and by code the chosen cultures that have a target on every dimension asked about.

    Raises:
        UnknownName: a culture that has not.
        ValueError: none has, one is not in table country, or names in their own languages are missing.
    """
    names = {str(r["country"]): str(r["name"]) for r in rows["country"]}
    unknown = sorted(targets.of_country.keys() - names.keys())
    if unknown:
        raise ValueError(
            f"{', '.join(unknown)}: not in table country; profiles have ISO 3166-1 alpha-2 codes"
        )
    complete = sorted(code for code, target in targets.of_country.items() if dimensions <= target.keys())
    if not complete:
        raise ValueError(f"no culture has targets on all of {', '.join(sorted(dimensions))}: add them")
    if params.persona_language == "own" and not rows.get("country_name"):
        raise ValueError("persona_language 'own' needs countries' names in their languages: there are none")
    cultures = [Culture(BASELINE, "no persona", "", {})]
    for code in _chosen(params.cultures, complete, names):
        target = {d: targets.of_country[code][d] for d in sorted(dimensions)}
        cultures.append(Culture(code, names[code], _persona(params, code, names[code], rows), target))
    return tuple(cultures)


def _chosen(wanted: Sequence[str] | None, complete: Sequence[str], names: Mapping[str, str]) -> list[str]:
    """Codes of the cultures named by code or name, each once."""
    if not wanted:
        return list(complete)
    codes = {names[code].casefold().removeprefix("the "): code for code in complete}
    codes |= {code.casefold(): code for code in complete}
    chosen = set()
    for name in wanted:
        key = name.strip().casefold().removeprefix("the ")
        if key not in codes:
            raise UnknownName("culture with targets on all dimensions", name, [names[c] for c in complete])
        chosen.add(codes[key])
    return sorted(chosen)


def _persona(params: WorldwiseParams, code: str, name: str, rows: Mapping[str, Sequence[Row]]) -> str:
    """The prompt, in the culture's own language where the prompt and the country's name are there in it."""
    prompts = {str(r["language"]): str(r["text"]) for r in rows["persona"]}
    if params.persona_language == "own":
        for r in rows["country_name"]:
            if r["country"] == code and r["language"] in prompts:
                return prompts[str(r["language"])].replace("{country}", str(r["name"]))
    return prompts["en"].replace("{country}", name)
