"""Evaluations from recipes: created, run, shown, exported, published, edited and removed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.testing import Result

from deployments.evaluations import doors, sound
from deployments.packs import recipes
from deployments.publish.pages import boards
from deployments.publish.rule import published
from deployments.serve.served import ServeOptions, deployments
from tests.deployments.commands import call, refused, table
from tests.evaluations.recipe.made import RECIPES, changed, swap
from tests.golden.harness import write_engine
from warehouse import Warehouse

PACKS = {"whence": "choice", "sayings": "judged", "my-tables": "preference", "money": "short_answer"}
ITEMS = {"whence": 12, "sayings": 12, "my_tables": 8, "money": 12}
RAN = ("whence", "sayings")
"""The recipes with a run here; golden nets record a run of each."""


def run_it(name: str, *more: str, code: int = 0) -> Result:
    judge = ("--judges", "fake-j") if name == "sayings" else ()
    line = ("run", name, "-m", "fake-a", "-m", "fake-b", "--no-probe", *judge, *more)
    return call(*line, *(() if "--dry-run" in more else ("--no-server",)), code=code)


@pytest.fixture(scope="module", name="ran")
def _ran(copied_home: Callable[[], Path]) -> Iterator[Path]:
    """A home with a pack of each recipe, two of them with runs of fake models, and three broken packs."""
    home = copied_home()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        for name in ("fake-a", "fake-b", "fake-j"):
            write_engine(home, name)
        for pack, recipe in PACKS.items():
            call("pack", "new", pack, "--recipe", recipe)
        for name in RAN:
            run_it(name)
        broken = home / "packs" / "broken"
        broken.mkdir()
        (broken / "pack.toml").write_text('title = "x"\n')
        (broken / "evaluation.toml").write_text('recipe = "choice"\nby = "vote"\n')
        shutil.copytree(home / "packs" / "whence", home / "packs" / "cure")
        shutil.copytree(broken, home / "packs" / "linked", ignore=shutil.ignore_patterns("evaluation.toml"))
        (home / "packs" / "linked" / "evaluation.toml").symlink_to(broken / "evaluation.toml")
        yield home


@pytest.fixture
def home(ran: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the finished home, for tests that change it."""
    copy = Path(shutil.copytree(ran, tmp_path / "home", ignore=shutil.ignore_patterns("inspect")))
    monkeypatch.setenv("CULTUREMETER_HOME", str(copy))
    return copy


@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("pack", PACKS)
def test_pack_check_shows_two_items_and_the_nulls(pack: str) -> None:
    lines = call("pack", "check", pack).stderr.splitlines()
    assert sum(line.startswith("item ") for line in lines) == 2
    assert lines[-1].startswith("null: ")
    assert f"right {pack}: {recipes.name_of(pack)} ({PACKS[pack]})" in lines[0]


@pytest.mark.usefixtures("ran")
def test_broken_packs_are_reported_and_hide_no_other() -> None:
    checked = call("pack", "check", code=1).stderr
    assert "broken: evaluation.toml, field metric: it is missing" in checked
    assert "broken: evaluation.toml, line 2, field by: " in checked
    assert "linked: evaluation.toml: it is a symbolic link" in checked
    assert "no folder named" not in checked
    assert "cure: cure: 'cure' is already in use" in checked
    listed = {row["pack"]: row["adds"] for row in table("pack", "list")}
    assert "faults" in listed["broken"]
    assert "in use" in listed["cure"]
    assert listed["my-tables"] == "my_tables (preference): 8 items in 8 clusters"
    assert "broken" not in sound()
    assert {"broken", *ITEMS} <= set(doors())
    assert doors()["cure"].judged
    listing = call("run", "--help").stdout
    assert "whence" in listing
    assert "broken" not in listing
    assert "field metric: it is missing" in refused("run", "broken", "-m", "fake-a")
    offered = {d.flow_name for d in deployments(ServeOptions())}
    assert {"whence", "cure", "my_tables"} <= offered
    assert "imported" not in offered, "its runs come from logs"
    call("leaderboard")


@pytest.mark.nets(1)
@pytest.mark.usefixtures("ran")
@pytest.mark.parametrize("name", RAN)
def test_recipe_is_run_once_shown_reported_and_exported(name: str) -> None:
    assert f"{ITEMS[name]} items in " in run_it(name, "--dry-run").stdout
    assert "nothing to do" in run_it(name).stderr
    board = Warehouse.open().query(f"FROM leaderboard_{name} ORDER BY place")
    assert sorted(board.filter(~board["is_null"])["model"]) == ["fake-a", "fake-b"]
    assert board["is_null"].sum() >= 1
    assert board["accuracy"].is_between(0, 1).all()
    assert "fake-a" in call("leaderboard", name).stdout
    call("report", name)
    home = Path(os.environ["CULTUREMETER_HOME"])
    page = next(home.glob(f"reports/*/report-{name}.html")).read_text()
    assert doors()[name].title in page.replace("&#39;", "'")
    call("export", "inspect", name)
    assert len([*(home / "inspect" / name).glob("*.eval")]) == 2


@pytest.mark.usefixtures("ran")
def test_sql_has_every_item_and_every_answer() -> None:
    warehouse = Warehouse.open()
    counts = "SELECT evaluation, count(*) FROM {} GROUP BY ALL"
    assert dict(warehouse.query(counts.format("evaluation_item")).rows()) == {n: ITEMS[n] for n in RAN}
    assert dict(warehouse.query(counts.format("recipe_answer")).rows()) == {n: 2 * ITEMS[n] for n in RAN}
    joined = warehouse.query(
        "SELECT count(*) FROM recipe_answer AS a JOIN run USING (config_hash, model, evaluation) "
        "JOIN evaluation_item AS i ON i.evaluation = a.evaluation AND i.item = a.item "
        "AND i.item_hash = (run.item_lists->>'item')"
    ).item()
    assert joined == 2 * sum(ITEMS[name] for name in RAN)


