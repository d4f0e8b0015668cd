"""A killed publication leaves a whole site, and nothing beside it that stays."""

from __future__ import annotations

from pathlib import Path

import pytest

import deployments.publish.site as site_module
from deployments.publish.site import MARK, _locked, _swapped_in


def put(folder: Path, text: str) -> None:
    with _swapped_in(folder) as new:
        (new / "index.html").write_text(text)
        (new / MARK).write_text('{"files": {"index.html": ""}}')


def text(folder: Path) -> str:
    return (folder / "index.html").read_text()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    put(tmp_path / "site", "first")
    return tmp_path / "site"


@pytest.mark.parametrize("exchanges", [True, False])
def test_next_publication_removes_what_a_kill_left(
    site: Path, exchanges: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(site_module, "_exchanged", lambda one, other: False)
    for end in ("new", "old"):
        site.with_name(f".site.{'0' * 32}.{end}").mkdir()
    put(site, "second")
    assert text(site) == "second"
    assert [path.name for path in site.parent.iterdir()] == ["site"]


def test_site_that_a_kill_had_moved_away_is_put_back(site: Path) -> None:
    site.rename(site.with_name(f".site.{'1' * 32}.old"))
    with pytest.raises(KeyboardInterrupt), _swapped_in(site):
        raise KeyboardInterrupt
    assert text(site) == "first"
    assert [path.name for path in site.parent.iterdir()] == ["site"]


def test_site_is_there_at_every_moment(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "rename", lambda *_: pytest.fail("two renames leave a moment without a site"))
    put(site, "second")
    assert text(site) == "second"


def test_draft_of_a_living_process_is_spared(site: Path) -> None:
    draft = site.with_name(f".site.{'2' * 32}.new")
    draft.mkdir()
    with _locked(draft):
        put(site, "second")
        assert draft.is_dir()
    put(site, "third")
    assert not draft.exists()
