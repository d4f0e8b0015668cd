"""Small files that unpack to any amount are refused before they are unpacked; long ones are streamed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.data import TableError, parquet, rows, table, text, xlsx
from tasks.data.errors import reading
from tests.data.workbooks import write_xlsx


def replaced(path: Path, part: str, old: str, new: str, more: dict[str, str] | None = None) -> Path:
    """Write a workbook of one cell again with a part of it replaced."""
    write_xlsx(path, [["a", "b"], ["1", "2"]])
    with ZipFile(path) as book:
        parts = {name: book.read(name).decode() for name in book.namelist()}
    with ZipFile(path, "w", ZIP_DEFLATED) as book:
        for name, content in (parts | (more or {})).items():
            assert part not in name or old in content
            book.writestr(name, content.replace(old, new) if part in name else content)
    return path


@pytest.mark.parametrize("place", ['r="XFD1048576"', 'r="A1048576"', "r='ZZ400000'"])
def test_a_cell_in_the_last_corner_of_a_sheet_is_refused(place: str, tmp_path: Path) -> None:
    """Readers make room for every cell up to it."""
    cell = f"<row><c {place}><v>1</v></c></row></sheetData>"
    path = replaced(tmp_path / "t.xlsx", "sheet1", "</sheetData>", cell)
    if "A1048576" in place:
        pytest.MonkeyPatch().setattr(xlsx, "MOST_CELLS", 2_000_000)
    with pytest.raises(TableError, match="cells up to its last row and column"):
        table(path)


def test_a_text_that_many_cells_share_is_counted_for_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xlsx, "MOST_BYTES", 2**20)
    shared = f"<sst><si><t>{'x' * 2**14}</t></si></sst>"
    used = '<row><c t="s"><v>0</v></c><c/></row>' * 100
    path = replaced(
        tmp_path / "t.xlsx", "sheet1", "</sheetData>", f"{used}</sheetData>", {"xl/sharedStrings.xml": shared}
    )
    assert path.stat().st_size < 2**13
    with pytest.raises(TableError, match="its cells have 1,638,400 characters"):
        table(path)


@pytest.mark.parametrize(
    ("limit", "elements", "words"),
    [("MOST_ROWS", "<row/>", "more than 1,000 rows"), ("MOST_ELEMENTS", "<x/>", "more than 1,000 elements")],
)
def test_empty_rows_and_elements_are_counted(
    limit: str, elements: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their number takes time, be there nothing in them."""
    monkeypatch.setattr(xlsx, limit, 1000)
    path = replaced(tmp_path / "t.xlsx", "sheet1", "</sheetData>", f"{elements * 1001}</sheetData>")
    with pytest.raises(TableError, match=words):
        table(path)


def test_a_sheet_under_another_ending_is_refused(tmp_path: Path) -> None:
    path = replaced(tmp_path / "t.xlsx", "workbook.xml.rels", "sheet1.xml", "sheet1.txt")
    with pytest.raises(TableError, match="is not XML"):
        table(path)


def xml_bomb(path: Path) -> None:
    """Write a workbook with entities that name files, and entities that expand tenfold nine times."""
    write_xlsx(path, [["a"], ["&lol9; &file;"]])
    unfolding = "".join(f'<!ENTITY lol{n} "{f"&lol{n - 1};" * 10}">' for n in range(2, 10))
    head = f'<!DOCTYPE x [<!ENTITY lol1 "lol"><!ENTITY file SYSTEM "file:///etc/passwd">{unfolding}]>'
    with ZipFile(path) as book:
        parts = {entry: book.read(entry).decode() for entry in book.namelist()}
    with ZipFile(path, "w") as book:
        for entry, text in parts.items():
            start, end, rest = text.partition("?>")
            book.writestr(entry, f"{start}{end}{head}{rest}".replace("&amp;", "&"))


def test_entities_of_a_workbook_are_not_expanded(tmp_path: Path) -> None:
    xml_bomb(tmp_path / "entities.xlsx")
    try:
        found: object = table(tmp_path / "entities.xlsx")
    except TableError as refusal:
        found = refusal
    assert len(str(found)) < 1000
    assert "root:" not in str(found)


