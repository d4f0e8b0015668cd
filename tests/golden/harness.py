"""Homes for the golden and contract tests, runs of evaluations' nets, and their rows as text.

A *net* is a small, complete run of one evaluation on deterministic engines. ``nets/<evaluation>.py`` holds
it as ``NET``; nothing else is needed for an evaluation to be tested here.

``python -m tests.golden.harness EVALUATION [JSON]`` runs a net on $CULTUREMETER_HOME, with further params as
JSON: the process that a test kills.
"""

from __future__ import annotations

import csv
import importlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import polars as pl
import pytest

from deployments.evaluations import evaluation as definition
from deployments.packs.folders import write_recipe
from flows.evaluation import flow_of
from tests.conftest import REPOSITORY, environment
from warehouse import Warehouse, run_checks
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.store import store_at

FOLDER = Path(__file__).parent
EVALUATIONS = sorted(path.stem for path in (FOLDER / "nets").glob("*.py"))

FAKES = ("fake-a", "fake-b", "fake-j", "fake-x")
"""Two candidates, a judge, and one that some tests break."""
SERVED = "served-m"
"""A candidate behind HTTP; see ``served.py``."""

COLUMNS = (
    "model", "metric", "slice_kind", "slice", "value", "unscored_reason", "n_scored", "n_unscored",
    "ci_low", "ci_high", "null_value",
)  # fmt: skip
ROWS = f"SELECT {', '.join(COLUMNS)} FROM metric_value JOIN run USING (run_id, model) WHERE evaluation = ?"
NOT_COMPARED = re.compile(r"(^|_)(hash|run_id|finished_at)$")
"""Columns of a leaderboard that identify a run, which are not compared."""
HASH = re.compile(r"\b[0-9a-f]{16,64}\b")

Row = dict[str, str]
Rows = list[Row]


def nothing(home: Path, files: Path) -> None:
    """Prepare a net without files or tables of its own."""


def recipe_pack(name: str, recipe: str) -> Callable[[Path, Path], None]:
    """Return a function that prepares the example of a recipe as a pack of the home."""
    return lambda home, files: write_recipe(home / "packs" / name, recipe)


def write_csv(path: Path, rows: Sequence[Mapping[str, object]], end: str = "\r\n") -> None:
    """Write rows with a header."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator=end)
        writer.writeheader()
        writer.writerows(rows)


@dataclass(frozen=True)
class Net:
    """One evaluation's small run.

    Attributes:
        params: fields of the evaluation's Params; "{files}" in a text stands for the folder of its files.
        other: fields that change how the work is divided but no number, such as the size of a batch.
        keys: kind of part -> its columns that identify a request. Two stored rows with the same key mean
            that something was requested twice.
        prepare: given a new home and the folder of files, makes the tables and files that the params name.
        kills: (kind, model): a run is killed once it has written a part of this kind by this model ("": any).
        judged: matches "metric slice_kind slice" of the rows that need the judge; None: no judge.
        compared: matches the rows that depend on the cohort's models; None: no rows do.
        budget: ``max_total_tokens`` that stops a second model midway; None: nothing is generated.
    """

    params: Mapping[str, Any]
    other: Mapping[str, Any]
    keys: Mapping[str, tuple[str, ...]]
    kills: tuple[tuple[str, str], ...]
    prepare: Callable[[Path, Path], None] = nothing
    judged: str | None = None
    compared: str | None = None
    budget: int | None = None

    @property
    def models(self) -> list[str]:
        """The candidates."""
        return list(self.params["models"])


def net(evaluation: str) -> Net:
    """Return the net of an evaluation."""
    return cast(Net, importlib.import_module(f"tests.golden.nets.{evaluation}").NET)


def write_engine(home: Path, name: str, **options: Any) -> None:
    """Make ``name`` a fake model of this home. ``delay=-1`` breaks it: the engine refuses to load."""
    text = ", ".join(f"{key} = {value}" for key, value in options.items())
    (home / "engines").mkdir(exist_ok=True)
    (home / "engines" / f"{name}.toml").write_text(
        f'kind = "fake"\nmodel = "{name}"\noptions = {{ {text} }}\n'
    )


def write_served(home: Path, name: str, url: str) -> None:
    """Make ``name`` a model behind HTTP; its answers do not depend on the address."""
    (home / "engines" / f"{name}.toml").write_text(
        f'name = "{name}"\nkind = "openai"\nmodel = "{name}"\nbase_url = "{url}"\nreasoning = "none"\n'
        "options = { max_retries = 0 }\n"
    )


def new_home(blank: Path, name: str, evaluation: str, url: str) -> Path:
    """Return a home beside ``blank``, with a warehouse, all engines and the files that the net needs."""
    home = blank.parent / name
    shutil.copytree(blank, home)
    for fake in FAKES:
        write_engine(home, fake)
    write_served(home, SERVED, url)
    net(evaluation).prepare(home, files_of(home, evaluation))
    return home


def new_home_of_shared_store(blank: Path, cache: Path, name: str, evaluation: str, url: str) -> Path:
    """Return a home whose warehouse is the environment's shared store, with ``blank``'s reference data."""
    copy(Warehouse(LocalStore(blank)), store_at(cache))
    home = new_home(blank, name, evaluation, url)
    (home / "culturemeter.duckdb").unlink()  # so that nothing can be read from it
    return home


def files_of(home: Path, evaluation: str) -> Path:
    """Return the folder of files that params name: the same for all homes, since some paths are hashed."""
    folder = home.parent / "files" / evaluation
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def run(evaluation: str, home: Path, *, with_prefect: bool = False, **more: Any) -> str:
    """Run the flow on the net's params in this process; returns the config_hash.

    with_prefect: run it as a flow run of this process's Prefect server. Without it the same loop takes a
    third of the time.

    Raises:
        whatever the flow raises.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        flow = flow_of(definition(evaluation))
        params = params_of(evaluation, home, **more)
        return str(flow(params) if with_prefect else flow.fn(params))


