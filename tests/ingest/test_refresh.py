"""One source from a local server into a real warehouse, without Prefect."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from typing import Any

import pytest

from flows.ingest import refresh_all
from scrapers import wikipedia
from scrapers.http import PoliteSession
from scrapers.model import ScrapeError, TransientError
from tasks.ingest import steps
from tasks.ingest.params import IngestParams
from tests.ingest.conftest import CURRENCIES, RELIGIONS, Serve, attempts, items
from tests.scrapers.hand_made import PAGES
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply
from warehouse import ReferenceItem, Warehouse, replace_item_list, run_checks

TICKS = count()


def refresh(source: str, **given: Any) -> str:
    """Run the task's function, each time with a later start."""
    params = IngestParams.model_validate(
        {"sources": [source], "contact": "me@example.org", "minimum": 1} | given
    )
    started_at = datetime.fromtimestamp(1_790_000_000 + next(TICKS), UTC)
    return steps.refresh.fn(source, params, started_at)


def test_replaced_list_records_its_source(warehouse: Warehouse, web: MisbehavingServer, serve: Serve) -> None:
    serve(currencies="currencies_shared")
    assert refresh("wikipedia-currencies") == "replaced"
    franc, dollar = "West African CFA franc", "United States dollar"
    found = {row["item"]: row for row in items(warehouse, "currencies")}
    assert set(found) == {franc, dollar}
    assert (found[franc]["code"], found[franc]["countries"]) == ("XOF", ["BJ", "CI", "TG"])
    page = PAGES["currencies_shared"]
    (row,) = attempts(warehouse)
    assert row | {"started_at": None, "finished_at": None} == {
        "source": "wikipedia-currencies",
        "started_at": None,
        "finished_at": None,
        "status": "replaced",
        "url": web.url(CURRENCIES),
        "n_pages": 1,
        "bytes": len(page),
        "sha256": sha256(page).hexdigest(),
        "n_kept": 2,
        "dropped": '{"unknown_country": 1}',  # Guam
        "message": None,
    }
    origin = warehouse.query("SELECT source FROM item_list WHERE item_list = 'currencies' AND is_current")
    assert origin.item() == f"wikipedia-currencies 2026-09-21 {web.url(CURRENCIES)}"
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_items_without_countries_keep_their_known_ones(warehouse: Warehouse, serve: Serve) -> None:
    before = {row["item"]: row["countries"] for row in items(warehouse, "religions")}
    serve(religions="religions_ranges", currencies="currencies_no_iso_code")
    refresh("wikipedia-religions")
    after = {row["item"]: row["countries"] for row in items(warehouse, "religions")}
    assert set(after) == {"Christianity", "Islam", "Jainism", "Taoism", "Tenrikyo"}
    assert after["Tenrikyo"] == ["JP"]
    assert after == {name: before.get(name, []) for name in after}
    # The source's own countries win over the known ones.
    known = [
        ReferenceItem("Brazilian real", countries=("PT",)),
        ReferenceItem("Alderney pound", countries=("GB",)),
    ]
    replace_item_list(warehouse, "currencies", known, "a test")
    refresh("wikipedia-currencies")
    assert {row["item"]: row["countries"] for row in items(warehouse, "currencies")} == {
        "Alderney pound": ["GB"],
        "Brazilian real": ["BR"],
    }


def test_equal_bytes_are_unchanged_until_the_list_was_replaced(warehouse: Warehouse, serve: Serve) -> None:
    serve(religions="religions_ranges")
    assert refresh("wikipedia-religions") == "replaced"
    stamp = "SELECT loaded_at FROM item_list WHERE item_list = 'religions' AND is_current"
    loaded_at = warehouse.query(stamp).item()
    assert refresh("wikipedia-religions") == "unchanged"
    assert warehouse.query(stamp).item() == loaded_at
    replace_item_list(warehouse, "religions", [ReferenceItem("Discordianism")], "a test")
    assert refresh("wikipedia-religions") == "replaced"
    assert len(items(warehouse, "religions")) == 5
    assert [row["status"] for row in attempts(warehouse)] == ["replaced", "unchanged", "replaced"]


def test_unchanged_page_comes_from_the_cache(warehouse: Warehouse, web: MisbehavingServer) -> None:
    body = PAGES["religions_ranges"]
    web.replies[RELIGIONS] = [Reply(body=body, headers={"ETag": '"one"'})]
    assert [refresh("wikipedia-religions") for _ in range(2)] == ["replaced", "unchanged"]
    first, second = web.asked(RELIGIONS)
    assert ("If-None-Match" in first.headers, second.headers["If-None-Match"]) == (False, '"one"')
    assert [row["bytes"] for row in attempts(warehouse)] == [len(body)] * 2


