"""The cure flow through the command line, a real Prefect server, a real warehouse and scripted models."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import command, environment
from tests.deployments.commands import call, one_line, refused, table
from tests.engines.test_openai import completion
from tests.flows.conftest import Serve
from tests.waiting import until
from warehouse import Warehouse, run_checks

pytestmark = pytest.mark.slow

Cli = Callable[..., "subprocess.CompletedProcess[str]"]
METRICS = {"normad": "coverage", "casa": "connotation", "culturebank": "coherence", "specnorm": "specificity"}
DRAWN = {"normad": 6, "casa": 4, "culturebank": 4, "specnorm": 4}
"""Items that are drawn for four a benchmark: pairs and stories are drawn whole."""
N_ITEMS = sum(DRAWN.values())
N_SAMPLES = 2 * N_ITEMS
STORY = re.compile(r"Story (\d+) ends (yes|no|neutral)\.")
VALIDATED = "SELECT metric, validated FROM leaderboard_cure WHERE NOT is_null"


@pytest.fixture(autouse=True)
def own_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run commands without a flow in this process, on this home, which is faster."""
    monkeypatch.setenv("CULTUREMETER_HOME", str(home))


def published(folder: Path) -> tuple[str, ...]:
    """Return arguments for a NormAd file of 12 stories and two CASA files of one query, in published form."""
    countries, labels = ("india", "japan", "mexico", "kenya"), ("yes", "no", "neutral")
    stories = [f"{n},{countries[n % 4]},Story {n} ends {labels[n % 3]}.,It is norm-{n}.,{labels[n % 3]}"
               for n in range(12)]  # fmt: skip
    normad = folder / "normad.csv"
    normad.write_text("\n".join(["ID,Country,Story,Explanation,Gold Label", *stories]) + "\n")
    row = {"index": "Japan_4", "user_query": "Story 99 ends no.", "violated_norm": "It is norm-99."}
    adhere, violate = folder / "casa_s1_adhere_forum.json", folder / "casa_s1_violate_forum.json"
    adhere.write_text(json.dumps([row | {"refined_user_query": "Story 99 ends yes."}]))
    violate.write_text(json.dumps([row]))
    files = (f"normad={normad}", f"casa={adhere}", f"casa={violate}")
    return ("--benchmarks", "normad,casa", *(part for file in files for part in ("--files", file)))


def knows(request: dict[str, Any]) -> str:
    """Return the answer of a candidate that knows the label and the norm of every story."""
    story = STORY.search(request["messages"][-1]["content"])
    assert story
    label = {"label": story[2]}
    thick = "explanation" in request["response_format"]["json_schema"]["schema"]["properties"]
    return json.dumps(label | ({"explanation": f"Reason: norm-{story[1]}."} if thick else {}))


def marks(request: dict[str, Any]) -> str:
    """Return the verdict of a judge that requires the item's own norm in the explanation."""
    shown = request["messages"][-1]["content"]
    reason = re.search(r"Reason: norm-(\d+)", shown)
    is_right = reason and set(re.findall(r"norm-(\d+)", shown)) == {reason[1]}
    verdict = ("YES", "all elements") if is_right else ("NO", "off topic")
    return json.dumps({"explanation": dict(zip(("verdict", "reason"), verdict, strict=True))})


