"""Rows, decisions and exclusions from a study's answers, with numbers worked out by hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from deployments.people import results
from deployments.people.draw import page_of
from deployments.people.results import StudyResults
from tasks.people.agreement import WITHIN_ONE_COUNTRY
from tasks.people.answers import PersonRating, Reason
from tasks.people.study import (
    ANSWERS,
    ITEMS,
    STUDY,
    FormField,
    FormPage,
    Option,
    PeopleAnswer,
    PeopleItem,
    PeopleStudy,
    Private,
    StudyError,
    StudyFolder,
    write_rows,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXT = FormField(name="said", kind="text", label={"en": "Said"})


def study(kind: str, *fields: FormField) -> PeopleStudy:
    page = FormPage(name="page", title={"en": "Page"}, fields=fields or (TEXT,))
    return PeopleStudy(name="mine", kind=kind, title={"en": "Mine"}, consent={"en": "Yes?"}, pages=(page,))


def held(
    kind: str,
    *,
    answers: Sequence[PeopleAnswer] = (),
    ratings: Sequence[PersonRating] = (),
    private: Sequence[Private] = (),
    excluded: Mapping[str, list[Reason]] | None = None,
    fields: Sequence[FormField] = (),
) -> StudyResults:
    """Return results of a study in memory; its items are those with a private row."""
    items = {each.item: PeopleItem(item=each.item, page="page") for each in private}
    folder = StudyFolder(study(kind, *fields), items, {each.item: each for each in private}, ())
    return StudyResults(folder, list(answers), excluded or {}, [], list(ratings))


def answer(annotator: str, item: str, field: str, value: Any, **more: Any) -> PeopleAnswer:
    fixed = {"study_hash": "s", "item_hash": "h", "shown": [], "started": NOON, "saved": NOON}
    rest = {"revision": 1, "status": "complete", "tool": "test", "version": "1"}
    who = {"annotator": annotator, "item": item, "field": field, "value": value}
    return PeopleAnswer.model_validate({**fixed, **rest, **who, **more})


class TestAnswerRows:
    def test_ranking_has_a_row_per_entry_with_its_shown_place(self) -> None:
        ranked = answer("p1", "rank", "ranking", {"a": "2", "b": "1"}, shown=["b", "c", "a"], revision=4)
        rows = results._answer_rows("mine", ranked)
        assert [(row["entry"], row["value"], row["place"]) for row in rows] == [("a", "2", 3), ("b", "1", 1)]
        assert {(row["study"], row["annotator"], row["revision"], row["status"]) for row in rows} == {
            ("mine", "p1", 4, "complete")
        }

    def test_choice_is_one_row_with_the_shown_place_of_its_option(self) -> None:
        (row,) = results._answer_rows("mine", answer("p1", "page", "label", "no", shown=["yes", "no"]))
        assert (row["entry"], row["value"], row["place"]) == ("", "no", 2)
        (row,) = results._answer_rows("mine", answer("p1", "page", "said", "Well."))
        assert (row["entry"], row["value"], row["place"]) == ("", "Well.", None)

    def test_an_empty_ranking_keeps_its_revision(self) -> None:
        (row,) = results._answer_rows("mine", answer("p1", "rank", "ranking", {}, revision=2, status="draft"))
        assert (row["entry"], row["value"], row["revision"], row["status"]) == ("", "", 2, "draft")

    def test_times_are_stored_as_utc_without_a_zone(self) -> None:
        east = datetime(2026, 3, 1, 14, 30, tzinfo=timezone(timedelta(hours=2)))
        bare = datetime(2026, 3, 1, 9, 15)
        (row,) = results._answer_rows("mine", answer("p1", "page", "said", "x", started=east, saved=bare))
        assert (row["started_at"], row["saved_at"]) == (datetime(2026, 3, 1, 12, 30), bare)


def ranked(ranks: Mapping[str, Mapping[str, int]], field: str = "ranking") -> list[PersonRating]:
    """Return the ratings of a ranking from person -> domain -> rank."""
    return [
        PersonRating(who, "rank", "en", field, domain, str(rank))
        for who, own in ranks.items()
        for domain, rank in own.items()
    ]


RANKS = {"p1": {"a": 1, "b": 2, "c": 3}, "p2": {"a": 1, "b": 3, "c": 2}, "p3": {"a": 2, "b": 1, "c": 3}}
"""Means 4/3, 2 and 8/3."""
PATTERNS = [
    PersonRating(who, "patterns", "en", "patterns", domain, value)
    for domain, values in {
        "a": ("low", "low", "high"),
        "b": ("high", "high", "low"),
        "c": ("high", "low"),
    }.items()
    for who, value in zip(("p1", "p2", "p3"), values, strict=False)
]
REGIONS = [
    PersonRating("p1", "origin", "en", "region", "", "japan"),
    PersonRating("p3", "origin", "en", "region", "", "japan"),
]


class TestDomainRows:
    def test_domain_rows_have_mean_rank_sd_share_and_category(self) -> None:
        rows = results._domain_rows(held("spectral-ranking", ratings=[*ranked(RANKS), *PATTERNS]))
        assert [(row["domain"], row["n_people"]) for row in rows] == [("a", 3), ("b", 3), ("c", 3)]
        assert [row["human_score"] for row in rows] == pytest.approx([4 / 3, 2, 8 / 3])
        # Ranks 1, 1, 2 lie 1/3, 1/3 and 2/3 from their mean: (1/9 + 1/9 + 4/9) / 2 = 1/3; the same for c.
        assert [row["human_sd"] for row in rows] == pytest.approx([3**-0.5, 1, 3**-0.5])
        assert [row["share_high"] for row in rows] == pytest.approx([1 / 3, 2 / 3, 1 / 2])
        # The median of the scores is 2, and only a lies below it. People are tied on c.
        assert [row["human_category"] for row in rows] == ["LH", "HL", None]

    def test_snapshot_depends_only_on_rankings_and_patterns(self) -> None:
        def snapshot(ratings: Sequence[PersonRating]) -> object:
            (name,) = {
                row["snapshot"] for row in results._domain_rows(held("spectral-ranking", ratings=ratings))
            }
            return name

        before = snapshot([*ranked(RANKS), *PATTERNS])
        assert snapshot([*PATTERNS, *reversed(ranked(RANKS)), *REGIONS]) == before
        turned = RANKS | {"p3": {"a": 1, "b": 2, "c": 3}}
        assert snapshot([*ranked(turned), *PATTERNS]) != before

    def test_without_rankings_there_are_no_domain_rows(self) -> None:
        assert results._domain_rows(held("spectral-ranking", ratings=PATTERNS)) == []

    def test_patterns_within_one_country_give_no_category(self) -> None:
        field = TEXT.model_copy(update={"name": "pluralism"})
        within = held("spectral-ranking", ratings=ranked(RANKS), fields=[field])
        scores, _, _ = results.of_ranking(within)
        assert {(row.category, row.unscored_reason) for row in scores} == {(None, WITHIN_ONE_COUNTRY)}


def test_ranking_tables_have_domains_regions_and_halves() -> None:
    tables = results.ranking_tables(held("spectral-ranking", ratings=[*ranked(RANKS), *PATTERNS, *REGIONS]))
    _, domains = tables["domains"]
    assert domains["domain"].to_list() == ["a", "b", "c"]
    # Three people are too few for an interval; its columns exist.
    assert domains.select("ci_low", "ci_high").rows() == [(None, None)] * 3
    assert "interval" not in domains.columns
    _, regions = tables["regions"]
    # Ranks of p1 and p3: 1 and 2, 2 and 1, 3 and 3.
    assert regions.to_dicts() == [{"region": "japan", "n_people": 2, "a": 1.5, "b": 1.5, "c": 3.0}]
    _, halves = tables["halves"]
    assert halves.height == 4
    assert set(halves["value"]) == {None}
    assert set(halves["n_people"]) == {3}


def test_interval_becomes_two_columns_in_its_place() -> None:
    row = results._ends({"score": 2.0, "interval": (1.5, 2.5), "n": 9})
    assert list(row.items()) == [("score", 2.0), ("ci_low", 1.5), ("ci_high", 2.5), ("n", 9)]


GIVEN = {
    "country_name": "Norway", "seed": "s1", "cues": "ethnicity: Sámi", "statement": "Ask first.",
    "stance": "yes", "model": "m", "prompt_hash": "p", "text_hash": "t",
}  # fmt: skip
PARTS = {"persona": "Ailo", "situation": "At a camp.", "question": "May he?", "label": "no", "norm": "Ask."}
DRAFTS = {f"d{n}": {**GIVEN, **PARTS, "draft": f"d{n}"} for n in (1, 2)}
HIDDEN = [Private(item="i1", code="d1"), Private(item="i2", code="d2")]


def decided(who: str, item: str, decision: str, **more: str) -> list[PeopleAnswer]:
    return [answer(who, item, field, value) for field, value in {"decision": decision, **more}.items()]


def reviewed(
    *answers: PeopleAnswer, excluded: Mapping[str, list[Reason]] | None = None
) -> dict[str, dict[str, str]]:
    """Return the review's rows by their number."""
    rows = results.review_rows(
        held("specnorm-review", answers=answers, private=HIDDEN, excluded=excluded), DRAFTS
    )
    return {str(n): row for n, row in enumerate(rows, start=1)}


