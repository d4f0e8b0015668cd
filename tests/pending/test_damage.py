"""Files of answers with any damage: nothing wrong is registered, nothing right is lost, one line each."""

from __future__ import annotations

import copy
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from deployments.evaluations import evaluation
from flows import pending
from flows.pending import _Intake
from flows.session import RunSession, prepare
from tasks.loop import steps
from tasks.pending.folder import Folder, custom_id, lines_of
from tests.golden.harness import net, new_home, params_of

Line = dict[str, Any]
NAMES = ("harness", "culturall")
"""Evaluations that ask for pairs with greedy flags, and for texts; both of a model with weights."""
WRONG: list[Any] = [None, {}, [], "", "x" * 50, 7, True, float("nan"), float("inf"), 10**400, [[[0]]]]
WRONG += ["\ud800"]
"""Values of every type; none of them is what the files hold in any place that counts."""
COUNTS = ("custom_id", "engine", "logprobs", "greedy", "response")
"""Fields of a line that the intake reads."""
DAMAGE: Mapping[str, Callable[[bytes], bytes]] = {
    "cut off": lambda text: text[: len(text) // 2],
    "twice in a line": lambda text: text + text,
    "NUL": lambda text: text[:9] + b"\0" + text[9:],
    "no text": lambda text: b"\xff" * len(text),
    "wide": lambda text: text.decode().encode("utf-16"),
    "deep": lambda text: b'{"a":' * 5000 + b"1" + b"}" * 5000,
    "in a list": lambda text: b"[" + text + b"]",
    "nobody's": lambda text: text.replace(b'"custom_id": "', b'"custom_id": "0'),
    "another's": lambda text: text.replace(b'"weights": "', b'"weights": "0'),
    "of other numbers": lambda text: text.replace(b'"float32"', b'"bfloat16"'),
    "not a number": lambda text: text.replace(b"[-1.5", b"[NaN").replace(b'"choices"', b'"chosen"'),
}  # fmt: skip
"""Damage -> the line after it, which is no answer any more."""
HARMLESS: Mapping[str, Callable[[bytes], bytes]] = {
    "as it was": lambda text: text,
    "blanks": lambda text: b"  " + text + b"\t\r",
    "a mark": lambda text: b"\xef\xbb\xbf" + text,
    "further fields": lambda text: text.replace(b"{", b'{"id": NaN, "o": [null], "\\ud800": "\\ud800", ', 1),
}  # fmt: skip


@pytest.fixture(scope="module")
def asked(blank: Path, smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Sessions, their manifest, a right line for each request, and what is stored of these."""
    home = new_home(blank, "damage", "culturall", "http://127.0.0.1:9/v1")
    for name in NAMES:
        net(name).prepare(home, home.parent / "files" / name)
    (home / "models").symlink_to(smollm2_folder.parent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CULTUREMETER_HOME", str(home))
        sessions = [
            prepare(evaluation(name), params_of(name, home, models=["smollm2-135m-vllm"], **more))
            for name, more in (("harness", {}), ("culturall", {"judges": ["smollm2-135m-vllm"]}))
        ]
        folder = Folder(tmp_path_factory.mktemp("away"))
        pending.export(sessions, folder)
        for session in sessions:
            session.ids = session.run_ids()
        manifest = folder.manifest()
        lines = [
            line for file in manifest["requests"] for line in right(folder.path, file, manifest["engines"])
        ]
        right_file = b"\n".join(json.dumps(line).encode() for line in lines)
        whole = taken_in((sessions, manifest), right_file)[1]
        assert len(whole) == len(lines)
        yield sessions, manifest, lines, whole


def right(folder: Path, file: Line, engines: Line) -> list[Line]:
    """Return an answer to each line of a file."""
    engine = engines[file["engine"]]
    stated = {"weights": engine["weights"], "dtype": engine["dtype"]}
    lines = []
    for text in (folder / "requests" / file["file"]).read_text().splitlines():
        request = json.loads(text)
        answer = {"custom_id": request["custom_id"], "engine": stated}
        if "groups" in request:
            n = sum(len(group["continuations"]) for group in request["groups"])
            lines.append(answer | {"logprobs": [-1.5] * n, "greedy": [False] * n})
        else:
            choice = {"message": {"content": "Tea."}, "finish_reason": "stop"}
            lines.append(answer | {"response": {"status_code": 200, "body": {"choices": [choice]}}})
    return lines


def damaged(line: Line, chance: Random) -> tuple[list[bytes], bool]:
    """Return lines in place of a right one, and whether one of them is right."""
    text = json.dumps(line).encode()
    kind = chance.choice(["harmless", "damage", "value", "both"])
    if kind == "harmless":
        return [chance.choice([*HARMLESS.values()])(text)], True
    bad = chance.choice([*DAMAGE.values()])(text)
    if kind == "value":
        other = copy.deepcopy(line)
        place: Any = other
        name: Any = chance.choice([each for each in COUNTS if each in line])
        if isinstance(line[name], list) and chance.random() < 0.5:
            place, name = other[name], chance.randrange(len(line[name]))
        place[name] = chance.choice([wrong for wrong in WRONG if type(wrong) is not type(place[name])])
        bad = json.dumps(other).encode()
    return ([bad, text], True) if kind == "both" else ([bad], False)


class Kept(dict[tuple[str, str], Any]):
    """Stored answers by key, in place of the warehouse."""

    def store(self, answered: steps.Answered) -> set[tuple[str, str]]:
        assert answered.failure is None
        rows: dict[tuple[str, str], list[Line]] = {}
        for row in answered.frame.to_dicts():
            rows.setdefault((row["request_hash"], row["item"]), []).append(row)
        self.update(rows)
        return set(rows)


def taken_in(asked: Any, content: bytes) -> tuple[pending.Taken, Kept, list[Line]]:
    """Return what an import of a file counts, stores and refuses."""
    sessions, manifest, *_ = asked
    taken, kept, refused = pending.Taken(), Kept(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(steps, "store", kept.store)
        patch.setattr(RunSession, "record_answers", lambda *_: None)
        intake = _Intake(sessions, manifest, taken, refused, ())
        for number, text in lines_of(io.BytesIO(content)):
            intake.add(text, ("f", number))
        intake.flush()
    return taken, kept, [json.loads(line) for line in refused.getvalue().splitlines()]


@pytest.mark.slow
@settings(deadline=None, max_examples=15, phases=[Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_any_damage_is_refused_line_by_line(asked: Any, seed: int) -> None:
    chance, lines = Random(seed), asked[2][::3]
    drawn = [damaged(line, chance) for line in lines]
    texts = [text for own, _ in drawn for text in own]
    taken, kept, refused = taken_in(asked, chance.choice([b"\n", b"\r\n", b"\n\n"]).join(texts))
    good = {line["custom_id"] for line, (_, is_right) in zip(lines, drawn, strict=True) if is_right}
    stored = {custom_id(*key) for key in kept}
    apart = [own for line, (own, _) in zip(lines, drawn, strict=True) if line["custom_id"] in stored ^ good]
    assert apart == []
    assert taken.stored == len(good)
    assert [key for key in kept if kept[key] != asked[3][key]] == []
    assert len(refused) == len(texts) - len(good)
    assert all(each["reason"] for each in refused)