@pytest.mark.usefixtures("ran")
def test_numbers_are_recomputed_and_models_compared() -> None:
    lines = call("check", "--numbers").stderr.splitlines()
    assert sum(line.startswith("equal ") for line in lines) == len(RAN)
    assert set(RAN) <= {row["evaluation"] for row in table("compare", "fake-a", "fake-b")}


@pytest.mark.usefixtures("ran")
def test_site_has_numbers_and_answers_only_on_request() -> None:
    numbers, with_answers = (set(published(Warehouse.open(), asked)) for asked in (False, True))
    assert {"model_scores", *(f"leaderboard_{name}" for name in RAN)} <= numbers
    answers = {"item_answer", "recipe_answer", "option_score"}
    assert not answers & numbers
    assert answers <= with_answers
    assert "evaluation_item" not in with_answers
    assert set(RAN) <= boards(Warehouse.open()).keys()


def test_edited_pack_requests_only_new_items_and_keeps_old_numbers(home: Path) -> None:
    items = home / "packs" / "whence" / "items.csv"
    items.write_text(items.read_text().replace("Where is the noodle", "Whence is the noodle"))
    assert "8 of 144" in run_it("whence", "--dry-run").stdout
    assert "fake-a" in call("leaderboard", "whence").stdout
    call("export", "inspect", "whence")
    assert "equal whence" in call("check", "--numbers").stderr
    run_it("whence")
    assert Warehouse.open().query("SELECT count(DISTINCT item_hash) FROM evaluation_item").item() == 3


@pytest.mark.heavy
def test_renamed_headline_gets_its_own_column(home: Path) -> None:
    definition = home / "packs" / "whence" / "evaluation.toml"
    # The name is also a keyword of SQL.
    definition.write_text(swap('"accuracy"', '"order"')(definition.read_text()))
    run_it("whence")
    call("check")
    board = Warehouse.open().query('SELECT "order", is_null FROM leaderboard_whence')
    assert board.filter(~board["is_null"])["order"].is_not_null().any()
    call("leaderboard", "whence")
    call("report", "whence")


@pytest.mark.parametrize("how", ["removed", pytest.param("broken", marks=pytest.mark.heavy)])
def test_removed_or_broken_pack_is_one_error_everywhere(home: Path, how: str) -> None:
    folder = home / "packs" / "whence"
    if how == "broken":
        (folder / "evaluation.toml").write_text("recipe = 1")
    else:
        shutil.rmtree(folder)
    wanted = "unknown recipe 1" if how == "broken" else "unknown evaluation 'whence'"
    for line in (("leaderboard", "whence"), ("report", "whence")):
        assert wanted in refused(*line)
    assert "equal whence" in call("check", "--numbers").stderr  # of the stored content
    assert "fake-a" in call("sql", "FROM leaderboard_whence").stdout
    for everything in (("leaderboard",), ("pack", "list"), ("report",)):
        call(*everything)
    assert "whence" not in boards(Warehouse.open())
    call("export", "inspect")
    assert {path.name for path in (home / "inspect").iterdir()} == {*RAN}


def test_reloaded_catalogue_keeps_metrics_of_recipes(home: Path) -> None:
    wanted = "SELECT * FROM metric WHERE evaluation = 'whence' ORDER BY metric"
    before = Warehouse.open().query(wanted)
    assert before.height
    with Warehouse.open().write() as connection:
        connection.execute("UPDATE state SET value = 'older' WHERE name LIKE '%metric%'")
    again = Warehouse(home).query(wanted)
    assert again.equals(before)


@pytest.mark.heavy
def test_published_numbers_of_a_pack_are_shown_beside_measured_ones(home: Path) -> None:
    pack = home / "packs" / "whence"
    definition = (pack / "evaluation.toml").read_text()
    (pack / "published.csv").write_text("source,model,value,difference\nDoe 2026,big,0.9,other prompts\n")
    before = Warehouse.open().query("SELECT max(config_hash) FROM leaderboard_whence").item()
    (pack / "evaluation.toml").write_text(definition.replace("by =", 'published = "published.csv"\nby =', 1))
    run_it("whence", "--again")
    rows = table("leaderboard", "whence", "--published")
    assert {row["source"] for row in rows} == {"measured", "Doe 2026"}
    (printed,) = (row for row in rows if row["source"] == "Doe 2026")
    assert (printed["model"], printed["value"], printed["definition"]) == ("big", 0.9, "near")
    assert Warehouse.open().query("SELECT count(DISTINCT config_hash) FROM leaderboard_whence").item() == 1
    assert Warehouse.open().query("SELECT max(config_hash) FROM leaderboard_whence").item() == before


@pytest.mark.usefixtures("ran")
def test_pack_new_refuses_missing_recipes_and_used_names() -> None:
    assert "--recipe RECIPE" in refused("pack", "new", "x")
    assert "unknown recipe 'quiz'" in refused("pack", "new", "x", "--recipe", "quiz")
    assert "has an evaluation already" in refused("pack", "new", "whence", "--recipe", "choice")
    wrong_names = {"cure": "is already in use", "recipe": "is already in use", "1st": "a letter"}
    for name, complaint in wrong_names.items():
        with pytest.raises(ValueError, match=complaint):
            recipes.check_name(name)
    assert sorted(PACKS.values()) == sorted(RECIPES)
    assert changed("choice", {}).keys() == {"evaluation.toml", "items.csv"}