class TestReviewRows:
    def test_equal_decisions_take_texts_and_note_of_the_first_code(self) -> None:
        second = decided("r2", "i1", "revise", norm="Ask twice.", note="second")
        first = decided("r1", "i1", "revise", norm="Always ask.", note="first")
        (row,) = reviewed(*second, *first).values()
        assert (row["decision"], row["reviewer"], row["note"]) == ("revise", "r1", "first")
        # Parts that were not revised come from the draft.
        assert {part: row[part] for part in PARTS} == PARTS | {"norm": "Always ask."}
        assert row["country"] == "Norway"
        assert "country_name" not in row

    @pytest.mark.parametrize("decision", ["accept", "reject"])
    def test_only_a_revision_changes_texts(self, decision: str) -> None:
        (row,) = reviewed(*decided("r1", "i1", decision, norm="Never.")).values()
        assert (row["decision"], row["norm"]) == (decision, "Ask.")

    def test_different_decisions_leave_an_item_pending(self) -> None:
        (row,) = reviewed(
            *decided("r1", "i1", "accept"), *decided("r2", "i1", "revise", norm="Other.")
        ).values()
        assert (row["decision"], row["reviewer"], row["note"], row["norm"]) == ("", "", "", "Ask.")

    def test_drafts_old_revisions_and_excluded_people_do_not_count(self) -> None:
        of_r1 = decided("r1", "i1", "accept")
        changed = answer("r1", "i1", "decision", "reject", revision=2)
        unfinished = answer("r2", "i1", "decision", "accept", status="draft")
        out = decided("r3", "i1", "accept")
        (row,) = reviewed(*of_r1, changed, unfinished, *out, excluded={"r3": ["too fast"]}).values()
        assert (row["decision"], row["reviewer"]) == ("reject", "r1")

    def test_note_without_decision_leaves_an_item_pending(self) -> None:
        rows = reviewed(answer("r1", "i1", "note", "hm"), *decided("r1", "i2", "accept"))
        assert [(row["decision"], row["reviewer"], row["note"]) for row in rows.values()] == [
            ("", "", ""),
            ("accept", "r1", ""),
        ]

    def test_missing_draft_and_other_kind_of_study_are_refused(self) -> None:
        mine = held("specnorm-review", answers=decided("r1", "i2", "accept"), private=HIDDEN)
        with pytest.raises(StudyError, match="item i2: its draft is not in the warehouse"):
            results.review_rows(mine, {"d1": DRAFTS["d1"]})
        with pytest.raises(StudyError, match="study mine is of kind fmlama-mes, not specnorm-review"):
            results.review_rows(held("fmlama-mes"), DRAFTS)


