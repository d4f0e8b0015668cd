"""Results of a study's answers: rows for the warehouse, agreement, files for judges and reviews.

Answers may also be collected in another program: this module writes its projects and imports its output.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl

from deployments.people.draw import page_of
from deployments.people.pages import interface
from deployments.people.store import FILE, StudyStore
from tasks.builders.specnorm.review import COLUMNS
from tasks.identity import digest
from tasks.judging.audit import RATING_COLUMNS
from tasks.people import labelstudio, potato
from tasks.people.agreement import (
    NOT_ANNOTATED,
    WITHIN_ONE_COUNTRY,
    CeilingRow,
    DomainScore,
    agreement_rows,
    ceiling,
    domain_scores,
    profiles,
    rankings,
)
from tasks.people.answers import PersonRating, Reason, counted, exclusions, latest, ratings
from tasks.people.elsewhere import answers_in, exported_for, read_projects, with_known, write_projects
from tasks.people.study import (
    ANSWERS,
    PeopleAnswer,
    StudyError,
    StudyFolder,
    in_language,
    read_folder,
    read_rows,
    write_rows,
)
from warehouse import Warehouse
from warehouse.people import save_study

WITHDRAWN = "withdrawn.txt"
"""File in a study's folder with the codes of people who withdrew other than on its pages."""


@dataclass(frozen=True)
class StudyResults:
    """A study with its answers, exclusions with their reasons, withdrawals, and the ratings that count."""

    folder: StudyFolder
    answers: list[PeopleAnswer]
    excluded: Mapping[str, list[Reason]]
    withdrawn: list[str]
    ratings: list[PersonRating]


@dataclass(frozen=True)
class Pulled:
    """The outcome of a pull: new rows of answers, revisions, people, and exclusions by reason."""

    n_new: int
    n_revisions: int
    n_people: int
    n_withdrawn: int
    excluded: Counter[str]


def read(path: Path) -> StudyResults:
    """Read the answers so far from the database that ``serve`` writes, else from answers.jsonl.

    Raises:
        StudyError: there is no such study, or a file is broken.
    """
    folder = read_folder(path)
    withdrawn: list[str] = []
    if (path / FILE).exists():
        from deployments.people.site import answers as stored

        store = StudyStore(path)
        try:
            answers = stored(folder, store)
            withdrawn = [person["annotator"] for person in store.people() if person["withdrawn"]]
        finally:
            store.close()
    else:
        answers = read_rows(path / ANSWERS, PeopleAnswer)
        unknown = sorted({a.item for a in answers} - folder.items.keys())
        if unknown:
            raise StudyError(f"{path / ANSWERS}: this study has no item {unknown[0]}")
    if (path / WITHDRAWN).exists():
        withdrawn += (path / WITHDRAWN).read_text(encoding="utf-8").split()
    answers = [answer for answer in answers if answer.annotator not in withdrawn]
    write_rows(path / ANSWERS, answers)
    excluded = exclusions(folder, answers)
    return StudyResults(folder, answers, excluded, withdrawn, ratings(folder, answers, excluded))


def pull(warehouse: Warehouse, path: Path) -> Pulled:
    """Store a study and its answers in the warehouse."""
    results = read(path)
    folder = results.folder
    study, name = folder.study, folder.study.name
    row = {
        "study": name,
        "kind": study.kind,
        "title": in_language(study.title, study.languages[0]),
        "study_hash": study.hash,
        "languages": list(study.languages),
        "annotators_per_item": study.annotators_per_item,
        "n_assigned": len(folder.assignments),
        "n_withdrawn": len(results.withdrawn),
    }
    excluded = [
        {"study": name, "annotator": annotator, "reason": reason}
        for annotator, reasons in results.excluded.items()
        for reason in reasons
    ]
    rows = [row for answer in results.answers for row in _answer_rows(name, answer)]
    domains = _domain_rows(results) if study.kind == "spectral-ranking" else []
    n_new = save_study(warehouse, row, _items(folder), rows, excluded, results.withdrawn, domains)
    n_people = len({answer.annotator for answer in results.answers})
    return Pulled(n_new, len(results.answers), n_people, len(results.withdrawn), counted(results.excluded))


def agreement(results: StudyResults) -> pl.DataFrame:
    """Return one row per number, with the columns of ``tasks.people.agreement.AgreementRow``."""
    rows = [asdict(row) for row in agreement_rows(results.folder.study, results.ratings)]
    return pl.DataFrame(rows, infer_schema_length=None)


