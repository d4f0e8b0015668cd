"""The survey of domains: its questions match the metric, who is excluded, and who is refused."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from deployments.people import results
from deployments.people.app import create_app
from tasks.people.agreement import WITHIN_ONE_COUNTRY
from tasks.people.answers import quotas
from tasks.people.study import STUDY, PeopleStudy, in_language, read_folder
from tests.deployments.test_cli_people import DOMAINS, people, survey, surveyed
from tests.deployments.test_people_app import ORIGIN, Person
from tests.evaluations.spectral.reference_patterns import are_many, countries_x_items, table
from warehouse import Warehouse

RANKS = [float(n) for n in range(1, 10)]


@pytest.fixture
def study(warehouse: Warehouse) -> PeopleStudy:
    people("new", "survey", "--study", "spectral-ranking", "--people", 80)
    return read_folder(warehouse.home / "people" / "survey").study


def test_literal_answers_give_the_papers_first_letters(study: PeopleStudy) -> None:
    # "Many: most countries have one of their own", counted in the lists by the metric itself.
    paper = {row["domain"]: row["human_category"][0] for row in table("domain")}
    counted = {d: "H" if are_many(d) else "L" for d in DOMAINS}
    assert counted == paper
    (asked,) = (field for field in study.fields if field.name == "patterns")
    assert {row.value for row in asked.rows} == paper.keys()
    assert [option.value for option in asked.options] == ["low", "high"]
    # The number of answers within a country is another question, with another order: currency has one answer.
    within = {d: np.median(countries_x_items(d).sum(axis=1)) for d in DOMAINS}
    assert within["currency"] == 1 < within["languages"] < within["national_dish"]


def test_examples_name_no_ranked_domain(study: PeopleStudy) -> None:
    (ranked,) = (field for field in study.fields if field.name == "ranking")
    labels = " ".join(in_language(option.label, "en").lower() for option in ranked.options)
    words = {word.removesuffix("s") for word in re.findall("[a-z]{4,}", labels)}
    words -= {"your", "country", "most", "common", "used", "major", "house", "easy", "prepare"}
    texts = [study.guidelines, study.page("patterns").text]
    examples = " ".join(in_language(text, "en").lower() for text in texts)
    assert {"currency", "dish", "food", "holiday", "language", "religion"} <= words
    assert not [word for word in words if word in examples]


def test_sixteen_regions_share_the_places(study: PeopleStudy, warehouse: Warehouse) -> None:
    ((page, field),) = quotas(read_folder(warehouse.home / "people" / "survey"))
    assert page == study.pages[0].name
    assert len(field.quota_for) == 16
    labels = " ".join(in_language(option.label, "en") for option in field.options)
    assert "Uzbekistan" in labels
    assert "Turkmenistan" not in labels


def test_contradictory_or_late_answers_are_excluded_with_the_reason(warehouse: Warehouse) -> None:
    folder, database, regions = survey(warehouse.home, 32)  # two of each of 16 regions
    codes = sorted({a.annotator for a in folder.assignments})
    asked: list[dict[str, Any]] = [
        {"region": regions[0]},
        {"region": regions[0], "confidence": "not"},  # no reason to leave anybody out
        {"region": regions[0]},  # the third
        {"region": regions[1], "most_different": "first"},
        {"region": "other"},
        {"region": regions[2], "instructed": "3"},
    ]
    for code, about in zip(codes, asked, strict=False):
        surveyed(database, code, about.pop("region"), RANKS, **about)
    database.close()
    assert results.read(warehouse.home / "people" / "survey").excluded == {
        codes[2]: ["over a quota"],
        codes[3]: ["contradicts the own ranking"],
        codes[4]: ["over a quota"],
        codes[5]: ["failed an attention check"],
    }


def test_full_region_is_refused_and_the_persons_place_is_free_again(warehouse: Warehouse) -> None:
    _, database, _ = survey(warehouse.home, 3)  # one of each region
    database.close()
    app = create_app(warehouse.home / "people" / "survey", ORIGIN)
    site = app.state.site

    def came(code: str, region: str) -> tuple[Person, str]:
        who = Person(app, site.store.invite(code, "annotator", "en")).begun()
        return who, who.post("/item/1", region=region, go="next").text

    _, first = came("p001", "japan")
    second_person, second = came("p002", "japan")
    _, third = came("p003", "other")
    assert "ranking" in first
    assert "ranking" not in second
    assert "ranking" not in third
    assert second_person.get("/item/2").status_code == 401
    assert not site.store.saved("p002")
    free = [person["annotator"] for person in site.store.people() if not person["entered"]]
    assert {"p002", "p003"} <= set(free)
    _, again = came("p002", "brazil")
    assert "ranking" in again
    site.store.close()


def test_survey_within_one_country_has_scores_and_no_categories(warehouse: Warehouse) -> None:
    folder, database, regions = survey(warehouse.home, 16)
    path = warehouse.home / "people" / "survey"
    text = (path / STUDY).read_text()
    (path / STUDY).write_text(text.replace('name = "patterns"\nkind', 'name = "pluralism"\nkind'))
    for code, region in zip(sorted({a.annotator for a in folder.assignments}), regions, strict=True):
        surveyed(database, code, region, RANKS, asked="pluralism")
    database.close()
    scores, halves, _ = results.of_ranking(results.read(path))
    assert {(row.category, row.unscored_reason) for row in scores} == {(None, WITHIN_ONE_COUNTRY)}
    assert [row.score for row in scores] == RANKS
    assert {row.unscored_reason for row in halves if row.metric == "macro_f1"} == {WITHIN_ONE_COUNTRY}