def run_and_die(evaluation: str, home: Path, count: str, *of: object) -> None:
    """Run an evaluation in a process that ends, as by kill -9, once a count of its stored work is reached.

    It ends at the same place every time: after a part is written and before it is registered.

    Args:
        count: ``n_parts`` or ``turns_sent``. of: its arguments, and the number at which it dies.
    """
    command = [sys.executable, "-m", "tests.golden.harness", evaluation, count, *map(str, of)]
    done = subprocess.run(
        command, env=environment(home, None), cwd=REPOSITORY, capture_output=True, text=True
    )
    assert done.returncode == -signal.SIGKILL, done.stdout + done.stderr


def _die_at(home: Path, count: Callable[..., int], *of: str) -> None:
    """Make this process kill itself after the part with which the count reaches the last of ``of``."""
    put = LocalStore.put_part

    def put_and_look(self: LocalStore, *arguments: Any, **more: Any) -> None:
        put(self, *arguments, **more)
        if count(home, *of[:-1]) >= int(of[-1]):
            os.kill(os.getpid(), signal.SIGKILL)

    LocalStore.put_part = put_and_look  # type: ignore[method-assign]


def params_of(evaluation: str, home: Path, **more: Any) -> Any:
    """Return the params of an evaluation's net; more: fields that replace them."""
    chosen = dict(net(evaluation).params) | {"profile": "golden"} | more
    return definition(evaluation).params(**_at(files_of(home, evaluation), chosen))


def part_files(home: Path, kinds: Sequence[str]) -> dict[str, int]:
    """Return path under ``parts/`` -> time of writing, for the parts of these kinds."""
    files = (file for kind in kinds for file in (home / "parts" / kind).glob("[!_]*.parquet"))
    return {f"{file.parent.name}/{file.name}": file.stat().st_mtime_ns for file in sorted(files)}


def stored(home: Path, kind: str, columns: Sequence[str]) -> pl.DataFrame:
    """Return columns of all part files of a kind, registered or not."""
    files = (home / "parts" / place for place in part_files(home, [kind]))
    frames = [pl.read_parquet(file, columns=list(columns), glob=False) for file in files]
    return pl.concat(frames) if frames else pl.DataFrame(schema=list(columns))


def n_parts(home: Path, kind: str, model: str) -> int:
    """Return the number of parts of a kind by a model; "": any model."""
    if not model:
        return len(part_files(home, [kind]))
    return stored(home, kind, ["part", "model"]).filter(model=model)["part"].n_unique()


def turns_sent(home: Path) -> int:
    """Return the number of turns in the longest history that was sent; -1 if none was sent."""
    sent = stored(home, "response", ["conversation"])["conversation"].to_list()
    histories = (json.loads(conversation) for conversation in sent)
    talks = [h for h in histories if h[0]["content"].startswith(("You help", "You play"))]
    return max(
        (sum(m["content"] != "(The user has opened the chat.)" for m in h[1:]) for h in talks), default=-1
    )


def metric_rows(home: Path, evaluation: str) -> Rows:
    """Return all metric values of an evaluation, sorted."""
    return _texts(Warehouse.open(home).query(ROWS, [evaluation]))


def leaderboard_rows(home: Path, evaluation: str) -> Rows:
    """Return the leaderboard, sorted."""
    return view_rows(Warehouse.open(home), f"leaderboard_{evaluation}")


def view_rows(warehouse: Warehouse, view: str) -> Rows:
    """Return a view without names of runs and times, sorted; hashes in texts are "#"."""
    table = warehouse.query(f"FROM {view}")
    return _texts(table.drop(name for name in table.columns if NOT_COMPARED.search(name)))


