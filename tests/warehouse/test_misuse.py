"""``copy`` and ``prune`` misused: onto itself, while others write, killed, on a full disk, through links."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from tests.conftest import REPOSITORY, environment
from tests.warehouse.rows import logprobs, make_run
from warehouse import Warehouse, WarehouseError, finish_run, save_run, write_part
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.prune import prunable, prune
from warehouse.recovery import compact_parts, run_checks, verify_parts

KIND = "item_logprob"
ROWS = f"SELECT * EXCLUDE (part) FROM {KIND} ORDER BY ALL"
N = 40


@pytest.fixture(name="full")
def _full(warehouse: Warehouse) -> Warehouse:
    """A finished run with forty small parts, which ``check`` would put together."""
    parts = [write_part(warehouse.home, KIND, f"p{n}", rows(n)) for n in range(N)]
    with warehouse.write() as connection:
        save_run(connection, make_run("r1"))
        finish_run(connection, "r1")
    warehouse.register(pl.concat(parts))
    return warehouse


def rows(n: int) -> pl.DataFrame:
    return logprobs("FR", f"q{n}").with_columns(run_id=pl.lit("r1"))


def places(home: Path) -> dict[Path, int]:
    """Return every file and its size."""
    return {path: path.stat().st_size for path in home.rglob("*") if path.is_file()}


# --- copy


@pytest.mark.parametrize("where", [".", "sub/folder", "parts", "parts/item_logprob", "..", "link"])
def test_a_copy_onto_itself_changes_nothing(full: Warehouse, where: str) -> None:
    (full.home / "link").symlink_to(full.home)
    before = places(full.home)
    with pytest.raises(WarehouseError, match="name another place"):
        copy(full, LocalStore(full.home / where))
    assert places(full.home) == before


def test_copying_from_or_to_a_wrong_place_is_refused_and_makes_no_folder(
    full: Warehouse, tmp_path: Path
) -> None:
    home = {"CULTUREMETER_HOME": str(full.home)}
    for source, target, message in (
        (tmp_path / "typo", tmp_path / "to", "check --from"),
        (full.home, full.home / "sub", "name another place"),
        (full.home, full.path, "is a file|name another place"),
        (full.home, full.home, "are the same warehouse"),
    ):
        result = CliRunner().invoke(app, ["copy", "--from", str(source), "--to", str(target)], env=home)
        assert result.exit_code == 1
        assert any(each in " ".join(result.stderr.split()) for each in message.split("|")), result.stderr
        assert "Traceback" not in result.stderr
    assert not (tmp_path / "typo").exists()
    assert not (tmp_path / "to").exists()


@pytest.mark.heavy
def test_a_copy_has_no_row_that_is_written_meanwhile(
    full: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> None:
    before = full.query(ROWS)

    def write(n: int, total: int) -> None:
        assert total == N
        if n == 3:
            full.register(write_part(full.home, KIND, "later", rows(1000)))
            compact_parts(full)

    target = LocalStore(tmp_path_factory.mktemp("to"))
    copy(full, target, write)
    assert Warehouse.open(target).query(ROWS).equals(before)
    assert full.query(ROWS).height == before.height + 2


@pytest.mark.parametrize("damage", [None, b"PAR1"])
def test_a_missing_or_damaged_part_ends_a_copy_and_the_next_one_is_whole(
    full: Warehouse, tmp_path: Path, damage: bytes | None
) -> None:
    target = LocalStore(tmp_path / "to")
    path = sorted((full.home / "parts" / KIND).glob("p*.parquet"))[-1]
    content = path.read_bytes()
    path.unlink()
    if damage:
        path.write_bytes(damage)
    with pytest.raises(WarehouseError, match=f"{path.stem} of .* is damaged or missing"):
        copy(full, target)
    assert target.version() is None
    path.write_bytes(content)
    copy(full, target)
    assert Warehouse.open(target).query(ROWS).equals(full.query(ROWS))


@pytest.mark.heavy
@pytest.mark.parametrize("room", [2_000, 200_000])
def test_a_full_target_publishes_nothing_and_the_next_copy_is_whole(
    full: Warehouse, tmp_path_factory: pytest.TempPathFactory, room: int
) -> None:
    target = tmp_path_factory.mktemp("to") / "home"
    code = (
        "import resource, sys; from pathlib import Path; from warehouse import Warehouse, WarehouseError;"
        "from warehouse.copying import copy; from warehouse.local_store import LocalStore;"
        f"w = Warehouse.open(Path({str(full.home)!r})); w.query('SELECT 1');"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}));\n"
        f"try: copy(w, LocalStore(Path({str(target)!r})))\n"
        "except (WarehouseError, OSError) as error: sys.exit(str(error))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(full.home, None),
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert not (target / "culturemeter.duckdb").exists()
    copy(full, LocalStore(target))
    assert Warehouse.open(target).query(ROWS).equals(full.query(ROWS))


# --- killed

KILLED = """
import os, signal, sys
from datetime import timedelta
from pathlib import Path
from warehouse import Warehouse, local_store, storage
from warehouse.copying import copy
from warehouse.prune import prune
from warehouse.recovery import compact_parts, delete_superseded, SUPERSEDED_STAY
import warehouse.recovery
home, target, what, die = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
calls = 0
def or_die(function):
    def called(*arguments, **named):
        global calls
        calls += 1
        if calls == die:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **named)
    return called