def test_a_workbook_of_too_many_bytes_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MOST_UNPACKED", 2**25)
    write_xlsx(tmp_path / "bomb.xlsx", [["a"], ["b"]])
    with ZipFile(tmp_path / "bomb.xlsx", "a", ZIP_DEFLATED) as book:
        book.writestr("xl/media/image1.png", bytes(2**26))
    with pytest.raises(TableError, match=r"bomb\.xlsx: .* unpacks to 0\.1 GiB"):
        table(tmp_path / "bomb.xlsx")


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
        table(tmp_path / "lie.xlsx")


def test_a_parquet_file_of_too_many_cells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "MOST_CELLS", 2**20)
    pl.select(pl.repeat("x" * 100, 2**20).alias("a"), b=1).write_parquet(tmp_path / "bomb.parquet")
    assert (tmp_path / "bomb.parquet").stat().st_size < 2**16
    with pytest.raises(
        TableError, match=r"bomb\.parquet: it has 1,048,576 rows and 2,097,152 cells: split it"
    ):
        table(tmp_path / "bomb.parquet")


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
def test_a_file_beyond_the_size_limit_is_refused(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"results.{ending}"
    with path.open("wb") as file:
        file.truncate(text.MOST_BYTES + 1)  # a sparse file
    with pytest.raises(TableError, match="larger than"):
        table(path)


def test_a_text_that_a_parquet_file_repeats_is_in_memory_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    big, n = "x" * 2**16, 3000
    words = pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([big]))
    lists = pa.ListArray.from_arrays(pa.array(range(0, n + 1)), words)
    pq.write_table(pa.table({"a": words, "b": lists, "c": pa.StructArray.from_arrays([words], ["d"])}), path)
    assert path.stat().st_size < 2**16
    first, *_, last = rows(path)
    assert first.cells == last.cells == {"a": big, "b": [big], "c": {"d": big}}
    monkeypatch.setattr(text, "MOST_BYTES", 2**25)
    with pytest.raises(TableError, match="row 171: it has more than 33,554,432 letters: split it"):
        table(path)
    monkeypatch.setattr(parquet, "MOST_BYTES", 2**10)
    for read in (table, lambda path: list(rows(path))):
        with pytest.raises(TableError, match="it unpacks to"):
            read(path)


def forged(path: Path, said: int, claimed: int) -> Path:
    """Write another number into the footer of a Parquet file, in as many bytes."""

    def coded(number: int, length: int = 0) -> bytes:
        parts = []
        number <<= 1
        while number > 127 or len(parts) < length - 1:
            parts.append(number & 127 | 128)
            number >>= 7
        return bytes([*parts, number])

    data = path.read_bytes()
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    old = coded(said)
    assert old in data[footer:]
    path.write_bytes(data[:footer] + data[footer:].replace(old, coded(claimed, len(old))))
    return path


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("what", ["bytes", "values"])
@pytest.mark.parametrize("with_dictionary", [False, True])
def test_a_footer_that_states_less_than_the_pages_hold_is_found(
    version: str, what: str, with_dictionary: bool, tmp_path: Path
) -> None:
    path, n = tmp_path / "t.parquet", 5003
    made = pa.table({"a": [f"{i:03}" + "x" * 5000 for i in range(50)] * 100 + ["y"] * 3})
    pq.write_table(
        made, path, compression="zstd", use_dictionary=with_dictionary, data_page_version=version,
        write_statistics=False, store_schema=False,
    )  # fmt: skip
    assert len(list(rows(path))) == n
    chunk = pq.read_metadata(path).row_group(0).column(0)
    said = {"bytes": chunk.total_uncompressed_size, "values": chunk.num_values}[what]
    forged(path, said, 7)
    for read in (table, lambda path: list(rows(path)), parquet.frame):
        with pytest.raises(TableError, match=r"pages of column 'a' hold more|not a readable Parquet"):
            read(path)


