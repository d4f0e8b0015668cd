"""Studies of every kind in a real browser: clicked through, by keyboard, without scripts, in three widths.

Playwright is fetched from PyPI and axe-core from npm if they are missing; without them or without chromium
these tests are skipped with the reason. CULTUREMETER_SCREENSHOTS names a folder for screenshots.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from deployments.people.studies import DRAWS
from tests.deployments.browser import CHROMIUM, SERIOUS, TOO_WIDE, axe
from tests.deployments.people.served import SECRETS, folder_of, serving

pytestmark = [pytest.mark.heavy, pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")]

WIDTHS = (360, 768, 1400)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if find_spec("playwright") is None:
        target = str(tmp_path_factory.mktemp("playwright"))
        fetch = [sys.executable, "-m", "pip", "install", "--quiet", "--target", target, "playwright"]
        if subprocess.run(fetch, capture_output=True).returncode:
            pytest.skip("playwright cannot be fetched from PyPI")
        sys.path.append(target)
    with import_module("playwright.sync_api").sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module", name="axe")
def _axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    return axe(tmp_path_factory.mktemp("axe"))


class Visitor:
    """One person in a browser; ``seen`` collects every response."""

    def __init__(self, chromium: Any, axe: str = "", **context: Any) -> None:
        self.context, self.axe = chromium.new_context(**context), axe
        self.page, self.seen = self.context.new_page(), list[str]()
        self.complaints: list[str] = []
        self.page.on("console", self._complain)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("response", self._keep)

    def _complain(self, message: Any) -> None:
        if message.type == "error":
            self.complaints.append(message.text)

    def _keep(self, response: Any) -> None:
        if response.status == 200 and "/static/" not in response.url:
            with suppress(Exception):  # after navigation the old page has no body
                self.seen.append(f"{response.headers} {response.text()}")

    def enter(self, address: str, token: str) -> None:
        self.page.goto(f"{address}/enter/{token}")
        self.look("link")
        self.page.click("button")
        self.look("consent")
        self.page.click("button")
        self.look("guide")
        self.page.click("main a")

    def look(self, name: str) -> None:
        """Check that the page fits every width and axe-core finds nothing serious, in light and dark."""
        self.seen.append(self.page.content())
        if not self.axe:
            return
        for width in WIDTHS:
            self.page.set_viewport_size({"width": width, "height": 800})
            assert not self.page.evaluate(TOO_WIDE), f"{name} is wider than {width}"
            if folder := os.environ.get("CULTUREMETER_SCREENSHOTS"):
                self.page.screenshot(path=f"{folder}/{name}-{width}.png", full_page=True)
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)
            self.page.evaluate(self.axe)
            assert self.page.evaluate(SERIOUS) == [], f"{name}, {scheme}"
        if folder:
            self.page.screenshot(path=f"{folder}/{name}-dark.png", full_page=True)
        self.page.emulate_media(color_scheme="light")

    def fill(self) -> None:
        """Fill in every field of the page, or chat to the end."""
        page = self.page
        if page.locator(".chat").count():
            page.fill("#said", "Tea, <script>alert(1)</script>.")
            page.click("button[value=say]")
            page.wait_for_selector(".interviewer")
            self.look("talk")
            page.fill("#said", "That is all.")
            page.click("button[value=end]")
            return
        for group in page.locator("[role=radiogroup]").all():
            group.locator("label").first.click()
        for n, select in enumerate(page.locator("select").all(), start=1):
            select.select_option(str(n))
        for text in page.locator("textarea").all():
            if not text.input_value():
                text.fill("GB" if text.get_attribute("maxlength") == "2" else "Some words & <b>marks</b>")
        self.page.click("button[value=next]")


CASES = [*((kind, "en") for kind in sorted(DRAWS)), ("fmlama-mes", "ar"), ("spectral-ranking", "he")]


@pytest.mark.parametrize(("kind", "language"), CASES)
def test_every_study_can_be_filled_in_accessibly_at_every_width(
    kind: str, language: str, chromium: Any, axe: str, tmp_path: Path
) -> None:
    with serving(folder_of(kind, tmp_path / "s", languages=language)) as (site, address):
        role = site.study.pages[0].role
        who = Visitor(chromium, axe)
        who.enter(address, site.store.invite(f"{language}0", role, language))
        n_pages = len(site.own[f"{language}0"])
        for place in range(1, n_pages + 1):
            who.page.wait_for_url(f"{address}/item/{place}")
            who.look(f"{kind}-{language}-{place}")
            who.fill()
        who.page.wait_for_url(f"{address}/done")
        who.look(f"{kind}-{language}-done")
        assert who.page.get_attribute("html", "dir") == ("rtl" if language in ("ar", "he") else "ltr")
        assert {saved.status for saved in site.store.saved(f"{language}0").values()} == {"complete"}
        assert who.complaints == []
        everything = "\n".join(who.seen)
        assert not [secret for secret in SECRETS if secret in everything]
        assert "alert(1)</script>" not in everything


def test_ranking_by_keyboard_marks_a_repeated_rank_at_once(chromium: Any, tmp_path: Path) -> None:
    with serving(folder_of("spectral-ranking", tmp_path / "s")) as (site, address):
        who = Visitor(chromium)
        who.page.goto(f"{address}/enter/{site.store.invite('en0', 'annotator', 'en')}")
        for _ in range(2):  # to the skip link, to the button
            who.page.keyboard.press("Tab")
        who.page.keyboard.press("Enter")
        who.page.wait_for_url(f"{address}/consent")
        for _ in range(2):
            who.page.keyboard.press("Tab")
        who.page.keyboard.press("Enter")
        who.page.wait_for_url(f"{address}/guide")
        who.page.goto(f"{address}/item/1")
        who.fill()  # where the person is from
        who.page.wait_for_url(f"{address}/item/2")
        who.page.keyboard.press("Tab")
        for rank in (1, 1, 3, 4, 5, 6, 7, 8, 9):
            who.page.keyboard.press("Tab")
            assert who.page.evaluate("document.activeElement.tagName") == "SELECT"
            who.page.keyboard.type(str(rank))
            if rank == 3:
                invalid = who.page.locator("select[aria-invalid=true]")
                assert invalid.count() == 2
                who.page.wait_for_selector("text=Each rank can be given only once.")
        who.page.keyboard.press("Tab")
        assert who.page.evaluate("document.activeElement.value") == "next"
        who.page.keyboard.press("Enter")  # refused: one rank is used twice
        who.page.wait_for_selector("text=Each rank can be given only once.")
        assert who.page.url == f"{address}/item/2"
        who.page.locator("select").nth(1).focus()
        who.page.keyboard.type("2")
        who.page.wait_for_selector("text=Saved")
        assert who.page.locator("select[aria-invalid=true]").count() == 0
        who.page.locator("button[value=next]").focus()
        who.page.keyboard.press("Enter")
        who.page.wait_for_url(f"{address}/item/3")
        order = [entry.split(".")[1] for entry in _shown(who, address)]
        assert order != sorted(order, key=int)  # each person has their own order


def _shown(who: Visitor, address: str) -> list[str]:
    who.page.goto(f"{address}/item/2")
    return [str(select.get_attribute("name")) for select in who.page.locator("select").all()]


def test_answers_are_saved_without_scripts(chromium: Any, tmp_path: Path) -> None:
    with serving(folder_of("judge-ratings", tmp_path / "s")) as (site, address):
        who = Visitor(chromium, java_script_enabled=False)
        who.enter(address, site.store.invite("en0", "annotator", "en"))
        for _ in range(2):
            who.fill()
        assert who.page.url == f"{address}/done"
        assert "RATED" in who.page.inner_text("main")


def test_failed_save_is_shown_and_going_back_keeps_answers(chromium: Any, tmp_path: Path) -> None:
    with serving(folder_of("judge-ratings", tmp_path / "s")) as (site, address):
        who = Visitor(chromium)
        who.enter(address, site.store.invite("en0", "annotator", "en"))
        who.page.route("**/save/**", lambda route: route.abort())
        who.page.locator("[role=radiogroup] label").first.click()
        who.page.wait_for_selector("text=Not saved.")
        who.page.unroute("**/save/**")
        who.page.locator("[role=radiogroup] label").nth(1).click()
        who.page.wait_for_selector("text=Saved")
        who.page.click("button[value=next]")
        who.page.wait_for_url(f"{address}/item/2")
        who.page.click("button[value=back]")
        who.page.wait_for_url(f"{address}/item/1")
        assert who.page.locator("input[type=radio]").nth(1).is_checked()
        who.page.click("button[value=pause]")
        who.page.wait_for_url(f"{address}/pause")
        who.page.click("main a")
        who.page.wait_for_url(f"{address}/item/2")