warehouse_ = Warehouse.open(home)
for name in ("put_part", "delete_part"):
    setattr(local_store.LocalStore, name, or_die(getattr(local_store.LocalStore, name)))
local_store.publish = or_die(local_store.publish)
local_store.copy_published = or_die(local_store.copy_published)
if what == "copy":
    copy(warehouse_, local_store.LocalStore(target))
else:
    warehouse.recovery.SUPERSEDED_STAY = timedelta(0)
    compact_parts(warehouse_)
    prune(warehouse_, timedelta(0))
print(calls)
"""


@pytest.mark.heavy
@pytest.mark.parametrize("what", ["copy", "prune"])
def test_a_killed_copy_or_prune_is_completed_by_the_next_call(
    full: Warehouse, tmp_path_factory: pytest.TempPathFactory, what: str
) -> None:
    before = full.query(ROWS)
    target = tmp_path_factory.mktemp("to") / "home"

    def run(die: int) -> int:
        command = [sys.executable, "-c", KILLED, str(full.home), str(target), what, str(die)]
        done = subprocess.run(command, env=environment(full.home, None), cwd=REPOSITORY, capture_output=True)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        return done.returncode

    for die in (1, 2, 3, 4, 20, 45):
        run(die)
        assert full.query(ROWS).equals(before)
        assert (what == "prune") or not LocalStore(target).version() or die > 40
    assert run(0) == 0
    if what == "copy":
        assert Warehouse.open(target).query(ROWS).equals(before)
        assert verify_parts(Warehouse.open(target)).is_empty()
    assert verify_parts(full).is_empty()
    assert full.query(ROWS).equals(before)
    assert not run_checks(full)["n_violations"].sum()


# --- prune


@pytest.mark.heavy
def test_prune_takes_ages_beyond_the_first_date(full: Warehouse, copied_home: Callable[[], Path]) -> None:
    before = full.query(ROWS)
    for age in (timedelta.max, timedelta(days=99_999 * 365), timedelta(0)):
        prunable(full, age)
        prune(full, age)
    for home in (full.home, copied_home()):  # both, since a home without parts shows nothing
        arguments = ["prune", "--older-than", "99999y", "--delete"]
        result = CliRunner().invoke(app, arguments, env={"CULTUREMETER_HOME": str(home)})
        assert result.exit_code == 0, result.output
    assert full.query(ROWS).equals(before), "parts without an occasion stay"


def test_prune_deletes_links_but_not_their_targets(
    full: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Links among quarantined files are deleted, not their targets; folders there stay."""
    linked = tmp_path_factory.mktemp("linked") / "file"
    linked.write_text("x")
    aside = full.home / "quarantine" / KIND
    aside.mkdir(parents=True)
    (aside / "link.parquet").symlink_to(linked)
    (aside / "nothing.parquet").symlink_to("/nowhere")
    (aside / "folder").symlink_to(linked.parent)
    os.mkfifo(aside / "pipe.parquet")
    with full.write() as connection:
        outside = [KIND, f"../../../{linked.parent.name}/file"]
        connection.execute("INSERT INTO superseded_part VALUES (?, ?, TIMESTAMP '2000-01-01')", outside)
    with pytest.raises(WarehouseError, match="is not a valid part name"):
        prune(full)
    with full.write() as connection:
        connection.execute("DELETE FROM superseded_part")
    prune(full)
    assert linked.read_text() == "x"
    assert not (aside / "link.parquet").is_symlink()