def test_a_column_and_lists_that_are_read_at_once_are_limited_where_rows_are_streamed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": pa.array([[None] * 10_000], pa.list_(pa.int8()))}), path)
    monkeypatch.setattr(parquet, "_MOST_IN_LISTS", 9_000)
    with pytest.raises(TableError, match="lists of one row group have 9,999 values"):
        list(rows(path))
    pq.write_table(pa.table({"a": ["x" * 10_000]}), path, use_dictionary=False)
    monkeypatch.setattr(parquet, "_LARGEST_CHUNK", 9_000)
    with pytest.raises(TableError, match=r"it unpacks to .* in one column of a row group: write smaller"):
        list(rows(path))


def test_nested_parquet_values_are_those_of_polars(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    made = [
        {"s": "x", "l": ["a", None], "o": {"p": [1, 2], "q": "y"}, "n": 1.5, "b": b"z"},
        {"s": None, "l": None, "o": None, "n": float("inf"), "b": None},
        {"s": "x", "l": [], "o": {"p": None, "q": None}, "n": None, "b": b"z"},
    ]
    pl.DataFrame(made).with_columns(t=pl.datetime(2020, 1, 2, time_unit="ns")).write_parquet(path)
    assert [row.cells for row in rows(path)] == pl.read_parquet(path).to_dicts()


def test_a_panic_is_an_error_that_names_the_file() -> None:
    class PanicError(BaseException):
        """Stands for the panics of polars, which are no Exception."""

    with (
        pytest.raises(TableError, match=r"t\.parquet: not a readable Parquet file: it broke: check"),
        reading("t.parquet", "Parquet file"),
    ):
        raise PanicError("it broke\nsomewhere")
    with pytest.raises(KeyboardInterrupt), reading("t.parquet"):
        raise KeyboardInterrupt


@pytest.mark.parametrize("ending", [".csv", ".json", ".jsonl"])
def test_a_table_of_too_many_cells_is_refused_while_it_is_read(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "MOST_CELLS", 1000)
    path = tmp_path / f"t{ending}"
    entry = json.dumps({"a": [[]] * 10})
    path.write_text({
        ".csv": "a,b\n" + "1,\n" * 1000,
        ".json": f"[{', '.join([entry] * 200)}]",
        ".jsonl": f"{entry}\n" * 200,
    }[ending])  # fmt: skip
    with pytest.raises(TableError, match="it has more than 1,000 cells: split it"):
        table(path)
    assert len(list(rows(path))) in (200, 1000)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("line.csv", "a\n" + "," * 5000), ("cells.csv", 'a\n"\n",' + '"\n",' * 2000),
        ("line.jsonl", "[" + " " * 5000),
        ("entry.json", '[{"a": "' + "x" * 5000), ("entry.json", "[" + '{"a":' * 9),
    ],
)  # fmt: skip
def test_an_endless_record_is_refused(
    name: str, content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text, "LARGEST_RECORD", 1000)
    (tmp_path / name).write_text(content)
    with pytest.raises(TableError, match=r"has more than 1,000 characters|not JSON"):
        list(rows(tmp_path / name))


STREAMED = """
import resource, sys
from pathlib import Path
from tasks.data import rows
next(rows(Path(sys.argv[2])))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
n = sum(1 for _ in rows(Path(sys.argv[1])))
print(n, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.parametrize("ending", [".csv", ".json", ".jsonl", ".parquet"])
def test_rows_are_streamed_with_flat_memory(ending: str, tmp_path: Path) -> None:
    """40 MB of rows, read by a process of its own, which needs less than 25 MB for them."""
    path, small = tmp_path / f"t{ending}", tmp_path / f"small{ending}"
    n, text = 40_000, "x" * 1000
    for file, count in ((path, n), (small, 2)):
        match ending:
            case ".csv":
                file.write_text("a,b\n" + f"1,{text}\n" * count)
            case ".json":
                file.write_text("[" + ",\n".join([json.dumps({"a": 1, "b": text})] * count) + "]")
            case ".jsonl":
                file.write_text(f"{json.dumps({'a': 1, 'b': text})}\n" * count)
            case _:
                made = pl.select(a=pl.int_range(count).cast(pl.String) + text)
                made.write_parquet(file, row_group_size=4000, compression="uncompressed")
    done = subprocess.run(
        [sys.executable, "-c", STREAMED, path, small],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
    )  # fmt: skip
    read, megabytes = map(int, done.stdout.split())
    assert read == n
    assert megabytes < 25
