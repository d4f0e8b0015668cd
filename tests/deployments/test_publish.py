"""A site from a warehouse: its pages, links and data, their description, and what it never contains."""

from __future__ import annotations

import json
import lzma
import tomllib
from hashlib import sha256
from pathlib import Path
from urllib.parse import urldefrag

import polars as pl
import pytest
from bs4 import BeautifulSoup, Tag
from lxml import etree

import deployments.publish
from deployments.publish.data import SiteAbout, write_tables
from deployments.publish.pages import _cells, _matrix, _order, foot
from deployments.publish.rule import published, without_folders
from deployments.publish.site import MARK, publish
from tasks.report.svg import _VARIABLES, _shares
from tests.deployments.a_site import PRIVATE, fill
from tests.deployments.commands import call, refused
from tests.deployments.conftest import ABOUT
from tests.report.pages import HOSTILE
from warehouse import KINDS, Warehouse, WarehouseError

PACKAGE = Path(next(iter(deployments.publish.__path__)))


@pytest.fixture
def site(published_site: Path) -> Path:
    return published_site


def parsed(file: Path) -> BeautifulSoup:
    return BeautifulSoup(file.read_text(encoding="utf-8"), "lxml")


def table_of(page: BeautifulSoup, caption: str) -> list[list[str]]:
    """Return the texts of a table's cells, row by row."""
    (table,) = (t for t in page.select("table") if t.caption and t.caption.text.split(",")[0] == caption)
    return [[cell.get_text(" ", strip=True) for cell in row.select("th, td")] for row in table.select("tr")]


def test_every_link_has_a_target_and_no_page_loads_from_another_host(site: Path) -> None:
    pages = {file.name: parsed(file) for file in site.glob("*.html")}
    assert pages.keys() == {
        "index.html", "leaderboards.html", "leaderboard-worldwise.html", "leaderboard-spectral.html",
        "history.html", "report.html", "report-worldwise.html", "figures.html", "data.html", "query.html",
    }  # fmt: skip
    n_links = 0
    for name, page in pages.items():
        assert not page.select("link, iframe, base"), name
        for element in page.select("[href], [src]"):
            target = str(element.get("href") or element.get("src"))
            if target.startswith("data:") or (element.name == "a" and target.startswith("https://")):
                continue  # content of the page itself, or a link that a reader must click
            path, fragment = urldefrag(target)
            assert not path.startswith(("/", "http")), f"{name}: {target}"
            assert (site / (path or name)).is_file(), f"{name}: {target}"
            if fragment and not fragment.startswith("sql="):
                assert pages[path or name].find(id=fragment), f"{name}: {target}"
            n_links += 1
    assert n_links > 100


def test_leaderboards_show_intervals_nulls_and_unscored_counts(site: Path) -> None:
    board = parsed(site / "leaderboard-worldwise.html")
    head, good, lost, *nulls = table_of(board, "Headline numbers of worldwise")
    assert head[1:] == ["Alignment over the best null model", "Alignment"]  # the gain is read first
    assert good == ["good", "0.400 0.250 to 0.550 null 0.000 n 90", "7.300 7.100 to 7.500 null 6.900 n 90"]
    assert lost == [HOSTILE, "– null 0.000 n 0, 90 unscored", "– null 6.900 n 0, 90 unscored"]
    assert [row[0] for row in nulls] == ["null:zero", "null:scenario-text"]
    assert len(board.select("tr.null")) == 4  # in both tables
    history = table_of(parsed(site / "history.html"), "History of spectral")
    assert [row[1].split(" 20")[0] for row in history[1:]] == ["2026-w48", "first"]
    assert history[1][2].startswith("0.750")


def test_headlines_have_the_order_of_the_catalogue(filled: Warehouse) -> None:
    order = _order(filled, "spectral")
    assert order["macro_f1"] < order["rank_spearman"] < order["reference_mass"]
    row = {"model": "m", "is_null": False, "value": 1.0}
    rows = pl.DataFrame([row | {"metric": name, "label": name} for name in ("reference_mass", "macro_f1")])
    shown = _matrix(rows, ["model"], order)
    assert list(shown["columns"]) == ["macro_f1", "reference_mass"]
    assert [line["cells"].keys() for line in shown["lines"]] == [{"reference_mass", "macro_f1"}]


def test_board_cells_group_rows_and_keep_intervals_on_one_line() -> None:
    board = pl.DataFrame(
        {"task": ["a", "a", "b"], "model": ["m-1", "null:x", "m-1"], "gain": ["-0.5 [-1.0, 0.1]", "–", "2"]}
    )
    cells = _cells(board, [False, True, False])
    assert (cells["head"], cells["is_text"]) == (1, [True, True, False])
    assert [is_first for _, is_first, _ in cells["rows"]] == [False, False, True]
    assert cells["rows"][0][2] == ["a", "m-1", "−0.5 [−1.0,\N{NO-BREAK SPACE}0.1]"]


