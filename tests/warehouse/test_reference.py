"""Reference files: loaded and refused rows, and successive versions of item lists."""

import hashlib
import shutil
from pathlib import Path

import pytest

import warehouse.reference as reference_module
from warehouse import ReferenceItem, Warehouse, WarehouseError, list_hash, replace_item_list
from warehouse.storage import content_hash

CURRENT = "SELECT item FROM current_item WHERE item_list = ? ORDER BY position"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the reference folder that the loader reads instead."""
    copy = tmp_path / "reference"
    shutil.copytree(reference_module._FOLDER, copy, ignore=shutil.ignore_patterns("build"))
    monkeypatch.setattr(reference_module, "_FOLDER", copy)
    return copy


def test_reference_tables_have_their_counts_of_rows(warehouse: Warehouse) -> None:
    lists = warehouse.query("SELECT item_list, n_items FROM item_list WHERE is_current ORDER BY 1")
    names = "currencies dishes holidays house_numbers languages religions"
    assert lists["item_list"].to_list() == names.split()
    for table, rows in {"country": 170, "domain": 9, "question": 27, "template": 60}.items():
        assert warehouse.query(f"SELECT count(*) FROM {table}").item() == rows, table


def test_cells_are_split_into_lists_and_empty_cells_are_empty_lists(warehouse: Warehouse) -> None:
    row = warehouse.query("SELECT * FROM current_item WHERE item = '''Nduja'").row(0, named=True)
    assert row["ingredients"] == ["pork", "chili pepper", "pork fat"]
    assert row["code"] is None
    religion = warehouse.query("SELECT aliases FROM current_item WHERE item = 'Buddhism'")
    assert "Mahayana Buddhism" in religion.item()
    number = warehouse.query("SELECT * FROM current_item WHERE item_list = 'house_numbers' AND item = '1'")
    assert number.row(0, named=True)["countries"] == []
    assert warehouse.query("SELECT name FROM country WHERE country = 'NA'").item() == "Namibia"


def test_the_hash_of_a_list_does_not_depend_on_order() -> None:
    assert list_hash(["b", "a"]) == hashlib.sha256(b"a\nb").hexdigest()[:16]


def test_the_hash_of_files_depends_on_names_contents_and_order(tmp_path: Path) -> None:
    one, other, third = (tmp_path / name for name in ("a.csv", "b.csv", "c.csv"))
    for file, text in ((one, "x"), (other, "x"), (third, "y")):
        file.write_text(text)
    hashes = {content_hash(files) for files in ([one], [other], [third], [one, third], [third, one], [])}
    assert len(hashes) == 6


def test_changed_file_makes_a_new_version_and_keeps_the_old(warehouse: Warehouse, files: Path) -> None:
    old = warehouse.query(CURRENT, ["religions"])["item"].to_list()
    with (files / "item_list" / "religions.csv").open("a") as file:
        file.write("Pastafarianism,,NZ\n")
    Warehouse.open(warehouse.home)
    assert warehouse.query(CURRENT, ["religions"])["item"].to_list() == [*old, "Pastafarianism"]
    versions = warehouse.query("SELECT is_current FROM item_list WHERE item_list = 'religions' ORDER BY 1")
    assert versions["is_current"].to_list() == [False, True]


def test_corrected_countries_keep_the_hash(warehouse: Warehouse, files: Path) -> None:
    text = (files / "item_list" / "languages.csv").read_text()
    (files / "item_list" / "languages.csv").write_text(
        text.replace("Afrikaans,,NA|ZA,af", "Afrikaans,,ZA,af")
    )
    Warehouse.open(warehouse.home)
    corrected = warehouse.query("SELECT countries FROM item WHERE item = 'Afrikaans'")
    assert corrected["countries"].to_list() == [["ZA"]]


def test_further_files_add_rows_and_their_removal_takes_them_out(warehouse: Warehouse, files: Path) -> None:
    header = (files / "persona.csv").read_text().splitlines()[0]
    (files / "persona").mkdir()
    (files / "persona" / "invented.csv").write_text(f"{header}\nxx,You are of {{country}}.\n")
    (files / "item_list" / "colours.csv").write_text("item,aliases,countries\nred,,\nblue,,FR\n")
    before = warehouse.query("SELECT language FROM persona")["language"].to_list()
    Warehouse.open(warehouse.home)
    assert warehouse.query("SELECT language FROM persona")["language"].to_list() == [*before, "xx"]
    assert warehouse.query(CURRENT, ["colours"])["item"].to_list() == ["red", "blue"]
    source = warehouse.query("SELECT source FROM item_list WHERE item_list = 'colours'")
    assert source.item() == "item_list/colours.csv"
    (files / "persona" / "invented.csv").unlink()
    Warehouse.open(warehouse.home)
    assert warehouse.query("SELECT language FROM persona")["language"].to_list() == before


def test_a_key_in_two_files_is_refused_with_both_places(warehouse: Warehouse, files: Path) -> None:
    header, first = (files / "metric" / "cure.csv").read_text().splitlines()[:2]
    (files / "metric" / "zz.csv").write_text(f"{header}\n{first}\n")
    with pytest.raises(WarehouseError, match=r"zz\.csv, line 2, column .*cure\.csv, line 2 already"):
        Warehouse.open(warehouse.home)


def test_a_file_without_a_table_is_refused(warehouse: Warehouse, files: Path) -> None:
    (files / "proverb.csv").write_text("proverb\nx\n")
    with pytest.raises(WarehouseError, match=r"proverb\.csv: unknown table 'proverb'.*warehouse/schema"):
        Warehouse.open(warehouse.home)


def test_every_reference_file_has_a_source(warehouse: Warehouse) -> None:
    folder = reference_module._FOLDER
    paths = {file.relative_to(folder).as_posix() for file in folder.rglob("*.csv")}
    described = {path for path in paths if not path.startswith(("build/", "metric", "source"))}
    assert set(warehouse.query("SELECT file FROM source")["file"]) == described
    assert warehouse.query("FROM source WHERE notes IS NULL").is_empty()


def test_each_evaluation_has_one_to_six_headlines(warehouse: Warehouse) -> None:
    headlines = warehouse.query("SELECT evaluation, metric FROM metric WHERE is_headline").rows()
    assert ("spectral", "macro_f1") in headlines
    evaluations = warehouse.query("SELECT DISTINCT evaluation FROM metric")["evaluation"].to_list()
    for evaluation in evaluations:
        assert 1 <= sum(of == evaluation for of, _ in headlines) <= 6, evaluation


def test_scraped_list_stays_current_when_other_files_change(warehouse: Warehouse, files: Path) -> None:
    identity = replace_item_list(
        warehouse, "religions", [ReferenceItem("A", ("a",), ("FR",)), ReferenceItem("B")], "scraper"
    )
    with (files / "item_list" / "languages.csv").open("a") as file:
        file.write("Esperanto,,,eo\n")
    Warehouse.open(warehouse.home)
    assert identity == list_hash(["A", "B"])
    assert warehouse.query(CURRENT, ["religions"])["item"].to_list() == ["A", "B"]
    assert "Esperanto" in warehouse.query(CURRENT, ["languages"])["item"]


@pytest.mark.heavy
def test_going_back_to_an_old_list_makes_it_current_again(warehouse: Warehouse) -> None:
    first = replace_item_list(warehouse, "religions", [ReferenceItem("A")], "scraper")
    replace_item_list(warehouse, "religions", [ReferenceItem("B")], "scraper")
    assert replace_item_list(warehouse, "religions", [ReferenceItem("A")], "scraper") == first
    assert warehouse.query(CURRENT, ["religions"])["item"].to_list() == ["A"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "refused to replace.*by an empty one"),
        ([ReferenceItem("A"), ReferenceItem("")], "row 1, column item: '' is empty"),
        ([ReferenceItem(" A")], "has spaces around it"),
        ([*map(ReferenceItem, "ABA")], "row 2, column item: 'A' repeats .*row 0"),
        ([ReferenceItem("A", countries=("FR", "XX"))], r"row 0, column countries: unknown country 'XX'"),
    ],
)
def test_wrong_scraped_lists_are_refused_and_change_nothing(
    warehouse: Warehouse, rows: list[ReferenceItem], message: str
) -> None:
    before = warehouse.path.read_bytes()
    with pytest.raises(WarehouseError, match=message):
        replace_item_list(warehouse, "religions", rows, "scraper")
    assert warehouse.path.read_bytes() == before


WRONG_CELLS = {
    "country.csv": [
        (1, "country,name", r"country\.csv, line 1: columns are .*expected"),
        (3, "AF,AFG,Afghanistan,Asia,,1", r"country\.csv, line 3, column subregion: .*empty"),
        (3, "AF,AFG,Afghanistan,Asia,South,many", "line 3, column population: 'many' is not"),
        (3, "AE,AFG,Afghanistan,Asia,South,1", r"line 3, column country: .*country\.csv, line 2 already"),
        (3, "AF,AFG", r"country\.csv, line 3: 2 cells for 6 columns"),
        (3, 'AF,AFG,"Afghanistan,Asia,South,1', r"country\.csv, line \d+: not a CSV file"),
    ],
    "metric/spectral.csv": [
        (2, "spectral,m,M,false,u,0,1,up,d,none,never,s", r"spectral\.csv does not fit the table metric"),
        (2, "spectral,m,M,yes,u,0,1,higher,d,none,never,s", r"line 2, column is_headline: 'yes' is not true"),
    ],
    "item_list/languages.csv": [
        (1, "item,countries", r"languages\.csv, line 1: columns are"),
        (2, "Afar,,DJ|QQ,aa", r"languages\.csv, line 2, column countries: unknown country 'QQ' of 'Afar'"),
        (3, "Abkhazian,,GE,ab", r"line 3, column item: 'Abkhazian' repeats .*languages\.csv, line 2"),
    ],
}


@pytest.mark.parametrize(
    ("file", "case"), [(file, case) for file, cases in WRONG_CELLS.items() for case in cases]
)
def test_a_wrong_cell_is_refused_with_file_line_and_column(
    warehouse: Warehouse, files: Path, file: str, case: tuple[int, str, str]
) -> None:
    number, text, message = case
    lines = (files / file).read_text().splitlines()
    lines[number - 1] = text
    (files / file).write_text("\n".join(lines) + "\n")
    with pytest.raises(WarehouseError, match=message):
        Warehouse.open(warehouse.home)