@pytest.mark.nets(1)
@pytest.mark.parametrize(
    ("page", "given", "message"),
    [
        ("religions_ranges", {"minimum": None}, "5 items, at least 10 are expected"),
        ("religions_ranges", {"minimum": 6}, "5 items, at least 6 are expected"),
        ("religions_category", {}, "1 items, 5 the last time: 80% fewer, at most 20% are accepted"),
    ],
)
def test_too_small_harvest_is_refused(
    warehouse: Warehouse, serve: Serve, page: str, given: dict[str, Any], message: str
) -> None:
    serve(religions="religions_ranges")
    refresh("wikipedia-religions")
    before = items(warehouse, "religions")
    serve(religions=page)
    with pytest.raises(steps.Refused, match=message):
        refresh("wikipedia-religions", **given)
    assert items(warehouse, "religions") == before
    row = attempts(warehouse)[-1]
    assert (row["status"], row["n_kept"]) == ("refused", 5 if page == "religions_ranges" else 1)
    assert message in row["message"]
    assert "--m" in row["message"]  # what to do


@pytest.mark.heavy
def test_accepted_shrinkage_replaces_and_a_refusal_keeps_the_old_count(
    warehouse: Warehouse, serve: Serve
) -> None:
    serve(religions="religions_ranges")
    refresh("wikipedia-religions")
    serve(religions="religions_category")
    for _ in range(2):  # the next attempt is not compared with a refused one
        with pytest.raises(steps.Refused, match="5 the last time"):
            refresh("wikipedia-religions")
    assert refresh("wikipedia-religions", max_shrinkage=0.8) == "replaced"
    assert [row["item"] for row in items(warehouse, "religions")] == ["Hinduism"]
    assert refresh("wikipedia-religions") == "unchanged"
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.parametrize("contact", [None, "", "Jane Doe", "Jane <jane@example.org>"])
def test_without_a_contact_no_request_is_sent(
    warehouse: Warehouse, web: MisbehavingServer, contact: str | None
) -> None:
    for source in ("wikipedia-currencies", "wikidata"):
        with pytest.raises(ScrapeError, match="--contact, or set CULTUREMETER_CONTACT") as caught:
            refresh(source, contact=contact, endpoint=web.url("/sparql"))
        # The message is stored, and the person has not agreed to that.
        assert "jane" not in str(caught.value).lower()
    assert web.requests == []


def test_contact_may_come_from_the_environment(
    warehouse: Warehouse, web: MisbehavingServer, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(religions="religions_ranges")
    monkeypatch.setenv(steps.CONTACT, "of-the-environment@example.org")
    refresh("wikipedia-religions", contact=None)
    agents = {seen.headers["User-Agent"] for seen in web.requests}
    assert all("of-the-environment@example.org" in agent for agent in agents)
    assert b"of-the-environment@example.org" not in warehouse.path.read_bytes()


def test_network_source_refuses_files(warehouse: Warehouse, web: MisbehavingServer) -> None:
    with pytest.raises(ScrapeError, match="leave out --file"):
        refresh("wikipedia-currencies", files=["page.html"])
    assert web.requests == []


@pytest.mark.nets(1)
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "10.0.0.1"])
def test_private_addresses_are_refused(
    warehouse: Warehouse, web: MisbehavingServer, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    monkeypatch.setattr(steps, "PoliteSession", PoliteSession)  # as users have it
    before = items(warehouse, "dishes")
    with pytest.raises(ScrapeError, match="not public: refused") as caught:
        refresh("tasteatlas", files=[web.url("/export.json", host=host)])
    assert not isinstance(caught.value, TransientError)
    assert web.requests == []
    assert items(warehouse, "dishes") == before


def test_failed_source_does_not_stop_the_next_one(
    warehouse: Warehouse, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RecursionError("too deep")

    monkeypatch.setattr(wikipedia, "currencies", broken)
    serve(currencies="currencies_shared", religions="religions_ranges")
    chosen = {"sources": ["wikipedia-currencies", "wikipedia-religions"], "contact": "me@example.org"}
    with pytest.raises(ScrapeError, match=r"^wikipedia-currencies: too deep$"):
        refresh_all(IngestParams.model_validate(chosen | {"minimum": 1}))
    failed, replaced = attempts(warehouse)
    assert (failed["status"], failed["message"]) == ("failed", "too deep")
    assert replaced["status"] == "replaced"
