"""The site builds strictly, all links have targets, and no page loads from another host."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

pytestmark = pytest.mark.heavy  # `make docs`, which CI runs, fails on a dead link
REPOSITORY = Path(__file__).parents[2]
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Elements that a browser fetches by itself -> the attribute with the address."""
NOT_LOADED = {"canonical", "next", "prev", "alternate"}
"""Links in a page's head that are for crawlers."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("zensical") is None:
        pytest.skip("zensical is not installed: pip install '.[docs]'")
    folder = tmp_path_factory.mktemp("docs")
    command = [sys.executable, REPOSITORY / "docs" / "build.py", str(folder / "built")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "built" / "site"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Any]:
    """All pages, parsed."""
    files = sorted(site.rglob("*.html"))
    return {file: BeautifulSoup(file.read_text(encoding="utf-8"), "lxml") for file in files}


def test_every_link_and_anchor_has_a_target(site: Path, pages: dict[Path, Any]) -> None:
    anchors = {page: {tag["id"] for tag in soup.find_all(id=True)} for page, soup in pages.items()}
    dead = []
    for page, soup in pages.items():
        for link in soup.find_all("a", href=True):
            parts = urlsplit(link["href"])
            if parts.scheme or page.name == "404.html":
                continue
            goal = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            goal = goal / "index.html" if goal.is_dir() else goal
            if not goal.exists() or (parts.fragment and unquote(parts.fragment) not in anchors.get(goal, ())):
                dead.append(f"{page.relative_to(site)}: {link['href']}")
    assert not dead


def test_no_page_loads_from_another_host(pages: dict[Path, Any]) -> None:
    for page, soup in pages.items():
        for tag in soup.find_all(list(LOADED)):
            if not NOT_LOADED & set(tag.get("rel") or ()):
                assert not urlsplit(tag.get(LOADED[tag.name]) or "").netloc, f"{page.name}: {tag}"


def test_every_page_is_in_the_navigation(site: Path, pages: dict[Path, Any]) -> None:
    links = {(site / link["href"]).resolve() for link in pages[site / "index.html"].select("nav a[href]")}
    assert not {page for page in pages if page.name != "404.html"} - links
    listed = re.findall(r'"([\w/-]+\.md)"', (REPOSITORY / "zensical.toml").read_text(encoding="utf-8"))
    assert len(listed) == len(set(listed))


def test_links_between_pages_of_the_repository_have_a_target() -> None:
    """Whoever reads the pages in the repository finds no page that only the site has."""
    listed = subprocess.run(["git", "ls-files"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    files = {REPOSITORY / name for name in listed.stdout.splitlines()}
    there = files | {parent for file in files for parent in file.parents}
    n_links = 0
    for source in sorted(file for file in files if file.suffix == ".md"):
        text = re.sub(r"```.*?```", "", source.read_text(encoding="utf-8"), flags=re.S)
        links = [link for link in re.findall(r"\]\(([^)\s]+)\)", text) if not urlsplit(link).scheme]
        for link in links:
            path, _, anchor = link.partition("#")
            page = Path(os.path.normpath(source.parent / path)) if path else source
            assert page in there, f"{source.name}: {link}"
            headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M) if anchor else []
            slugs = [re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert not anchor or anchor in slugs, f"{source.name}: {link}"
        n_links += len(links)
    assert n_links > 100


def test_glossary_term_is_linked_at_its_first_use_in_prose() -> None:
    spec = importlib.util.spec_from_file_location("docs_build", REPOSITORY / "docs" / "build.py")
    assert spec
    assert spec.loader
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    page = (
        "# A cohort\n\n`pack` is code. Packs and occasions; a pack.\n\n| cohort |\n\n```\nnull model\n```\n"
    )
    linked = page.replace("Packs", "[Packs](g.md#pack)").replace("occasions", "[occasions](g.md#occasion)")
    assert build.with_terms(page, "g.md") == linked
    by_hand = "A [pack](glossary.md#pack) is not linked again: pack.\n"
    assert build.with_terms(by_hand, "glossary.md") == by_hand
    assert build.with_terms("NULL, its null.", "g.md") == "NULL, its [null](g.md#null-model)."


def test_glossary_defines_each_term_once() -> None:
    page = (REPOSITORY / "docs" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^### (.+)$", page, re.M)
    needed = {"Cohort", "Configuration", "Occasion", "Profile", "Pack", "Null model", "Doubt", "Cluster"}
    assert needed | {"Item", "Sample"} <= set(terms)
    assert len(terms) == len(set(terms))
    assert "\n\n\n" not in page