def of_ranking(
    results: StudyResults,
) -> tuple[list[DomainScore], list[CeilingRow], dict[str, dict[str, tuple[float, int]]]]:
    """Return domains' scores, how well one half of the people predicts the other, and regional profiles."""
    ranks = rankings(results.ratings, "ranking")
    pluralism: dict[str, dict[str, str]] = {}
    for rating in results.ratings:
        if rating.field == "patterns":
            pluralism.setdefault(rating.annotator, {})[rating.entry] = rating.value
    regions = {r.annotator: r.value for r in results.ratings if r.field == "region"}
    was_within = any(field.name == "pluralism" for field in results.folder.study.fields)
    why = WITHIN_ONE_COUNTRY if was_within else NOT_ANNOTATED
    scores = domain_scores(ranks, pluralism, without=why)
    return scores, ceiling(ranks, pluralism, without=why), profiles(ranks, regions)


def ranking_tables(results: StudyResults) -> dict[str, tuple[str, pl.DataFrame]]:
    """Return every table computed from people's rankings: name -> (title, table)."""
    scores, halves, regions = of_ranking(results)
    domains = [_ends(asdict(row)) for row in scores]
    profile = [
        {"region": region, "n_people": max(n for _, n in own.values())}
        | {domain: mean for domain, (mean, _) in own.items()}
        for region, own in regions.items()
    ]
    titles = {
        "domains": ("Domains, most common across countries first", domains),
        "regions": ("Mean ranks by region", profile),
        "halves": (
            "How well one half of the people predicts the other",
            [_ends(asdict(row)) for row in halves],
        ),
    }
    return {name: (title, pl.DataFrame(r, infer_schema_length=None)) for name, (title, r) in titles.items()}


