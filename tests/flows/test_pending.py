"""Requests that are answered elsewhere: rounds until nothing is left, shares, repeats, strangers' answers."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from deployments.evaluations import evaluation
from flows import pending
from flows.session import prepare
from tasks.engines.local import devices
from tasks.engines.protocols import EngineError
from tasks.pending.answers import Refused, scores_of
from tasks.pending.folder import LONGEST_LINE, Folder, fault_of, lines_of, name_fault
from tests.engines.served import Scripted
from tests.golden import served
from tests.golden.harness import ROWS, SERVED, net, new_home, params_of, run
from warehouse import Warehouse

Line = dict[str, Any]
NUMBER = count()
ROLES = {"judges": [SERVED], "simulator": SERVED}
"""The served model in every role, so that all requests can be written."""


@pytest.fixture(scope="module")
def server() -> Iterator[Scripted]:
    server = Scripted(lambda _, asked: (200, served.reply(asked) | {"model": asked["model"]}))
    yield server
    server.close()


@pytest.fixture
def homes(blank: Path, server: Scripted, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Return a function that makes a home for an evaluation's net and works in it."""

    def make(name: str) -> Path:
        home = new_home(blank, f"pending-{name}-{next(NUMBER)}", name, server.url)
        monkeypatch.setenv("CULTUREMETER_HOME", str(home))
        return home

    return make


def roles_of(name: str) -> Line:
    own = {role: model for role, model in ROLES.items() if role in net(name).params}
    return own | {"models": [SERVED]}


def exported(name: str, home: Path, folder: Path) -> pending.Written:
    own = evaluation(name)
    return pending.export([prepare(own, params_of(name, home, **roles_of(name)))], Folder(folder))


def answered(folder: Path, url: str, *options: str) -> None:
    """Run the folder's program in a process that sees none of our code."""
    command = [sys.executable, "-I", str(folder / "run.py"), "--url", url, "--batch", "16", *options]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={"PATH": os.environ["PATH"]}
    )
    assert done.returncode == 0, done.stderr


def rows(name: str) -> list[tuple[Any, ...]]:
    return sorted(Warehouse.open().query(ROWS, [name]).rows(), key=str)


@pytest.mark.slow
@pytest.mark.nets(1)
@pytest.mark.parametrize("name", ["explication", "culturall", "cure", "worldwise"])
def test_rounds_of_a_folder_end_with_the_rows_of_a_run(
    name: str, homes: Callable[[str], Path], server: Scripted, tmp_path: Path
) -> None:
    run(name, homes(name), **roles_of(name))
    expected = rows(name)
    home, folder = homes(name), tmp_path / "away"
    exported(name, home, folder)
    n_rounds = 0
    while True:
        for share in ("1/2", "2/2"):
            answered(folder, server.url, "--shard", share)
        taken = pending.take_in(Folder(folder), evaluation)
        n_rounds += 1
        assert not taken.refused
        assert taken.stored
        if not taken.left:
            break
        pending.export(pending.again(Folder(folder), evaluation), Folder(folder))
    assert list(taken.finished) == [name]
    assert rows(name) == expected
    assert n_rounds == {"culturall": 2, "cure": 2, "explication": 5, "worldwise": 1}[name]
    again = pending.take_in(Folder(folder), evaluation)
    assert (again.stored, again.refused, again.left) == (0, {}, {})
    assert not pending.export(pending.again(Folder(folder), evaluation), Folder(folder)).files
    homes(name)  # another home takes in all rounds at once, as the job between rounds does
    there = pending.take_in(Folder(folder), evaluation)
    assert (list(there.finished), there.refused, there.left) == ([name], {}, {})
    assert rows(name) == expected