def rate(path: Path, dimension: str) -> None:
    """Fill in one dimension of the annotators' file for Ana: yes and no in turn."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for n, row in enumerate(row for row in rows if row["dimension"] == dimension):
        row |= {"annotator": "Ana", "rating": ("yes", "no")[n % 2]}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_cure_run_gives_a_leaderboard_and_its_judge_is_validated(culturemeter: Cli, home: Path) -> None:
    smoke = ("run", "cure", "--profile", "smoke", "-m", "fake-a", "--judges", "fake-b",
             "--items-per-benchmark", "4")  # fmt: skip
    planned = one_line(call(*smoke, "--dry-run").stdout)
    assert ", ".join(f"{name} {n}" for name, n in DRAWN.items()) in planned
    assert f"{N_SAMPLES} of {N_SAMPLES}" in planned
    # The judge's: four sources, SpecNorm's in three votes.
    assert f"{4 * (N_ITEMS + 2 * DRAWN['specnorm'])} completions" in planned
    warehouse = Warehouse.open(home)
    assert warehouse.query("SELECT count(*) FROM run").item() == 0

    culturemeter(*smoke)
    board = warehouse.query("SELECT * FROM leaderboard_cure")
    assert set(board["model"]) == {"fake-a", "null:majority", "null:prior"}
    models = board.filter(~board["is_null"])
    assert dict(models.select("benchmark", "metric").rows()) == METRICS
    lacking = {column.name for column in models.drop("finished_at") if column.null_count()}
    # Two items of two countries are too few for these.
    few = {f"{name}_{end}" for name in ("ci", "gain", "thin_em", "thick_em") for end in ("low", "high")}
    assert lacking <= few | {"tells_real_from_shuffled"}
    assert set(models["judge"]) == {"fake-b"}
    nulls = board.filter(model="null:majority")
    assert nulls["thin_em"].to_list() == nulls["majority_em"].to_list()
    modes = warehouse.query("SELECT mode, count(*) AS n FROM cure_answer GROUP BY mode")
    assert dict(modes.rows()) == {"thin": N_ITEMS, "thick": N_ITEMS}
    assert run_checks(warehouse)["n_violations"].sum() == 0

    assert "nothing to do" in call(*smoke).stderr
    # Standard output has data only.
    lines = list(csv.DictReader(io.StringIO(call("leaderboard", "cure", "-f", "csv").stdout)))
    stored = {(r["model"], r["benchmark"]): r["thin_em"] for r in board.to_dicts()}
    rows = table("leaderboard", "cure")
    assert {(r["model"], r["benchmark"]): r["thin_em"] for r in rows} == stored
    assert {(r["model"], r["benchmark"]): float(r["thin_em"]) for r in lines} == pytest.approx(stored)
    assert "null:majority" in call("leaderboard", "cure").stdout
    page = Path(call("report", "cure").stdout.strip())
    assert (page.name, page.parent.parent) == ("report-cure.html", home / "reports")
    assert {"fake-a", "fake-b", "coverage"} <= set(re.findall(r"[\w-]+", page.read_text()))

    assert dict(warehouse.query(VALIDATED).rows()) == dict.fromkeys(METRICS.values(), False)
    audit = home / "audit.csv"
    call("judge", "audit", "--sample", N_ITEMS, "--out", audit)
    rate(audit, "coverage")
    assert "fake-b as validated on coverage" in one_line(call("judge", "validate", audit).stderr)
    wanted = dict.fromkeys(METRICS.values(), False) | {"coverage": True}
    assert dict(warehouse.query(VALIDATED).rows()) == wanted
    rows = table("leaderboard", "cure")
    assert {r["metric"]: r["validated"] for r in rows if not r["is_null"]} == wanted
    assert run_checks(warehouse)["n_violations"].sum() == 0


@pytest.mark.heavy
def test_run_on_published_files_resumes_after_a_kill_during_judging(
    culturemeter: Cli, serve: Serve, home: Path, prefect_api: str
) -> None:
    """14 items in two modes. The judge gets 12 stories with three nulls each, and CASA's violating query,
    which has no other item for a shuffled explanation. Its answers are stored 32 at a time."""
    n_answers, n_calls, batch = 14 * 2, 12 * 4 + 3, 32
    running: list[subprocess.Popen[bytes]] = []

    def reply(n: int, request: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if n == n_answers + batch + 3:
            stored = "SELECT count(*) FROM response WHERE model = 'marker'"
            until(lambda: Warehouse.open(home).query(stored).item() == batch)
            running[0].kill()
        return 200, completion(knows(request) if request["model"] == "knower" else marks(request))

    server = serve(reply, "knower", "marker")
    arguments = ("run", "cure", "-m", "knower", "--judges", "marker", "--items-per-benchmark", "99",
                 *published(home))  # fmt: skip
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running.append(subprocess.Popen(command(*arguments), env=environment(home, prefect_api), **quiet))
    assert running[0].wait() == -9
    warehouse = Warehouse.open(home)
    n_stored = dict(warehouse.query("SELECT model, count(*) FROM response GROUP BY model").rows())
    assert n_stored == {"knower": n_answers, "marker": batch}
    assert warehouse.query("SELECT * FROM leaderboard_cure").is_empty()

    stored = warehouse.query("SELECT model, conversation FROM response").rows()

    culturemeter(*arguments)
    asked = Counter((r["model"], json.dumps(r["messages"], ensure_ascii=False)) for r in server.requests)
    assert len(asked) == n_answers + n_calls
    assert {asked[request] for request in stored} == {1}
    assert max(asked.values()) == 2  # requests in flight when the run was killed
    board = {r["benchmark"]: r for r in warehouse.query(
        "SELECT * FROM leaderboard_cure WHERE NOT is_null").to_dicts()}  # fmt: skip
    normad, casa = board["normad"], board["casa"]
    assert (normad["n_items"], casa["n_items"]) == (12, 2)
    for row in (normad, casa):
        assert (row["thin_em"], row["thick_em"], row["value"], row["null_value"]) == (1, 1, 1, 0)
    # Four stories end each way; of the two queries one is right.
    assert (normad["majority_em"], casa["majority_em"]) == (pytest.approx(1 / 3), 0.5)
    assert (normad["explanation_gain"], normad["gain_low"]) == (1, None)
    assert normad["tells_real_from_shuffled"] is None  # items of four countries are too few to tell
    assert (casa["explanation_gain"], casa["tells_real_from_shuffled"]) == (None, None)
    gain = "SELECT unscored_reason FROM metric_value WHERE metric = 'explanation_gain' AND slice = 'casa'"
    assert warehouse.query(gain).item() == "no other item to take an explanation from"
    countries = warehouse.query("SELECT DISTINCT country FROM cure_answer ORDER BY country")["country"]
    assert countries.to_list() == ["IN", "JP", "KE", "MX"]
    assert run_checks(warehouse)["n_violations"].sum() == 0


def test_wrong_inputs_are_one_error_and_change_nothing(home: Path) -> None:
    published(home)
    other = home / "other.csv"
    other.write_text("land,tale\nindia,A story.\n")
    broken = home / "broken.csv"
    broken.write_text("Country,Story\nindia,A story, unquoted.\n")
    smoke = ("run", "cure", "--profile", "smoke", "-m", "fake-a")
    tables = "SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY ALL"
    before = Warehouse.open(home).query(tables)
    for wrong, message in (
        (("-m", "no-such-model"), "unknown model 'no-such-model'"),
        (("--judges", "no-such-judge"), "unknown model 'no-such-judge'"),
        (("--judges", "fake-b,fake-b"), "fake-b is named twice"),
        (("--profile", "huge"), "smoke, demo, full"),
        (("--benchmarks", "normad,culturbank"), "'normad', 'casa', 'culturebank' or 'specnorm'"),
        (("--modes", "thikc"), "'thin' or 'thick'"),
        (("--files", str(other)), f"--files {other}: write it as"),
        (("--files", f"normda={other}"), "'normad', 'casa', 'culturebank' or 'specnorm'"),
        (("--files", f"normad={home / 'none.csv'}"), f"{home / 'none.csv'}: cannot be read (No such file"),
        (("--files", f"normad={other}"), "expected the columns country, story, explanation, gold_label"),
        (("--files", f"normad={broken}"), f"{broken}, line 2: 3 cells for 2 columns"),
        (
            ("--benchmarks", "casa", "--files", f"normad={other}"),
            "files of normad, which `benchmarks` does not name",
        ),
        (("--files", f"casa={home / 'casa_s1_adhere_forum.json'}"), "no file is of the violate side"),
    ):
        error = refused(*smoke, *wrong)
        assert error.count("error:") == 1, wrong
        assert message in error, wrong
    assert Warehouse.open(home).query(tables).equals(before)
    assert not list(home.glob("parts/*/[!_]*"))