def test_every_page_names_publisher_and_licence(site: Path) -> None:
    for file in site.glob("*.html"):
        (footer,) = parsed(file).select("footer")
        assert all(text in footer.text for text in ("Our models", "Our lab", "CC-BY-4.0")), file
        assert footer.select_one("a[href='data.html#cite']"), file
    assert "not stated" in foot(SiteAbout("Culturemeter"))


def test_data_files_equal_the_warehouse_and_every_column_is_described(site: Path, filled: Warehouse) -> None:
    page = parsed(site / "data.html")
    names = sorted(file.stem for file in (site / "data").iterdir())
    assert {"metric_value", "model_scores", "leaderboard_history", "published_result"} < set(names)
    assert names == [row[0] for row in table_of(page, "Tables")[1:]]
    for name in names:
        frame = pl.read_parquet(site / "data" / f"{name}.parquet")
        stored = filled.query(f'FROM "{name}" ORDER BY ALL').drop("template", strict=False)
        assert (frame.columns, frame.rows()) == (stored.columns, stored.rows()), name
        columns = table_of(page, f"Columns of {name}")[1:]
        assert [row[0] for row in columns] == frame.columns
        assert all(row[2] != "–" for row in columns), name


def test_croissant_is_valid_and_describes_every_file(site: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=str(site / "croissant.json"))
    issues = dataset.metadata.ctx.issues
    assert (issues.errors, issues.warnings) == (set(), set())
    files = {file.id: file.sha256 for file in dataset.metadata.distribution}
    assert files == {
        f"data/{file.name}": sha256(file.read_bytes()).hexdigest() for file in (site / "data").iterdir()
    }
    assert dataset.metadata.cite_as == (
        f"Our lab. {dataset.metadata.date_published:%Y}. Our models. https://example.org/models. Measured "
        "with Culturemeter."
    )
    scores = pl.read_parquet(site / "data" / "model_scores.parquet")
    records = list(dataset.records("model_scores"))
    assert [r["model_scores/value"] for r in records] == scores["value"].to_list()
    assert [r["model_scores/model"].decode() for r in records] == scores["model"].to_list()


def test_personal_texts_and_unlisted_tables_are_never_published(warehouse: Warehouse, tmp_path: Path) -> None:
    fill(warehouse, with_nulls=False)
    with warehouse.write() as connection:
        connection.execute(f"CREATE TABLE notes AS SELECT '{PRIVATE}' AS note")
        connection.execute("CREATE VIEW about_notes AS FROM notes CROSS JOIN metric")
        connection.execute("CREATE VIEW more_about_notes AS SELECT * FROM about_notes")
        connection.execute(
            "CREATE VIEW how_many AS WITH notes AS (FROM metric) SELECT count(*) AS n FROM run"
        )
    people = {"human_answer", "human_exclusion", "human_rating", "annotator", "culturall_review"}
    hidden = people | {"study", "study_item", "scenario", "persona", "culturall_item"}
    hidden |= {"notes", "about_notes", "more_about_notes"}
    numbers, answers = published(warehouse), published(warehouse, include_answers=True)
    assert "how_many" in numbers  # its `notes` is its own WITH clause, not the table
    assert not hidden & {*numbers, *answers}
    assert "spectral_by_domain" in numbers
    assert not {"spectral_question", "question", "pack", "pack_row"} & set(numbers)  # prompts, maybe a user's
    assert not {*KINDS, "culturall_example", "fmlama_errors"} & set(numbers)
    assert {*KINDS} - set(answers) == {"content", "embedding"}
    assert set(numbers) < set(answers)
    tables = write_tables(warehouse, tmp_path, include_answers=True, progress=lambda _: None)
    assert {"item_logprob", "country_neighbour"} <= {table.name for table in tables}
    for file in tmp_path.rglob("*.parquet"):
        assert PRIVATE not in pl.read_parquet(file).write_json(), file


@pytest.mark.heavy
def test_personal_texts_are_on_no_page(warehouse: Warehouse, tmp_path: Path) -> None:
    fill(warehouse, with_nulls=False)
    publish(warehouse, tmp_path / "site", SiteAbout("x"), include_answers=True)
    for file in (tmp_path / "site").rglob("*.*"):
        assert file.suffix == ".parquet" or PRIVATE.encode() not in file.read_bytes(), file