class TestRatingsFile:
    def test_ratings_file_has_only_the_items_dimension_and_two_digits(self) -> None:
        hidden = [
            Private(item="i1", condition="coverage", code="c1"),
            Private(item="i2", condition="mes", code="c2"),
        ]
        ratings = [
            PersonRating("p1", "i1", "en", page_of("coverage"), "", "YES"),
            PersonRating("p1", "i1", "en", "comment", "", "so, so"),
            PersonRating("p1", "i1", "en", page_of("mes"), "", "NO"),  # a rating of another page
            PersonRating("p1", "i2", "en", "rating", "", "0.5"),
        ]
        text = results.ratings_csv(held("judge-ratings", ratings=ratings, private=hidden))
        assert [tuple(row.values()) for row in csv.DictReader(io.StringIO(text))] == [
            ("c1", "p1", "coverage", "YES"),
            ("c2", "p1", "mes", "0.50"),
        ]

    def test_ratings_file_of_another_kind_of_study_is_refused(self) -> None:
        with pytest.raises(StudyError, match="not judge-ratings"):
            results.ratings_csv(held("fmlama-mes"))


def test_item_rows_have_source_columns_and_mark_checks() -> None:
    hidden = [
        Private(item="i1", stratum="Italy", model="m", author="p9", condition="x", code="c"),
        Private(item="i2", expected={"said": "2"}),
    ]
    one, two = results._items(held("fmlama-mes", private=hidden).folder)
    names = ("item", "page", "stratum", "is_check", "model", "condition", "author", "code")
    assert [one[name] for name in names] == ["i1", "page", "Italy", False, "m", "x", "p9", "c"]
    assert [two[name] for name in names] == ["i2", "page", "", True, None, None, None, None]
    assert one["item_hash"] == two["item_hash"]  # the same words on the same page


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A study in files with answers from another program: two revisions by p1, one by p2."""
    (tmp_path / STUDY).write_text(
        'name = "mine"\nkind = "fmlama-mes"\ntitle = "Mine"\nconsent = "Yes?"\n'
        '[[pages]]\nname = "page"\ntitle = "Page"\n[[pages.fields]]\nname = "said"\n'
        'kind = "text"\nlabel = "Said"\n'
    )
    write_rows(tmp_path / ITEMS, [PeopleItem(item="i1", page="page")])
    values = [("p1", "a", 1), ("p1", "b", 2), ("p2", "c", 1)]
    write_rows(tmp_path / ANSWERS, [answer(who, "i1", "said", v, revision=n) for who, v, n in values])
    return tmp_path


def test_last_revision_of_each_person_counts(folder: Path) -> None:
    read = results.read(folder)
    assert [(r.annotator, r.value) for r in read.ratings] == [("p1", "b"), ("p2", "c")]
    assert len(read.answers) == 3


def test_answers_of_withdrawn_people_are_removed_from_the_file(folder: Path) -> None:
    (folder / results.WITHDRAWN).write_text("p1\n")
    read = results.read(folder)
    assert read.withdrawn == ["p1"]
    assert [(r.annotator, r.value) for r in read.ratings] == [("p2", "c")]
    assert '"p1"' not in (folder / ANSWERS).read_text()


def test_answer_about_an_unknown_item_is_refused(folder: Path) -> None:
    write_rows(folder / ANSWERS, [answer("p1", "i7", "said", "a")])
    with pytest.raises(StudyError, match=r"answers\.jsonl: this study has no item i7"):
        results.read(folder)


def test_alpha_of_equal_ratings_is_1() -> None:
    label = FormField(
        name="label",
        kind="choice",
        label={"en": "Label"},
        options=(Option(value="yes", label={"en": "Yes"}), Option(value="no", label={"en": "No"})),
    )
    rated = {"i1": "yes", "i2": "no", "i3": "yes", "i4": "no", "i5": "no", "i6": "yes"}
    ratings = [
        PersonRating(who, item, "en", "label", "", v) for who in ("p1", "p2") for item, v in rated.items()
    ]
    table = results.agreement(held("fmlama-mes", ratings=ratings, fields=[label]))
    (alpha,) = table.filter(metric="krippendorff_alpha_nominal")["value"]
    assert alpha == pytest.approx(1.0)
