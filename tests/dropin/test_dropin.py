"""An evaluation is a set of new files: an invented one is added to a copy of the project and run.

The files under ``tree/`` are one definition, its items and its rubric. None of them exists in the project, so
no file is edited.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import REPOSITORY
from warehouse import Warehouse

pytestmark = pytest.mark.slow

TREE = Path(__file__).parent / "tree"
TOP = ("deployments", "flows", "tasks", "scrapers", "warehouse")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project with the invented evaluation in it."""
    root = tmp_path_factory.mktemp("copy")
    for top in TOP:
        shutil.copytree(REPOSITORY / top, root / top, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(TREE, root, dirs_exist_ok=True)
    home = root / "home" / "engines"
    home.mkdir(parents=True)
    for name in ("fake-a", "fake-b", "fake-judge"):
        (home / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    return root


def run(copy: Path, *arguments: str, api: str = "") -> subprocess.CompletedProcess[str]:
    """Run a command, or Python code after ``-c``, in the copy and with its modules only."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "CULTUREMETER_", "PYTHON"))}
    own = {"CULTUREMETER_HOME": str(copy / "home"), "PYTHONPATH": str(copy), "PYTHONSAFEPATH": "1"}
    login = "PREFECT_API_AUTH_STRING"
    program = arguments if arguments[0] == "-c" else ("-m", "deployments.cli.app", *arguments)
    return subprocess.run(
        [sys.executable, *program],
        env=kept | own | ({"PREFECT_API_URL": api, login: os.environ[login]} if api else {}),
        cwd=copy,
        capture_output=True,
        text=True,
    )


RUN = ("run", "idioms", "-m", "fake-a", "-m", "fake-b", "--judges", "fake-judge")


def test_invented_evaluation_only_adds_files() -> None:
    new = [path.relative_to(TREE) for path in TREE.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert sorted(path.name for path in new) == ["evaluation.py", "items.csv", "meaning.toml"]
    assert len((TREE / "tasks/evaluations/idioms/evaluation.py").read_text().splitlines()) <= 60
    assert not [path for path in new if (REPOSITORY / path).exists()]


@pytest.mark.heavy
def test_invented_evaluation_goes_from_plan_to_report(copy: Path, prefect_api: str) -> None:
    help_text = run(copy, "run", "idioms", "--help")
    assert "--language" in help_text.stdout, help_text.stderr

    plan = run(copy, *RUN, "--dry-run")
    assert plan.returncode == 0, plan.stderr
    assert "30" in plan.stdout
    assert "fake-judge" in plan.stdout

    done = run(copy, *RUN, api=prefect_api)
    assert done.returncode == 0, done.stderr
    warehouse = Warehouse(copy / "home")
    board = warehouse.query("SELECT * FROM leaderboard_idioms ORDER BY place")
    nulls = {"null:empty", "null:generic", "null:other-answer"}
    assert set(board["model"]) == {"fake-a", "fake-b", *nulls}
    assert set(board["model"].to_list()[2:]) == nulls
    assert board["accuracy"].drop_nulls().is_between(0, 1).all()
    verdicts = warehouse.query("SELECT count(*) AS n FROM verdict WHERE judged = ''")["n"][0]
    assert verdicts == 2 * 30
    answers = warehouse.query("SELECT count(*) AS n FROM item_answer WHERE condition = ''")["n"][0]
    assert answers == 2 * 30
    assert warehouse.query("SELECT count(*) FROM evaluation_item").item() == 30

    again = run(copy, *RUN, api=prefect_api)
    assert "nothing to do" in again.stderr

    shown = run(copy, "leaderboard", "idioms")
    assert "null:generic" in shown.stdout, shown.stderr

    report = run(copy, "report", "idioms")
    assert report.returncode == 0, report.stderr
    (page,) = (copy / "home" / "reports").glob("*/report-idioms.html")
    assert "Does a model know what sayings mean?" in page.read_text()

    logs = run(copy, "export", "inspect", "idioms")
    assert logs.returncode == 0, logs.stderr
    assert len(list((copy / "home" / "inspect" / "idioms").glob("*.eval"))) == 2

    checks = run(copy, "check", "--numbers")
    assert checks.returncode == 0, checks.stdout + checks.stderr


def test_description_in_a_file_overrides_the_recipes(copy: Path) -> None:
    code = """
from collections import defaultdict
from pathlib import Path
door, of = Path("tasks/evaluations/idioms/about.py"), "tasks.evaluations.idioms.evaluation"
text = "ABOUT = replace(EVALUATION.about, title='Other words', profiles={'mine': {'limit': 3}})"
door.write_text(f"from dataclasses import replace\\nfrom {of} import EVALUATION\\n{text}\\n")
from deployments.evaluations import doors, params, profiles
from deployments.show.report import reported
print(doors()["idioms"].title, sorted(profiles("idioms")), "limit" in params("idioms").model_fields)
assert "idioms" in reported()
print(profiles("idioms")["mine"], [*doors()["idioms"].columns(defaultdict(lambda: None))][:2])
door.unlink()
"""
    done = run(copy, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "Other words ['mine'] True",
        "{'limit': 3, 'profile': 'mine'} ['model', 'accuracy [95 %]']",
    ]


@pytest.mark.heavy
def test_invented_evaluation_has_a_form_in_the_prefect_ui(copy: Path, prefect_api: str) -> None:
    code = """
from deployments.serve.served import ServeOptions, deployments
mine = [d for d in deployments(ServeOptions()) if d.flow_name == "idioms"]
fields = mine[0]._parameter_openapi_schema.model_dump()["definitions"]["IdiomsParams"]["properties"]
print(sorted(d.name for d in mine), sorted(fields))
"""
    shown = run(copy, "-c", code, api=prefect_api)
    assert shown.returncode == 0, shown.stderr
    assert shown.stdout.startswith("['idioms'] ")
    assert "'judges', 'language', 'limit'" in shown.stdout
