"""A home on a network file system is refused by whoever may write, in one line, and read by all others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest
from typer.testing import CliRunner

from deployments.cli.app import app
from warehouse import Warehouse, WarehouseError, connection, home
from warehouse.storage import LOCAL, file_system

NETWORK = (
    "nfs", "nfs4", "lustre", "gpfs", "beegfs", "cifs", "smb3", "smbfs", "ceph", "glusterfs", "fuse.glusterfs",
    "fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.juicefs", "pvfs2", "orangefs", "panfs", "wekafs", "afs",
    "9p", "virtiofs", "ocfs2", "gfs2", "autofs", "fuse", "a-new-one", "nfs4\n\x1b[31m",
)  # fmt: skip
WRITERS = (
    "run spectral --profile smoke --dry-run", "run all --profile smoke --dry-run", "doctor --no-measure",
    "prune --delete", "merge {0}", "pack new x --for cure", "serve",
    "pending import /tmp/nothing", "models prepare",
)  # fmt: skip
READERS = (
    "leaderboard", "leaderboard spectral", "sql FROM\xa0run", "runs", "check", "prune", "drift",
    "report spectral --out {0}/page.html", "compare a b --out {0}/two.html", "browse spectral",
)  # fmt: skip


@pytest.fixture
def mounted(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, str]]]:
    """The mounts of this machine, as (place, kind), for a test to fill."""
    mounts: list[tuple[str, str]] = []
    found = lambda **_: [SimpleNamespace(mountpoint=at, fstype=kind) for at, kind in mounts]  # noqa: E731
    monkeypatch.setattr(psutil, "disk_partitions", found)
    file_system.cache_clear()
    monkeypatch.setattr(connection, "_only_read", set())
    yield mounts
    file_system.cache_clear()


@pytest.mark.parametrize("kind", NETWORK)
def test_network_and_unknown_file_systems_are_refused_in_one_line(
    kind: str, mounted: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted += [("/", "ext4"), (str(tmp_path), kind)]
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "a" / "home"))
    for attempt in (home, Warehouse.open, lambda: Warehouse.open(tmp_path / "b")):
        with pytest.raises(WarehouseError, match=r"network.*CULTUREMETER_HOME.*merge.*shared store") as error:
            attempt()
        assert str(error.value).isprintable()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", sorted(LOCAL))
def test_file_systems_of_one_machine_are_used(
    kind: str, mounted: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounted += [("/", "nfs4"), (str(tmp_path), kind.upper())]
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "home"))
    assert home() == tmp_path / "home"


def test_the_innermost_and_last_mount_counts_and_links_are_followed(
    mounted: list[tuple[str, str]], tmp_path: Path
) -> None:
    (tmp_path / "link").symlink_to("/project/group")
    mounted += [("/", "ext4"), ("/project", "autofs"), ("/project", "nfs4"), ("/project/group/local", "xfs")]
    assert file_system(tmp_path / "link" / "home") == "nfs4"
    assert file_system(Path("/project/group/local/home")) == "xfs"
    assert file_system(Path("/projects/home")) == "ext4"


@pytest.mark.parametrize("line", WRITERS)
def test_commands_that_may_write_refuse(line: str, filled: Warehouse, mounted: list[tuple[str, str]]) -> None:
    mounted += [("/", "nfs4")]
    words = line.format(filled.home).split()
    done = CliRunner().invoke(app, words, env={"CULTUREMETER_HOME": str(filled.home)})
    assert done.exit_code == 1, done.output
    assert done.stderr.count("\n") == 1, done.stderr
    assert "is on a network file system" in done.stderr


@pytest.mark.parametrize("line", READERS)
def test_commands_that_read_need_neither_lock_nor_memory(
    line: str, filled: Warehouse, mounted: list[tuple[str, str]], tmp_path: Path
) -> None:
    mounted += [("/", "nfs4")]
    words = [word.replace("\xa0", " ").format(tmp_path) for word in line.split(" ")]
    done = CliRunner().invoke(app, words, env={"CULTUREMETER_HOME": str(filled.home)})
    assert "network" not in done.output
    assert "Traceback" not in done.output