def _ends(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with its interval replaced by two columns."""
    low, high = row["interval"] or (None, None)
    pairs = {name: {name: value} for name, value in row.items()} | {
        "interval": {"ci_low": low, "ci_high": high}
    }
    return {name: value for pair in pairs.values() for name, value in pair.items()}


def exported(results: StudyResults, warehouse: Warehouse) -> str:
    """Return a study's answers in the form that its kind needs: CSV for other commands, else JSON Lines."""
    match results.folder.study.kind:
        case "judge-ratings":
            return ratings_csv(results)
        case "specnorm-review":
            drafts = {row["draft"]: row for row in warehouse.query("FROM specnorm_draft").to_dicts()}
            file = io.StringIO()
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(review_rows(results, drafts))
            return file.getvalue()
    return "".join(f"{answer.model_dump_json()}\n" for answer in results.answers)


def ratings_csv(results: StudyResults) -> str:
    """Return ratings of judged answers, as ``culturemeter judge validate`` reads them: verdicts of the menu.

    Studies with a five-point scale give numbers from 0 to 1. ``judge validate`` rounds them for a yes or no,
    and refuses them for a rubric whose verdicts are numbers.

    Raises:
        StudyError: the study is of another kind.
    """
    _expect(results.folder, "judge-ratings")
    file = io.StringIO()
    writer = csv.DictWriter(file, RATING_COLUMNS, lineterminator="\n")
    writer.writeheader()
    for rating in results.ratings:
        about = results.folder.private[rating.item]
        # In studies with a five-point scale the field is "rating", with values from 0 to 1.
        if rating.field in ("rating", page_of(about.condition)):
            is_point = rating.field == "rating"
            value = f"{float(rating.value):.2f}" if is_point else rating.value
            cells = (about.code, rating.annotator, about.condition, value)
            writer.writerow(dict(zip(("item", "annotator", "dimension", "rating"), cells, strict=True)))
    return file.getvalue()


def review_rows(results: StudyResults, drafts: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return decisions on drafts as rows of the file that ``culturemeter specnorm review`` reads.

    If the reviewers of a draft disagree, it stays pending. If they agree, its texts and note are those of the
    first reviewer by code.

    Args:
        drafts: rows of specnorm_draft by draft.

    Raises:
        StudyError: the study is of another kind, or a draft is missing.
    """
    _expect(results.folder, "specnorm-review")
    reviews: dict[str, dict[str, dict[str, str]]] = {}
    for (annotator, item, field), answer in sorted(latest(results.answers).items()):
        if (
            annotator not in results.excluded
            and answer.status == "complete"
            and isinstance(answer.value, str)
        ):
            reviews.setdefault(item, {}).setdefault(annotator, {})[field] = answer.value
    rows = []
    for item, by_person in reviews.items():
        draft = drafts.get(results.folder.private[item].code)
        if draft is None:
            raise StudyError(f"item {item}: its draft is not in the warehouse")
        decided = {who: own for who, own in by_person.items() if own.get("decision")}
        decisions = {own["decision"] for own in decided.values()}
        who, own = min(decided.items()) if len(decisions) == 1 else ("", dict[str, str]())
        texts = own if own.get("decision") == "revise" else {}
        columns = ("country_name", "seed", "cues", "statement", "stance", "model", "prompt_hash", "text_hash")
        cells = {name: str(draft[name]) for name in columns}
        cells["country"] = cells.pop("country_name")
        for part in ("persona", "situation", "question", "label", "norm"):
            cells[part] = texts.get(part) or str(draft[part])
        review = {"decision": own.get("decision", ""), "reviewer": who, "note": own.get("note", "")}
        rows.append(cells | review)
    return rows


def _expect(folder: StudyFolder, kind: str) -> None:
    if folder.study.kind != kind:
        raise StudyError(f"study {folder.study.name} is of kind {folder.study.kind}, not {kind}")


_HIDDEN = ("model", "condition", "author", "code", "chance", "population")


def _items(folder: StudyFolder) -> list[dict[str, object]]:
    rows = []
    for item in folder.items.values():
        hidden = folder.private.get(item.item)
        about = {name: getattr(hidden, name, "") or None for name in _HIDDEN}
        rows.append(
            {
                "study": folder.study.name,
                "item": item.item,
                "item_hash": item.hash,
                "page": item.page,
                "language": item.language,
                "stratum": hidden.stratum if hidden else "",
                "is_check": bool(hidden and hidden.expected),
                **about,
            }
        )
    return rows


def _domain_rows(results: StudyResults) -> list[dict[str, object]]:
    """Return rows with people's expectation of each domain, under the hash of all of them."""
    scores, _, _ = of_ranking(results)
    snapshot = digest([[row.domain, row.score, row.category] for row in scores], 8)
    return [
        {
            "study": results.folder.study.name,
            "snapshot": snapshot,
            "domain": row.domain,
            "human_score": row.score,
            "human_sd": row.sd,
            "n_people": row.n_people,
            "share_high": row.pluralism,
            "human_category": row.category,
        }
        for row in scores
    ]


def _answer_rows(study: str, answer: PeopleAnswer) -> list[dict[str, object]]:
    """Return one row per entry. An empty ranking gives one row without entry, to keep its revision."""
    values = answer.value if isinstance(answer.value, dict) else {"": answer.value}
    places = {name: place for place, name in enumerate(answer.shown, start=1)}
    fixed = answer.model_dump(include={"study_hash", "item", "item_hash", "annotator", "field"})
    fixed |= answer.model_dump(include={"revision", "status", "tool", "version"})
    times = {"started_at": _utc(answer.started), "saved_at": _utc(answer.saved)}
    return [
        {
            "study": study,
            **fixed,
            **times,
            "entry": entry,
            "value": value,
            "place": places.get(entry or value),
        }
        for entry, value in (values or {"": ""}).items()
    ]


def _utc(time: datetime) -> datetime:
    """Return the time as tables store it: UTC, without a zone."""
    return time.astimezone(UTC).replace(tzinfo=None) if time.tzinfo else time


PROGRAMS = {program.name: program for program in (potato.PROGRAM, labelstudio.PROGRAM)}


def export(path: Path, program: str, out: Path) -> list[str]:
    """Write projects for another program into a new folder; returns their names.

    Raises: StudyError: the folder exists, or the other program cannot run the study.
    """
    folder = replace(read_folder(path), private={})  # private data that is not loaded cannot be written
    try:
        out.mkdir(parents=True)
    except FileExistsError as error:
        raise StudyError(f"{out} exists already: name a new folder with --out") from error
    agree = {language: texts["agree"] for language, texts in interface().items()}
    return write_projects(PROGRAMS[program], folder, out, agree)


def take(path: Path, exported: Path) -> int:
    """Add the answers that another program, or a table, collected; returns the number of new revisions.

    Raises:
        StudyError: there is none, it is of another study, its output is broken, or the study is served here.
    """
    if not exported.exists():
        raise StudyError(f"{exported} does not exist: give an export's folder, or a table of answers")
    if (path / FILE).exists():
        raise StudyError(
            f"study {path.name} is served here already: run it in one program only, or start another study"
        )
    folder = read_folder(path)
    known = read_rows(path / ANSWERS, PeopleAnswer)
    if exported.is_file():
        found = answers_in(folder, exported)
    else:
        found = read_projects(PROGRAMS[exported_for(folder, exported)], folder, exported)
    answers = with_known(known, found)
    write_rows(path / ANSWERS, answers)
    return len(answers) - len(known)
