"""Makes a small filled home of the present version: ``python tests/warehouse/homes/make.py``.

Each released version leaves its home here, as ``<version>.tar.xz``, and later versions must open it. The home
has runs of two evaluations with a null and a judge, and a registration that is not folded into the file yet.
Until a version is released, make its home again after a change of the schema; a released one never changes.
"""

import os
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

FOLDER = Path(__file__).resolve().parent
SPEC = 'model = "fake"\nkind = "fake"\ndtype = "float32"\n'
RUNS = (
    "run spectral --profile smoke --countries BR,DE,JP --max-items 6 --half-samples 20",
    "run cure --profile smoke --limit 4",
)
KEPT = ("culturemeter.duckdb", "registrations.sqlite", "parts")


def fill(home: Path) -> None:
    """Fill a home by commands, and leave one registration waiting in the log."""
    command = Path(sys.executable).with_name("culturemeter")
    spec = home / "fake.toml"
    spec.write_text(SPEC)
    environment = os.environ | {"CULTUREMETER_HOME": str(home)}
    for words in RUNS:
        judge = ["--judges", str(spec)] if " cure " in words else []
        subprocess.run([command, *words.split(), "-m", str(spec), *judge], env=environment, check=True)
    from tests.warehouse.rows import logprobs
    from warehouse import Warehouse, write_part

    warehouse = Warehouse.open(home)
    warehouse.store.log.append(write_part(home, "item_logprob", "waiting", logprobs()))


def pack(home: Path, archive: Path) -> None:
    """Write the files that a version keeps in a home, without their owner and times."""

    def plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = member.mtime = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(archive, "w:xz", preset=9) as packed:
        for name in KEPT:
            packed.add(home / name, name, filter=plain)


if __name__ == "__main__":
    sys.path.insert(0, str(FOLDER.parents[2]))
    with TemporaryDirectory() as folder:
        fill(Path(folder))
        pack(Path(folder), FOLDER / f"{version('culturemeter')}.tar.xz")
