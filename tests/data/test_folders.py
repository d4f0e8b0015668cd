"""No reader of a folder that the user names follows a link out of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tasks.builders.culturall.sources import read_pages
from tasks.data import hub
from tasks.data.folders import files_in
from tasks.evaluations.culturall.retrieval import read_documents
from tasks.evaluations.explication.materials import read_personas
from tasks.evaluations.harness import clone
from tasks.evaluations.recipe.files import Files
from tasks.packs.published import read_rows
from tasks.papers.reproduction import _walk

READERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "a benchmark's folder": ("rows.csv", lambda folder: Files.at(str(folder)).paths),
    "a task's data": ("rows.csv", lambda folder: clone.check(folder, "x")),
    "published rows": ("rows.csv", lambda folder: read_rows("hf:someone/x")),
    "documents": ("page.txt", lambda folder: read_documents(folder)),
    "pages": ("page.html", lambda folder: read_pages(str(folder))),
    "personas": ("one.json", lambda folder: read_personas(folder)),
    "authors' files": ("rows.csv", lambda folder: list(_walk(folder))),
}
SECRET = "root:x:0:0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "clone"
    folder.mkdir()
    monkeypatch.setattr(hub, "folder", lambda _: folder)
    return folder


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("how", ["a file", "a file in a folder", "by a second link", "relative", "to itself"])
def test_no_reader_follows_a_link_out_of_the_folder(
    reader: str, how: str, folder: Path, tmp_path: Path
) -> None:
    name, read = READERS[reader]
    outside = tmp_path / "passwd"
    outside.write_text(f"text\n{SECRET}\n")
    link = folder / name
    match how:
        case "a file in a folder" if reader != "personas":
            (folder / "inner").mkdir()
            (folder / "inner" / name).symlink_to(outside)
        case "by a second link":
            (folder / "second").symlink_to(outside)
            link.symlink_to("second")
        case "relative":
            link.symlink_to("../passwd")
        case "to itself":
            link.symlink_to(name)
            if reader in ("personas", "authors' files"):
                return  # one reads it and says so, the other finds no file
        case _:
            link.symlink_to(outside)
    with pytest.raises(ValueError, match=r"outside of the data: replace it by the file|to itself") as error:
        list(found) if isinstance(found := read(folder), Iterable) else found
    assert SECRET not in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("reader", sorted(READERS.keys() - {"personas", "authors' files"}))
def test_no_reader_follows_a_linked_folder(reader: str, folder: Path, tmp_path: Path) -> None:
    name, read = READERS[reader]
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / name).write_text(f"text\n{SECRET}\n")
    (folder / "inner").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ValueError, match="outside of the data"):
        read(folder)


@pytest.mark.parametrize("reader", READERS)
def test_links_within_the_folder_are_read(reader: str, folder: Path) -> None:
    name, read = READERS[reader]
    (folder / "kept").write_text("[]" if reader == "personas" else "text\nYams are boiled.\n")
    (folder / name).symlink_to("kept")
    read(folder)
    assert folder / name in files_in(folder)


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (folder / "rows.csv").write_text("text\na\n")
    (folder / "again.csv").symlink_to("rows.csv")
    (tmp_path / "short").symlink_to(folder)
    assert [path.name for path in Files.at(str(tmp_path / "short")).paths] == ["again.csv", "rows.csv"]


def test_a_snapshot_of_the_hubs_cache_links_to_its_own_blobs(tmp_path: Path) -> None:
    snapshot, blob = tmp_path / "datasets--a" / "snapshots" / "f", tmp_path / "datasets--a" / "blobs" / "1"
    for path in (snapshot, blob.parent):
        path.mkdir(parents=True)
    blob.write_text("text\na\n")
    (snapshot / "rows.csv").symlink_to(blob)
    assert files_in(snapshot, (".csv",)) == [snapshot / "rows.csv"]