@pytest.mark.heavy
def test_same_warehouse_gives_the_same_site(filled: Warehouse, site: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    publish(filled, again, ABOUT, include_answers=True)
    assert (again / "data" / "item_logprob.parquet").is_file()
    publish(filled, again, ABOUT)
    first, second = (
        {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
        for folder in (site, again)
    )
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert again.stat().st_mode & 0o755 == 0o755  # a server that runs as somebody else may read it


def test_figures_are_svg_pdf_and_csv_in_the_light_scheme(site: Path) -> None:
    drawn = sorted((site / "figures").rglob("*.svg"))
    assert {file.parent.name for file in drawn} == {"history", "spectral", "worldwise"}
    stand_ins = [b" ".join(_shares(colour, 10)) for colour in _VARIABLES]
    for file in drawn:
        root = etree.fromstring(file.read_bytes())
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert "var(--" not in file.read_text()
        pdf = file.with_suffix(".pdf").read_bytes()
        assert pdf.startswith(b"%PDF")
        colours = b" ".join(pdf.split())
        assert not [colour for colour in stand_ins if colour in colours], file
        start = int(pdf.rsplit(b"startxref", 1)[1].split()[0])
        assert pdf[start : start + 4] == b"xref"  # replacing colours has moved nothing
        assert "," in file.with_suffix(".csv").read_text().splitlines()[0]


def test_secret_of_this_process_stops_publishing(
    filled: Warehouse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_API_KEY", "Category macro-F1")
    with pytest.raises(WarehouseError, match="LAB_API_KEY is in"):
        publish(filled, tmp_path / "site", ABOUT)
    assert list(tmp_path.iterdir()) == []


def test_only_a_published_site_is_replaced_and_only_as_a_whole(
    filled: Warehouse, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(WarehouseError, match=r"not a site of culturemeter and is not overwritten"):
        publish(filled, mine, ABOUT)
    with pytest.raises(WarehouseError, match=r"thesis\.txt is a file"):
        publish(filled, mine / "thesis.txt", ABOUT)
    assert [file.name for file in tmp_path.rglob("*")] == ["mine", "thesis.txt"]
    before = {file: file.read_bytes() for file in site.rglob("*") if file.is_file()}
    (site / "CNAME").write_text("example.org")
    with pytest.raises(WarehouseError, match=r"also holds CNAME, which publishing would delete"):
        publish(filled, site, ABOUT)
    (site / "CNAME").unlink()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("deployments.publish.site.write_tables", full)
    with pytest.raises(WarehouseError, match="no room to write"):
        publish(filled, site, ABOUT)
    assert {file: file.read_bytes() for file in site.rglob("*") if file.is_file()} == before
    assert [file.name for file in site.parent.iterdir()] == [site.name]


@pytest.mark.heavy
def test_publish_prints_the_folder_or_the_run_to_start(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "culturemeter run all --profile smoke" in refused("publish", "site")
    assert not Path("site").exists()
    fill(warehouse, with_nulls=False)
    monkeypatch.setattr("deployments.publish.site._drawn", lambda *_: ({"index.html": ""}, {}))
    done = call("publish", "site")
    assert done.stdout.strip() == str(Path("site").absolute())
    assert "3 pages" in done.stderr  # including the data and SQL pages
    assert "no licence" in done.stderr
    assert (Path("site") / MARK).is_file()


def test_shipped_programs_have_the_hashes_of_engine_toml() -> None:
    listed = tomllib.loads((PACKAGE / "engine" / "engine.toml").read_text())
    packed = {file.stem: lzma.decompress(file.read_bytes()) for file in (PACKAGE / "engine").glob("*.xz")}
    hashes = {name: sha256(content).hexdigest() for name, content in packed.items()}
    assert hashes == {name: each["sha256"] for name, each in listed.items()}
    licences = (PACKAGE / "engine" / "LICENCES.txt").read_text()
    for part in ("DuckDB-WASM 1.32.0", "parquet-wasm 0.8.0", "17.0.0", "24.12.23", "2.9.1"):
        assert part in licences


def test_tags_in_a_model_name_are_escaped(site: Path) -> None:
    for name in ("leaderboard-worldwise.html", "history.html"):
        assert HOSTILE in parsed(site / name).get_text()
        assert not [tag for tag in parsed(site / name).select("script, img") if isinstance(tag, Tag)]


@pytest.mark.parametrize("path", ["/home/ada/blend", "~/blend", "C:\\Users\\ada\\blend", "/home/ada/blend/"])
def test_folders_of_a_users_files_are_not_published(path: str) -> None:
    options = {"data": path, "judges": [path], "pack": ["mine@1"], "seed": 0, "share": 0.5, "limit": None}
    published_options = json.loads(without_folders(json.dumps(options)))
    assert published_options == options | {"data": "blend", "judges": ["blend"]}
    assert json.loads(without_folders('{"data": "hf:ada/blend@1a2b"}')) == {"data": "hf:ada/blend@1a2b"}
