"""The flow in this process with a real Prefect server: retries, and the recorded attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deployments.serve.server import pointed_at
from flows.ingest import ingest
from scrapers.model import ScrapeError, TransientError
from tasks.ingest import steps
from tasks.ingest.params import IngestParams
from tests.http_server import serving
from tests.ingest.conftest import CURRENCIES, RELIGIONS, Serve, attempts, items
from tests.scrapers.hand_made import PAGES
from tests.scrapers.misbehaving_server import MisbehavingServer, Reply
from tests.scrapers.wikidata.servers import reply
from warehouse import Warehouse, run_checks

Run = Callable[..., dict[str, str]]
GOOD = Reply(body=PAGES["religions_ranges"])
BUSY = Reply(503)


@pytest.fixture
def run(
    prefect_api: str, warehouse: Warehouse, web: MisbehavingServer, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Run]:
    """Run the flow; Prefect retries without delay."""
    monkeypatch.setattr(steps, "refresh", steps.refresh.with_options(retry_delay_seconds=0))

    def flow(*sources: str, **given: Any) -> dict[str, str]:
        own = {"sources": sources, "contact": "me@example.org", "minimum": 1}
        return ingest(IngestParams.model_validate(own | given))

    with pointed_at(prefect_api):
        yield flow


@pytest.mark.slow
def test_failed_source_does_not_stop_the_others(
    run: Run, warehouse: Warehouse, web: MisbehavingServer, serve: Serve
) -> None:
    serve(currencies="currencies_changed_layout", religions="religions_ranges")
    before = items(warehouse, "currencies")
    with pytest.raises(ScrapeError) as caught:
        run("wikipedia-currencies", "wikipedia-religions")
    assert str(caught.value).startswith("wikipedia-currencies: ")
    assert "layout has probably changed; it has: Country, Money, ISO code" in str(caught.value)
    assert "religions" not in str(caught.value)
    assert items(warehouse, "currencies") == before
    assert len(items(warehouse, "religions")) == 5
    failed, replaced = attempts(warehouse)
    assert (failed["status"], failed["n_kept"], failed["sha256"]) == ("failed", None, None)
    assert "layout has probably changed" in failed["message"]
    assert (replaced["status"], replaced["message"]) == ("replaced", None)
    assert len(web.asked(CURRENCIES)) == 1  # not retried: the page would be the same
    assert run_checks(warehouse)["n_violations"].sum() == 0
    assert run("wikipedia-religions") == {"wikipedia-religions": "unchanged"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replies", "n_asked", "status"),
    [
        ([BUSY, Reply(manner="reset"), GOOD], 3, "replaced"),
        ([BUSY, BUSY, BUSY, GOOD], 3, "failed"),  # two retries only
    ],
)
def test_source_is_retried_twice(
    run: Run, warehouse: Warehouse, web: MisbehavingServer, replies: list[Reply], n_asked: int, status: str
) -> None:
    web.replies[RELIGIONS] = replies
    before = items(warehouse, "religions")
    if status == "replaced":
        assert run("wikipedia-religions") == {"wikipedia-religions": "replaced"}
    else:
        with pytest.raises(ScrapeError, match="answers with status"):
            run("wikipedia-religions")
        assert items(warehouse, "religions") == before
    assert len(web.asked(RELIGIONS)) == n_asked
    assert [row["status"] for row in attempts(warehouse)] == [status]  # one row for all tries


@pytest.mark.parametrize(
    ("error", "may_pass"),
    [
        (TransientError("busy"), True),
        (TransientError("busy", 10.0), True),  # RETRY_AFTER_S
        (TransientError("busy", 11.0), False),
        (ScrapeError("there is no such page"), False),
        (steps.Refused("5 items, at least 6 are expected"), False),
        (ValueError("a parser's fault"), False),
    ],
)
def test_only_transient_failures_are_retried(error: Exception, may_pass: bool) -> None:
    assert steps._is_transient(None, None, SimpleNamespace(data=error)) == may_pass
    assert steps.refresh.retry_condition_fn is steps._is_transient


@pytest.mark.slow
@pytest.mark.parametrize(
    "given",
    [{"endpoint": "ftp://nowhere.example"}, {"languages": ["English!"]}],
    ids=["endpoint", "language"],
)
def test_parameter_refused_by_a_source_fails_only_that_source(
    run: Run, warehouse: Warehouse, serve: Serve, given: dict[str, Any]
) -> None:
    serve(religions="religions_ranges")
    with pytest.raises(ScrapeError, match=r"wikidata: .*(http or https address|not language tags)"):
        run("wikidata", "wikipedia-religions", **given)
    assert [row["status"] for row in attempts(warehouse)] == ["failed", "replaced"]


@pytest.mark.slow
def test_keys_in_addresses_are_neither_stored_nor_shown(
    run: Run, warehouse: Warehouse, web: MisbehavingServer, tmp_path: Path
) -> None:
    web.replies["/export?key=k3y-8d41"] = [
        Reply(body=b'[{"name": "Ceviche", "country": "Peru"}]', headers={"ETag": '"one"'})
    ]
    assert run("tasteatlas", files=[web.url("/export?key=k3y-8d41")]) == {"tasteatlas": "replaced"}
    refusing = pytest.raises(ScrapeError, match="403")
    with serving(lambda _: reply(403)) as endpoint, refusing as caught:
        run("wikidata", endpoint=f"{endpoint.address}/sparql?key=k3y-8d41")
    assert "k3y-8d41" not in str(caught.value)
    assert [row["url"] for row in attempts(warehouse)] == [web.url("/export?..."), ""]
    for query in ("SELECT * FROM ingest", "SELECT * FROM item_list"):
        assert "k3y-8d41" not in str(warehouse.query(query).to_dicts())
    kept = [file for file in warehouse.home.rglob("*") if file.is_file()]
    assert any("cache" in file.parts for file in kept)
    assert not any(b"k3y-8d41" in file.read_bytes() for file in kept)
    assert not any(b"me@example.org" in file.read_bytes() for file in kept)
