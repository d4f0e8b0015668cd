"""Passages of the user's documents: cut by paragraph and found by words of any script."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.evaluations.culturall.retrieval import MOST_CHARACTERS, Passage, passages_for, read_documents


def test_documents_are_cut_into_passages_by_paragraph(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("short\n\n" + "x" * (MOST_CHARACTERS + 5) + "\n\nlast", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.txt").write_text("\ufeffone\n\n\ntwo", encoding="utf-8")
    (tmp_path / "c.pdf").write_bytes(b"%PDF")
    read = read_documents(tmp_path)
    assert [(p.document, p.number, len(p.text)) for p in read] == [
        ("b.md", 1, 5), ("b.md", 2, MOST_CHARACTERS), ("b.md", 3, 10), ("sub/a.txt", 1, 7),
    ]  # fmt: skip
    assert read[-1].text == "one two"


def test_missing_folder_and_other_encodings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no folder with \.txt or \.md files: check the path"):
        read_documents(tmp_path / "none")
    (tmp_path / "latin.txt").write_bytes("é".encode("latin-1"))
    with pytest.raises(ValueError, match=r"latin\.txt is not UTF-8 .*save it in UTF-8"):
        read_documents(tmp_path)


PASSAGES = [
    Passage("a", 1, "Guests take their shoes off at the door."),
    Passage("a", 2, "The bill is split between friends."),
    Passage("b", 1, "端午节要吃粽子，看龙舟比赛。"),
    Passage("b", 2, "ចូលឆ្នាំខ្មែរធ្វើនៅខែមេសា។"),
]


def test_best_passages_are_found_in_any_script_and_order() -> None:
    queries = {"x": "Whose shoes?", "y": "端午节吃什么？", "z": "ខែមេសា", "none": "quantum", "empty": ""}
    best = passages_for(queries, PASSAGES, 2)
    assert best["x"][0] == PASSAGES[0]
    assert best["y"] == (PASSAGES[2],)
    assert best["z"] == (PASSAGES[3],)
    assert best["none"] == best["empty"] == ()
    one = passages_for(queries, PASSAGES, 1)
    assert passages_for(dict(reversed(queries.items())), PASSAGES[::-1], 1) == one
    assert passages_for({"x": "shoes"}, PASSAGES[:1], 3) == {"x": (PASSAGES[0],)}