def label(row: Row) -> str:
    """Return the text that identifies a row."""
    return " ".join(row[name] for name in ("metric", "slice_kind", "slice", "model"))


def of_models(rows: Rows, models: Sequence[str]) -> Rows:
    """Return the rows of these models and of null models that are not made from another model's answers."""
    return [row for row in rows if row["model"] in models or re.fullmatch(r"null:[\w-]+", row["model"])]


def differences(recorded: Rows, rows: Rows) -> list[str]:
    """Return one line for each row that differs, at most twenty; numbers may differ by a relative 1e-9.

    A column that only ``rows`` has is not compared; one that they lack is a difference.
    """
    if not recorded or not rows:
        return [] if not recorded and not rows else [f"{len(recorded)} rows before, {len(rows)} now"]
    missing = recorded[0].keys() - rows[0].keys()
    if missing:
        return [f"column {name} is missing" for name in sorted(missing)]
    compared = [{name: row[name] for name in recorded[0]} for row in rows]
    compared.sort(key=_order)
    recorded = sorted(recorded, key=_order)
    lines = [f"- {_described(row)}" for row in _without(recorded, compared)]
    lines += [f"+ {_described(row)}" for row in _without(compared, recorded)]
    if not lines and len(compared) != len(recorded):
        lines = [f"{len(recorded)} rows before, {len(compared)} now"]
    if not lines:
        lines = [
            f"{_described(old)}: {name} was {old[name]!r}, is {new[name]!r}"
            for old, new in zip(recorded, compared, strict=True)
            for name in old
            if not _same(old[name], new[name])
        ]
    return lines[:20] + ([f"and {len(lines) - 20} more"] if len(lines) > 20 else [])


def assert_recorded(home: Path, evaluation: str) -> None:
    """Assert that numbers and leaderboard equal the recorded ones, and the warehouse finds no fault."""
    for table, rows in (("metric_value", metric_rows), ("leaderboard", leaderboard_rows)):
        recorded = read_golden(golden_path(evaluation, table))
        assert set(net(evaluation).models) < {row["model"] for row in recorded}
        assert differences(recorded, rows(home, evaluation)) == []
    checks = run_checks(Warehouse.open(home))
    assert checks.filter(checks["n_violations"] > 0).rows() == []


def golden_path(evaluation: str, table: str) -> Path:
    """Return the file of the recorded rows. table: metric_value or leaderboard."""
    return FOLDER / (f"{evaluation}.csv" if table == "metric_value" else f"{evaluation}_{table}.csv")


def read_golden(path: Path) -> Rows:
    """Return recorded rows."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_golden(path: Path, rows: Rows) -> None:
    """Record rows."""
    write_csv(path, rows, "\n")


def _at(files: Path, value: Any) -> Any:
    """Return a value with the folder of files in every text."""
    if isinstance(value, str):
        return value.replace("{files}", str(files))
    if isinstance(value, Mapping):
        return {key: _at(files, part) for key, part in value.items()}
    return [_at(files, part) for part in value] if isinstance(value, list | tuple) else value


def _texts(table: pl.DataFrame) -> Rows:
    """Return cells as text: numbers in full, NULL as an empty text."""
    rows = [{name: _text(cell) for name, cell in row.items()} for row in table.to_dicts()]
    return sorted(rows, key=_order)


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    return repr(cell) if isinstance(cell, float) else HASH.sub("#", str(cell))


def _number(cell: str) -> float | None:
    """Return a cell that was a float; counts are whole and compared as texts."""
    try:
        return float(cell) if not cell.lstrip("-").isdigit() else None
    except ValueError:
        return None


def _described(row: Row) -> str:
    """Return the cells that identify a row."""
    return " ".join(cell for cell in row.values() if cell and _number(cell) is None)


def _order(row: Row) -> tuple[list[str], list[str]]:
    """Return the key that sorts rows by texts, then by numbers."""
    texts = ["" if _number(cell) is not None else cell for cell in row.values()]
    return texts, list(row.values())


def _same(old: str, new: str) -> bool:
    if old == new:
        return True
    a, b = _number(old), _number(new)
    return a is not None and b is not None and math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)


def _without(rows: Rows, others: Rows) -> Rows:
    """Return the rows whose texts do not occur in the other rows."""
    known = {tuple(_order(other)[0]) for other in others}
    return [row for row in rows if tuple(_order(row)[0]) not in known]


if __name__ == "__main__":
    own, (_, name, *dies) = Path(os.environ["CULTUREMETER_HOME"]), sys.argv
    if dies:
        _die_at(own, globals()[dies[0]], *dies[1:])
    run(name, own)
