"""Files in every published format, broken and other ones, and a dataset from a hub of our own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZIP_DEFLATED, ZipFile

import polars as pl
import pytest

from tasks.data import TableError, parquet, text, xlsx
from tasks.packs.published import PublishedRow, Text, read_all, read_rows
from tests.http_server import Answer, Request, serving

ROWS = [
    {"Country": "egypt", "Story": "A cup, full — to the brim."},
    {"Country": "chile", "Story": "Two\nlines"},
]
COMMIT = "0123456789" * 4
DATASET = "owner/norms"


def write_xlsx(path: Path, rows: Sequence[Sequence[str]]) -> None:
    """Write a workbook of one sheet whose cells are all texts."""
    cell = '<c t="inlineStr"><is><t>{}</t></is></c>'
    lines = ["".join(cell.format(escape(text)) for text in row) for row in rows]
    data = "".join(f"<row>{line}</row>" for line in lines)
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    linked = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    packed = "http://schemas.openxmlformats.org/package/2006"
    link = '<Relationship Id="r1" Type="{}/{}" Target="{}"/>'
    files = {
        "[Content_Types].xml": f'<Types xmlns="{packed}/content-types"/>',
        "_rels/.rels": link.format(linked, "officeDocument", "xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": link.format(linked, "worksheet", "worksheets/sheet1.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{linked}"><sheets>'
        '<sheet name="items" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{data}</sheetData></worksheet>',
    }
    with ZipFile(path, "w") as book:
        for name, text in files.items():
            if name.endswith(".rels"):
                text = f'<Relationships xmlns="{packed}/relationships">{text}</Relationships>'
            book.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')


def written(folder: Path, suffix: str) -> Path:
    """Return ROWS in the format of the suffix."""
    path, frame = folder / f"rows{suffix}", pl.DataFrame(ROWS)
    match suffix:
        case ".json":
            path.write_text("\ufeff" + json.dumps(ROWS, ensure_ascii=False), encoding="utf-8")
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n\n" for row in ROWS))
        case ".csv" | ".tsv":
            frame.write_csv(path, separator="," if suffix == ".csv" else "\t", include_bom=suffix == ".csv")
        case ".xlsx":
            write_xlsx(path, [list(ROWS[0]), *(list(row.values()) for row in ROWS)])
        case ".parquet":
            frame.write_parquet(path)
    return path


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".csv", ".tsv", ".parquet", ".xlsx"])
def test_every_format_gives_the_same_rows(suffix: str, tmp_path: Path) -> None:
    path = written(tmp_path, suffix)
    assert read_rows(path) == read_rows(str(path)) == ROWS


def test_csv_cells_stay_text_and_empty_cells_are_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.CSV"
    path.write_text("a,b\n007,\n\n")
    assert read_rows(path) == [{"a": "007", "b": None}]


def test_a_sheet_with_numbered_columns_is_named_by_its_first_row(tmp_path: Path) -> None:
    """Data frames are saved so; rows without any cell do not count."""
    path = tmp_path / "frame.xlsx"
    write_xlsx(path, [["0", "1"], ["Topic", "Example"], ["Food", "Tea < coffee"], ["", ""], ["Pets", ""]])
    food, pets = {"Topic": "Food", "Example": "Tea < coffee"}, {"Topic": "Pets", "Example": None}
    assert read_rows(path) == [food, pets]


BROKEN = {
    "a.json": ('[{"a": 1},\n{"a" 2}]', "line 2: not JSON"),
    "b.json": ('{"a": 1}', "key a: expected an object with columns, found int"),
    "c.json": ('[{"a": 1}, "x"]', "entry 2: expected an object with columns, found str"),
    "d.json": ("[]", "no rows"),
    "e.jsonl": ('{"a": 1}\n\n{"a": }\n', "line 3: not JSON"),
    "f.jsonl": ("[1]\n", "line 1: expected an object with columns, found list"),
    "g.csv": ("a,b\n1,2\n1,2,3\n", "line 3: 3 cells for 2 columns: put a text"),
    "h.csv": ('a,b\n1,"2"x\n', "line 2: not a CSV file"),
    "i.tsv": ("a\tb\n1\n", "line 2: 1 cells for 2 columns"),
    "j.parquet": ("PAR?", "not a readable Parquet file"),
    "k.xlsx": ("PK", "not a readable spreadsheet"),
    "l.ods": ("x", r"neither a file \(\.csv, .*\) nor a data set"),
    "deep.json": ("[" * 100_000, "nested"),
    "deep.jsonl": ('{"a": ' + "[" * 100_000 + "\n", "line 1"),
    "digits.json": (f'[{{"a": {"9" * 10_000}}}]', "not readable JSON"),
    "digits.jsonl": (f'{{"a": {"9" * 10_000}}}\n', "line 1"),
    "cell.csv": (f"a\n{'x' * 200_000}\n", "line 2"),
    "zeros.parquet": ("PAR1" + "\0" * 100 + "PAR1", "not a readable"),
    "zeros.xlsx": ("PK\x03\x04" + "\0" * 100, "not a readable"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_and_hostile_files_are_one_error_with_the_line(name: str, tmp_path: Path) -> None:
    content, message = BROKEN[name]
    (tmp_path / name).write_text(content)
    with pytest.raises(TableError, match=f"{re.escape(name)}(, |: ).*{message}") as refusal:
        read_rows(tmp_path / name)
    assert len(str(refusal.value)) < 500


def xml_bomb(path: Path) -> None:
    """Write a workbook with entities that name files, and entities that expand tenfold nine times."""
    write_xlsx(path, [["a"], ["&lol9; &file;"]])
    unfolding = "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1};" * 10}">' for n in range(2, 10))
    head = f'<!DOCTYPE x [<!ENTITY lol1 "lol"><!ENTITY file SYSTEM "file:///etc/passwd">{unfolding}]>'
    parts = {}
    with ZipFile(path) as book:
        parts = {entry: book.read(entry).decode() for entry in book.namelist()}
    with ZipFile(path, "w") as book:
        for entry, text in parts.items():
            start, end, rest = text.partition("?>")
            book.writestr(entry, f"{start}{end}{head}{rest}".replace("&amp;", "&"))


def test_entities_of_a_workbook_are_not_expanded(tmp_path: Path) -> None:
    xml_bomb(tmp_path / "entities.xlsx")
    try:
        rows = read_rows(tmp_path / "entities.xlsx")
    except TableError as refusal:
        rows = [{"refused": str(refusal)}]
    assert len(str(rows)) < 1000
    assert "root:" not in str(rows)


def test_a_workbook_of_too_many_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MOST_UNPACKED", 2**25)
    write_xlsx(tmp_path / "bomb.xlsx", [["a"], ["b"]])
    with ZipFile(tmp_path / "bomb.xlsx", "a", ZIP_DEFLATED) as book:
        book.writestr("xl/media/image1.png", bytes(2**26))
    with pytest.raises(TableError, match=r"bomb\.xlsx: .* unpacks to 0\.1 GiB"):
        read_rows(tmp_path / "bomb.xlsx")


def lying_bomb(path: Path) -> None:
    """Write a workbook whose sheet has 16 MiB but declares 1,000 bytes."""
    write_xlsx(path, [["a"], ["b"]])
    with ZipFile(path) as book:
        parts = {entry: book.read(entry) for entry in book.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as book:
        for entry, text in parts.items():
            rows = b"<row></row>" * (2**24 // 11) if entry.endswith("sheet1.xml") else b""
            book.writestr(entry, text.replace(b"<sheetData>", b"<sheetData>" + rows))
    content, at = bytearray(path.read_bytes()), 0
    while (at := content.find(b"PK\x01\x02", at)) >= 0:  # an entry of the directory, and its own header
        if int.from_bytes(content[at + 24 : at + 28], "little") > 2**20:
            own = int.from_bytes(content[at + 42 : at + 46], "little")
            for place in (at + 24, own + 22):
                content[place : place + 4] = (1000).to_bytes(4, "little")
        at += 4
    path.write_bytes(content)


def test_a_workbook_with_a_false_size_is_refused(tmp_path: Path) -> None:
    lying_bomb(tmp_path / "lie.xlsx")
    with pytest.raises(TableError, match=r"lie\.xlsx: .*Bad CRC-32 .*sheet1\.xml"):
        read_rows(tmp_path / "lie.xlsx")


def test_a_parquet_file_of_too_many_cells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MOST_CELLS", 2**20)
    pl.select(pl.repeat("x" * 100, 2**20).alias("a"), b=1).write_parquet(tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 2**16
    with pytest.raises(
        TableError, match=r"bomb\.parquet: it has 1,048,576 rows and 2,097,152 cells: split it"
    ):
        read_rows(tmp_path / "bomb.parquet")


def test_other_encodings_and_missing_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.csv").write_bytes("a\nété\n".encode("latin-1"))
    missing = "cannot be read .*: check the path"
    latin = "line 2: it is not UTF-8 .*: save it in UTF-8"
    refusals = {"latin.csv, ": latin, "none.json: ": missing, "none.parquet: ": missing}
    for name, refusal in refusals.items():
        with pytest.raises(TableError, match=f"{name}{refusal}"):
            read_rows(tmp_path / name.rstrip(", :"))


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[str]:
    """The part of huggingface.co that a dataset needs: one commit with a README and one Parquet file."""
    parquet = written(tmp_path, ".parquet").read_bytes()
    names = ["README.md", "default/train/0000.parquet"]
    facts = {"type": "file", "size": len(parquet), "oid": COMMIT}
    listing = {"id": DATASET, "sha": COMMIT, "siblings": [{"rfilename": name} for name in names]}
    api = rf"/api/datasets/{DATASET}/\w+/(refs%2Fconvert%2Fparquet|{COMMIT})(\?.*)?"

    def answer(request: Request) -> Answer:
        if re.fullmatch(api, request.path):
            return Answer([facts | {"path": name} for name in names] if "/tree/" in request.path else listing)
        if request.path == f"/datasets/{DATASET}/resolve/{COMMIT}/{names[1]}":
            return Answer(parquet, headers={"X-Repo-Commit": COMMIT, "ETag": f'"{COMMIT}"'})
        return Answer(status=404)

    with serving(answer) as server:
        yield server.address


def test_a_dataset_is_read_from_the_hub_and_then_from_its_cache(hub: str, tmp_path: Path) -> None:
    program = (
        "import json; from tasks.data import TableError\n"
        "from tasks.packs.published import read_rows\n"
        "from tasks.data.hub import pinned\n"
        f"recorded = pinned('{DATASET}')\n"
        f"print(json.dumps([recorded, read_rows('{DATASET}'), read_rows(recorded)]))\n"
        "try: read_rows('owner/nothing')\n"
        "except TableError as error: print(error)"
    )

    def run(**settings: str) -> tuple[list[object], str]:
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"HF_HOME": str(tmp_path), "HF_ENDPOINT": hub} | settings,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        rows, message = done.stdout.splitlines()
        return json.loads(rows), message

    rows, message = run()
    assert rows == [f"hf:{DATASET}@{COMMIT}", ROWS, ROWS]
    assert message.startswith("owner/nothing: it cannot be fetched from the Hugging Face hub (")
    assert "download its files" in message
    assert run(HF_HUB_OFFLINE="1", HF_ENDPOINT="http://127.0.0.1:9")[0] == rows


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_a_file_beyond_the_size_limit_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"results.{ending}"
    with path.open("wb") as file:
        file.truncate(text.MOST_BYTES + 1)  # a sparse file
    with pytest.raises(TableError, match="larger than"):
        read_rows(path)


class Line(PublishedRow):
    """A row."""

    line: Text


def lay(folder: Path) -> list[Path]:
    """Write junk of every kind, and one file of rows among it."""
    contents = {
        "a.json": b"",
        "b.json": b"\xff\xfe\x00junk",
        "c.csv": b"x,y\n1\n",
        "d.parquet": b"PAR1",
        "e.json": b'{"line": "an object"}',
        "f.csv": b"line\nhello\n",
        "g.xlsx": b"PK",
        "h.jsonl": b"{",
        "i.csv": b"other\nwords\n",
    }
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    large = folder / "j.json"
    large.touch()
    os.truncate(large, text.MOST_BYTES + 1)
    return [*(folder / name for name in contents), large]


def test_files_of_other_content_are_skipped_with_one_note_each(tmp_path: Path) -> None:
    rows, notes = read_all(lay(tmp_path), Line)
    assert [row.line for row in rows] == ["hello"]
    assert [note.split()[0] for note in notes] == [p.name for p in lay(tmp_path) if p.name != "f.csv"]
    assert all(" is skipped: " in note and "\n" not in note for note in notes)
    assert not [note for note in notes if str(tmp_path) in note], "a note has the name of the file only"


def test_folder_with_only_files_of_other_content_is_an_error(tmp_path: Path) -> None:
    junk = [path for path in lay(tmp_path) if path.name != "f.csv"]
    with pytest.raises(TableError, match=r"a\.json"):
        read_all(junk, Line)