@pytest.mark.slow
def test_a_folder_is_planned_in_the_precision_of_its_export(
    homes: Callable[[str], Path], smollm2_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, folder, model = homes("culturall"), Folder(tmp_path / "away"), "smollm2-135m-vllm"
    (home / "models").symlink_to(smollm2_folder.parent)
    monkeypatch.setattr(devices, "auto_dtype", lambda _: "bfloat16")
    own = evaluation("culturall")
    pending.export([prepare(own, params_of("culturall", home, models=[model], judges=[model]))], folder)
    monkeypatch.setattr(devices, "auto_dtype", lambda _: "float32")  # of the machine that imports
    (session,) = pending.again(folder, evaluation)
    engines = (*session.candidates.values(), *session.engines.values())
    assert [engine.spec and engine.spec.dtype for engine in engines] == ["bfloat16", "bfloat16"]


@pytest.fixture
def folder(homes: Callable[[str], Path], server: Scripted, tmp_path: Path) -> Path:
    """A folder with the answers to its first round, in one file."""
    path = tmp_path / "away"
    exported("culturall", homes("culturall"), path)
    answered(path, server.url)
    return path


def lines(folder: Path) -> list[Line]:
    (file,) = (folder / "answers").glob("*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


def body_of(line: Line, **fields: Any) -> Line:
    return line | {"response": line["response"] | {"body": line["response"]["body"] | fields}}


REFUSAL = {"status_code": 500, "body": {"error": {"message": "\x1b[2Jx"}}}
WRONG: dict[str, tuple[Callable[[Line], str], str]] = {
    "cut off": (lambda line: json.dumps(line)[:40], "no JSON"),
    "not JSON": (lambda line: "\x00\x1b[31m", "no JSON"),
    "a list": (lambda line: "[1, 2]", "no custom_id"),
    "a number": (lambda line: "7", "no custom_id"),
    "nested deeply": (lambda line: "[" * 100_000, "nested more than"),
    "nobody sent it": (lambda line: json.dumps(line | {"custom_id": "0" * 33}), "no request of this run"),
    "a name that is none": (lambda line: json.dumps(line | {"custom_id": ["x"]}), "no custom_id"),
    "a path": (lambda line: json.dumps(line | {"custom_id": "../../etc/passwd"}), "no request of this run"),
    "another model": (lambda line: json.dumps(body_of(line, model="llama-3-8b")), "another model"),
    "no reply": (lambda line: json.dumps(line | {"response": None, "error": None}), "no answer"),
    "a refusal": (lambda line: json.dumps(line | {"response": REFUSAL}), "it holds no answer:"),
    "no choices": (lambda line: json.dumps(body_of(line, choices=[])), "no answer"),
    "NaN": (lambda line: json.dumps(body_of(line, choices=float("nan"))), "no answer"),
}  # fmt: skip


@pytest.mark.slow
def test_strangers_lines_are_refused_one_by_one_and_nothing_else_is_lost(folder: Path) -> None:
    own = lines(folder)
    assert len(own) > len(WRONG)
    bad = [change(line) for (change, _), line in zip(WRONG.values(), own, strict=False)]
    (file,) = (folder / "answers").glob("*.jsonl")
    file.write_text("\n".join([*bad, *map(json.dumps, own[len(bad) :])]))
    (folder / "answers" / "link.jsonl").symlink_to("/etc/passwd")
    os.mkfifo(folder / "answers" / "pipe.jsonl")
    (folder / "answers" / "inner").mkdir()
    taken = pending.take_in(Folder(folder), evaluation)
    assert taken.stored == len(own) - len(bad)
    listed = [json.loads(line) for line in (folder / "refused.jsonl").read_text().splitlines()]
    of_lines = {each["line"]: each["reason"] for each in listed if each["line"]}
    for number, (name, (_, reason)) in enumerate(WRONG.items(), 1):
        assert reason in of_lines.get(number, ""), name
        assert "\x1b" not in of_lines[number]
    assert len(of_lines) == len(WRONG)
    assert sum(n for n, _ in taken.refused.values()) == len(WRONG) + 3
    file.write_text("\n".join(map(json.dumps, own)))
    second = pending.take_in(Folder(folder), evaluation)
    assert (second.stored, second.known) == (len(bad), len(own) - len(bad))


@pytest.mark.slow
def test_halves_and_answers_of_two_runners_count_once_and_a_changed_run_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = lines(folder)
    (file,) = (folder / "answers").glob("*.jsonl")
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    half = pending.take_in(Folder(folder), evaluation)
    assert half.left == {"culturall": len(own) - half.stored}
    assert len(half.refused) == 1  # the line that is cut
    file.write_bytes(whole)
    other = folder / "answers" / "z-\x1b[2J\udcff.jsonl"
    choice = own[-1]["response"]["body"]["choices"][0]
    differing = body_of(own[-1], choices=[choice | {"message": {"content": "Something else."}}])
    other.write_text("".join(json.dumps(line) + "\n" for line in [*own[::2], differing, differing]))
    monkeypatch.setattr("flows.pending.MOST_LISTED", 1)
    taken = pending.take_in(Folder(folder), evaluation)
    assert taken.stored == len(own) - half.stored
    assert taken.known == half.stored + len(own[::2])
    ((reason, (n, first)),) = taken.refused.items()
    assert "differs from an earlier answer" in reason
    assert (n, first) == (2, f"answers/z-?[2J?.jsonl line {len(own[::2]) + 1}")
    assert len((folder / "refused.jsonl").read_text().splitlines()) == 1
    manifest = folder / "manifest.json"
    right = manifest.read_text()
    manifest.write_text(right.replace('"configuration": "', '"configuration": "0'))
    with pytest.raises(EngineError, match="its configuration differ from those at the export"):
        pending.take_in(Folder(folder), evaluation)
    for name in ("runs", "engines", "folder"):
        for wrong in (None, 7, "x", [7], {"a": 7}):
            if (name, wrong) != ("folder", "x"):
                manifest.write_text(json.dumps(json.loads(right) | {name: wrong}))
                with pytest.raises(EngineError, match="is damaged"):
                    Folder(folder).manifest()


def test_the_program_stays_in_its_folder_and_cuts_a_line_that_a_kill_left(
    folder: Path, server: Scripted
) -> None:
    own = lines(folder)
    (file,) = (folder / "answers").glob("*.jsonl")
    file.write_bytes(file.read_bytes()[:-20])
    answered(folder, server.url)
    assert lines(folder) == own
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"file": "', '"file": "../'))
    with pytest.raises(AssertionError, match="is missing: copy the whole folder"):
        answered(folder, server.url)


def test_links_in_place_of_a_folders_parts_are_refused(tmp_path: Path) -> None:
    for name in ("answers", "requests", "manifest.json", "run.py"):
        place = tmp_path / name.partition(".")[0] / "away"
        place.mkdir(parents=True)
        (place / name).symlink_to(tmp_path)
        with pytest.raises(EngineError, match="is a link"):
            Folder(place)
    with pytest.raises(EngineError, match=r"there is no .*manifest\.json"):
        Folder(tmp_path / "none").manifest()


ENGINE = {
    "name": "m",
    "model": "org/Model-7B",
    "served_as": "",
    "dtype": "float32",
    "weights": "w",
    "revision": None,
}


@pytest.mark.parametrize(
    ("stated", "fault"),
    [
        ({"dtype": "float32", "weights": "w"}, ""),
        ({"dtype": "bfloat16", "weights": "w"}, "computed in 'bfloat16', and float32 is asked for"),
        ({"dtype": "float32", "weights": "x"}, "another model than m"),
        ({"dtype": "float32", "revision": None}, "another model than m"),
        ({"dtype": "\x1b[2J" * 100, "weights": "w"}, "computed in '\\x1b[2J"),
        (None, "does not say which engine"),
        (["float32"], "does not say which engine"),
    ],
)
def test_an_engine_is_the_one_asked_for(stated: Any, fault: str) -> None:
    found = fault_of(stated, ENGINE)
    assert fault in found
    assert bool(found) == bool(fault)
    assert len(found) < 400


@pytest.mark.parametrize(
    ("named", "served_as", "fault"),
    [
        ("org/Model-7B", "", ""),
        ("model-7b-2026-01-01", "", ""),
        ("", "", ""),
        ("other-7b", "", "another model"),
        ("my-deployment", "", ""),
        ("my-deployment", "m@abc", "must know the model as m@abc"),
        ("m@abc", "m@abc", ""),
        ("m", "m@abc", "must know the model as m@abc"),
        ("", "m@abc", "must know the model as m@abc"),
    ],
)
def test_a_server_names_the_model_asked_for(named: str, served_as: str, fault: str) -> None:
    found = name_fault(named, ENGINE | {"served_as": served_as}, ["my-deployment"])
    assert fault in found
    assert bool(found) == bool(fault)


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"logprobs": [-1.0, -2], "greedy": [True, False]}, ""),
        ({"logprobs": [-1.0, 1e-4], "greedy": [True, False]}, ""),
        ({"logprobs": [-1.0], "greedy": [True]}, "its logprobs are missing, or not 2"),
        ({"logprobs": [-1.0, -2.0], "greedy": [True]}, "its greedy are missing, or not 2"),
        *(
            ({"logprobs": wrong, "greedy": [True, False]}, "its logprobs are missing, or hold")
            for wrong in (
                [[-1.0, -2.0]], [-1.0, math.nan], [-1.0, -math.inf], [-1.0, 0.5], [-1.0, {}], [-1.0, None],
                [-1.0, "-2.0"], [-1.0, False], [10**400, -2.0], [-(10**400), -2.0], "-1", {"0": -1.0}, None,
            )
        ),
        *(
            ({"logprobs": [-1.0, -2.0], "greedy": wrong}, "its greedy are missing, or hold")
            for wrong in ([True, "false"], [1, 0], [True, None], "ab")
        ),
        ({"logprobs": [-1.0, -2.0]}, "its greedy are missing"),
        ({"greedy": [True, False]}, "its logprobs are missing"),
    ],
)  # fmt: skip
def test_scores_are_as_many_log_probabilities_as_were_asked_for(line: Line, fault: str) -> None:
    with pytest.raises(Refused, match=fault) if fault else nullcontext():
        assert (scores_of(line, 2, "greedy").logprobs <= 0).all()


def test_lines_longer_than_the_limit_are_skipped_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.pending.folder.LONGEST_LINE", 10)
    assert LONGEST_LINE > 10
    file = tmp_path / "lines"
    file.write_bytes(b"one\n" + b"x" * 35 + b"\n\n" + b"123456789\n" + b"two")
    with file.open("rb") as opened:
        assert list(lines_of(opened)) == [(1, b"one\n"), (2, None), (4, b"123456789\n"), (5, b"two")]
