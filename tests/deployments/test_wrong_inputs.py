"""Wrong inputs, as people type them: each ends with one error line and no traceback."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import environment, in_process

LINES = Path(__file__).with_name("wrong_inputs.txt").read_text(encoding="utf-8").splitlines()
"""Command lines; {W} stands for a folder with broken files."""
FILES = {
    "bad/config.json": '{"a": 1}',
    "neither.txt": "x",
    "broken.toml": "name = [",
    "kind.toml": 'kind = "gpt"\nmodel = "x"\n',
    "prices.toml": 'kind = "openai"\nmodel = "x"\nusd_per_million_input_tokens = 1\n',
    "tensor.toml": 'kind = "packed_trie"\nmodel = "x"\ntensor_parallel = 2\n',
    "empty.csv": "",
    "cols.csv": "a,b\n1,2\n",
}
LIBRARYS = r"Value error|Input should|should have at least"
"""Phrases of pydantic."""
SEVERAL_LINES = ("sql ", "leaderboard cure", "report cure", "check ")
"""Commands whose error has more lines: the place in a query, or the runs to start."""


@pytest.fixture(scope="module")
def place(copied_home: Callable[[], Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A home with one finished run, and a folder with broken files."""
    home, folder = copied_home(), tmp_path_factory.mktemp("wrong")
    (home / "engines").mkdir()
    for name in ("fake-a", "fake-b"):
        (home / "engines" / f"{name}.toml").write_text(f'kind = "fake"\nmodel = "{name}"\n')
    for name, text in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "bin.csv").write_bytes(b"\x00\xff\xfe\x01" * 20)
    small = "--countries BR,DE,JP --max-items 4 --half-samples 20 --domains currency --no-server"
    run = f"run spectral --profile smoke -m fake-a -m fake-b {small}"
    done = in_process(tuple(run.split()), environment(home, None))
    assert done.returncode == 0, done.stderr
    return home, folder


@pytest.mark.parametrize("line", LINES)
def test_wrong_input_is_one_error_line(line: str, place: tuple[Path, Path]) -> None:
    home, folder = place
    arguments = shlex.split(line.replace("{W}", str(folder)))
    done = in_process(tuple(arguments), environment(home, None) | {"COLUMNS": "400"})
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode in (1, 2), done.stdout + done.stderr
    if done.returncode == 2:  # errors of the command line itself: a box with one line
        assert len(re.findall(r"│ +\S", done.stderr)) == 1, done.stderr
        assert not re.search(LIBRARYS, done.stderr), done.stderr
        return
    printed = done.stderr.strip()
    assert printed.count("error: ") == 1, printed
    words = printed.partition("error: ")[2]
    assert words
    assert not re.search(r"[0-9a-f]{32}\.(tmp|new)|Value error|: :|\[Errno", words), words
    assert "\n" not in words or line.startswith(SEVERAL_LINES), words
