"""Writes a run's pending requests to a folder, and takes in the answers that came back (``tasks.pending``).

The plan is the loop's own: what has no stored answer is written, and an answer is taken if the plan has a
place for it. Judges and turns of a dialogue are asked once the answers that they need are here, so a folder
is exported again until nothing is left. Embedders are small and work here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, chdir, nullcontext
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

from flows import records, runs
from flows.evaluation import evaluate
from flows.session import RunSession, handed_over, prepare
from tasks.engines.protocols import EngineError, Generation
from tasks.engines.specs import has_weights, hashes_in
from tasks.evaluations.contract import Evaluation
from tasks.identity import digest
from tasks.loop import steps
from tasks.loop.budget import Budget, Meter
from tasks.loop.plan import Piece, Wanted, Work
from tasks.loop.requests import Engine
from tasks.pending import folder as folders
from tasks.pending import runner
from tasks.pending.answers import Refused, Scores, agree, parsed, scores_of, sign_of
from tasks.pending.away import Asked, Away, Form
from tasks.pending.folder import FORMAT, MOST_LINES, Folder, custom_id, line_of
from warehouse import Warehouse

LONG = 32
"""Continuations from which a list is written once per file and named by prefixes."""
BATCH_BYTES, BATCH_UNITS = 16 * 2**20, 4096
"""Answers that are held before they are stored as parts."""
MORE = {"candidate_score": "probabilities", "pair_score": "greedy"}
"""Kind of part -> what its answers hold beside log-probabilities."""
STRANGE = "it answers no request of this run"
MOST_REASONS, OTHER = 50, "for other reasons, listed in the file"
MOST_LISTED = 100_000
"""Refused lines that are listed; the rest are counted, or a file of nothing else would fill the disk."""


@dataclass
class Written:
    """Files that an export wrote. files: name -> number of requests. kept: why others are not written."""

    files: dict[str, int] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)


@dataclass
class Taken:
    """Answers that an import found.

    Attributes:
        stored, known: answers that are new, and that were here.
        refused: reason -> number of lines, and the first of them.
        left: requests without an answer, by evaluation. finished: evaluations whose rows are made.
        failures: messages of runs that are not finished for another reason.
    """

    stored: int = 0
    known: int = 0
    refused: dict[str, tuple[int, str]] = field(default_factory=dict)
    left: dict[str, int] = field(default_factory=dict)
    finished: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)


def export(sessions: Sequence[RunSession], folder: Folder) -> Written:
    """Write what these sessions would send next, and all that is needed to answer it.

    Raises:
        EngineError: an embedder failed, or a session failed before.
    """
    for session in sessions:
        _embed(session)
    written = Written()
    with ExitStack() as files:
        lines = _Lines(folder, files)
        for session in sessions:
            for line in session.plan.lines:
                if not line.work:
                    continue
                try:
                    away = lines.away(line.engine)
                    for work in line.work:
                        for wanted, unit, form in _asked(work, away):
                            lines.add(wanted, unit, form)
                except EngineError as error:
                    text = f"{line.engine.name}: {error}"
                    written.kept += [text] if text not in written.kept else []
    with folder.whole(folders.RUNNER) as file:
        file.write(runner.source())
    described_runs = [_described(session) for session in sessions]
    manifest = {
        "format": FORMAT,
        "version": version("culturemeter"),
        "folder": str(Path.cwd()),
        "runs": described_runs,
        "engines": _engines_before(folder, described_runs) | lines.engines,
        "requests": lines.files,
    }
    with folder.whole(folders.MANIFEST) as file:
        json.dump(manifest, file, indent=1, ensure_ascii=False)
    folder.keep({each["file"] for each in lines.files})
    written.files = {each["file"]: each["lines"] for each in lines.files}
    return written


def _engines_before(folder: Folder, described_runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the engines of earlier rounds of these runs, whose answers stay in the folder."""
    try:
        before = folder.manifest()
    except EngineError:
        return {}
    return dict(before["engines"]) if before.get("runs") == described_runs else {}


def take_in(
    folder: Folder, evaluation: Callable[[str], Evaluation[Any, Any, Any]], also: Collection[str] = ()
) -> Taken:
    """Store the answers of a folder that its runs wait for, and finish the runs that wait for no more.

    A folder may hold answers to several rounds, and a round's requests are known once the last one's answers
    are stored. So it is read again as long as that brings something.

    Args:
        also: further names of the models that servers name.

    Raises:
        EngineError: a model, a pack or an evaluation has changed since the export.
    """
    before = 0
    while True:
        taken = _take_in(folder, evaluation, also)
        before, is_new = before + taken.stored, taken.stored > 0
        if not (is_new and taken.left and STRANGE in taken.refused):
            earlier = before - taken.stored
            return replace(taken, stored=before, known=max(0, taken.known - earlier))


def _take_in(
    folder: Folder, evaluation: Callable[[str], Evaluation[Any, Any, Any]], also: Collection[str]
) -> Taken:
    """Return what ``take_in`` does in one reading."""
    taken, manifest = Taken(), folder.manifest()
    with _where(manifest):
        sessions = sessions_of(manifest, evaluation)
        for session in sessions:
            records.start(session)
        _read_all(folder, sessions, manifest, taken, also)
        for session in sessions:
            _finish(session, taken)
    return taken


def _read_all(
    folder: Folder,
    sessions: Sequence[RunSession],
    manifest: Mapping[str, Any],
    taken: Taken,
    also: Collection[str],
) -> None:
    """Store the answers in a folder's files; what tells their places is gone before numbers are computed."""
    with folder.whole(folders.REFUSED) as refused:
        intake = _Intake(sessions, manifest, taken, refused, also)
        for name, file, why in folder.answers():
            if file is None:
                intake.refuse((name, 0), why)
                continue
            for number, text in folders.lines_of(file):
                intake.add(text, (name, number))
        intake.flush()


def again(folder: Folder, evaluation: Callable[[str], Evaluation[Any, Any, Any]]) -> list[RunSession]:
    """Return new sessions of the runs that a folder belongs to. Raises EngineError as ``take_in`` does."""
    with _where(manifest := folder.manifest()):
        return sessions_of(manifest, evaluation)


def sessions_of(
    manifest: Mapping[str, Any], evaluation: Callable[[str], Evaluation[Any, Any, Any]]
) -> list[RunSession]:
    """Return a session for each run of a manifest. Raises EngineError as ``take_in`` does."""
    sessions = []
    for run in manifest["runs"]:
        own = evaluation(run["evaluation"])
        with steps.in_dtypes(run["dtypes"]):
            session = prepare(own, own.params(**run["params"]))
        if (found := _described(session)) != run:
            changed = [name for name in run if found.get(name) != run[name]]
            raise EngineError(
                f"{run['evaluation']}: its {' and '.join(changed)} differ from those at the export: put back "
                "what has changed since, or export again with the run's options"
            )
        sessions.append(session)
    return sessions


def _where(manifest: Mapping[str, Any]) -> AbstractContextManager[None]:
    """Stay where the export was made, if that is here: params may hold relative paths."""
    place = Path(str(manifest["folder"]))
    return chdir(place) if place.is_dir() else nullcontext()


def _finish(session: RunSession, taken: Taken) -> None:
    """Make the rows of a session's runs, unless requests are left."""
    session.plan_round()
    _embed(session)
    records.add_requests(session)
    name = session.evaluation.name
    if n := sum(len(work.units) for work in session.plan.work):
        taken.left[name] = n
        return
    try:
        with handed_over(session):
            evaluate(session.evaluation, session.params)
    except EngineError as error:
        taken.failures.append(f"{name}: {error}")
    if any(map(runs.is_finished, session.run_ids().values())):
        taken.finished[name] = session.config


def _described(session: RunSession) -> dict[str, Any]:
    """Return what a manifest says of a run."""
    every = {**session.candidates, **session.engines}
    return {
        "evaluation": session.evaluation.name,
        "params": session.params.model_dump(mode="json"),
        "configuration": session.config,
        "engines": {name: engine.hash for name, engine in every.items()},
        "dtypes": {
            name: spec.dtype
            for name, engine in every.items()
            if (spec := engine.spec) is not None and has_weights(spec)
        },
    }


def _embed(session: RunSession) -> None:
    """Have the study's embedders work until they have nothing to do."""
    while works := [work for work in session.plan.work if work.wanted.request.ability == "embed"]:
        session.ids = session.ids or session.run_ids()
        for work in works:
            stored = steps.store(_answered(session, work, None))
            session.record_answers(work, stored)
        session.plan_round()


def _answered(session: RunSession, work: Work, engine: Away | None) -> steps.Answered:
    """Return the answers to a piece of work, by its own engine if none is given."""
    model = work.wanted.model or next(iter(session.ids))
    return steps.complete(
        work, (session.ids[model], model), Meter(Budget()), work.label, len(work.units), engine
    )


def _asked(work: Work, away: Away) -> Iterator[tuple[Wanted, str, list[Form]]]:
    """Yield each unit of a piece of work with what its request asks the engine for."""
    request = work.wanted.request
    try:
        request.compute_together(
            [(piece.wanted.request, piece.units) for piece in work.pieces], away, lambda n: None
        )
        raise AssertionError("an engine that works elsewhere has no answers yet")
    except Asked as asked:
        forms = iter(asked.forms)
    for piece in work.pieces:
        for unit in piece.units:
            n = piece.wanted.request.size([unit]) if request.kind == "pair_score" else 1
            yield piece.wanted, unit, [next(forms) for _ in range(n)]


class _Lines:
    """The files of requests that an export writes."""

    def __init__(self, folder: Folder, files: ExitStack) -> None:
        self.folder, self._open = folder, files
        self.engines: dict[str, dict[str, Any]] = {}
        self.files: list[dict[str, Any]] = []
        self._away = aways()
        self._current: dict[tuple[str, str], tuple[dict[str, Any], IO[str]]] = {}
        self._named: set[str] = set()
        self._lists: dict[tuple[str, str], tuple[Any, str]] = {}

    def away(self, engine: Engine) -> Away:
        """Return what stands for an engine, and describe it. Raises EngineError if it works only here."""
        away = self._away(engine)
        if engine.hash not in self.engines:
            self.engines[engine.hash] = described(away, engine)
        return away

    def add(self, wanted: Wanted, unit: str, forms: list[Form]) -> None:
        """Write the line of a unit, once."""
        name = custom_id(wanted.request_hash, unit)
        if name in self._named:
            return
        self._named.add(name)
        key = (wanted.engine.hash, wanted.request.ability)
        described, file = self._file(key, wanted.engine.name)
        rule = wanted.request.rule(wanted.engine)
        described["rules"] += [rule] if rule not in described["rules"] and rule != "none" else []
        if "body" in forms[0]:
            own = forms[0]
            file.write(line_of(name, {"method": "POST", **own}))
        else:
            file.write(line_of(name, {"groups": [self._shared(form, key, file) for form in forms]}))
        described["lines"] += 1

    def _shared(self, form: Form, key: tuple[str, str], file: IO[str]) -> Form:
        """Return a form with a long list of continuations by name; the list is written before."""
        rests = form["continuations"]
        if len(rests) < LONG:
            return form
        last, name = self._lists.get(key, (None, ""))
        if last is not rests:
            name = digest(rests)
            if (known := f"{key} {name}") not in self._named:
                file.write(json.dumps({"list": name, "continuations": rests}, separators=(",", ":")) + "\n")
                self._named.add(known)
            self._lists[key] = rests, name
        return {"list": name, **{field: value for field, value in form.items() if field != "continuations"}}

    def _file(self, key: tuple[str, str], engine: str) -> tuple[dict[str, Any], IO[str]]:
        """Return a file for one more line; prompts go to another file after MOST_LINES."""
        own = self._current.get(key)
        if own is None or (key[1] == "generate" and own[0]["lines"] >= MOST_LINES):
            number = 1 + sum((each["engine"], each["ability"]) == key for each in self.files)
            name = folders.file_name(engine, *key, number)
            entry = {"file": name, "engine": key[0], "ability": key[1], "rules": [], "lines": 0}
            own = (entry, self._open.enter_context(self.folder.whole(f"{folders.REQUESTS}/{name}")))
            self._current[key] = own
            self.files.append(entry)
        return own


def aways() -> Callable[[Engine], Away]:
    """Return a function that gives what stands for an engine that works elsewhere, one for each engine."""
    models, made = Warehouse.open().home / "models", dict[str, Away]()

    def away_of(engine: Engine) -> Away:
        assert engine.spec is not None, "embedders work here"
        if engine.hash not in made:
            made[engine.hash] = Away(engine.spec, f"{engine.name}@{engine.hash}", models)
        return made[engine.hash]

    return away_of


def described(away: Away, engine: Engine) -> dict[str, Any]:
    """Return what a manifest says of an engine; never its address, which may hold a password.

    Raises:
        EngineError: nothing would tell its weights from others.
    """
    spec = away.spec
    fields = ("kind", "model", "revision", "content", "options", "batch_tokens", "tensor_parallel")
    own = {"name": engine.name, **spec.model_dump(mode="json", include=set(fields))}
    if spec.is_served:
        return own | {"dtype": None, "weights": None, "folder": "", "served_as": ""}
    weights = folders.weights_in(away.folder, hashes_in(away.cache))
    if weights is None and spec.revision is None:
        raise EngineError(f"there are no safetensors in {away.folder}, so no runner could prove what it runs")
    return own | {
        "dtype": spec.dtype,
        "weights": weights,
        "folder": str(away.folder.resolve()),
        "served_as": f"{engine.name}@{engine.hash}",
    }


Place = tuple[str, int]
"""(file, line)"""


class _Intake:
    """Checks answers, holds some, and stores them as parts, by the code that stores a run's."""

    def __init__(
        self,
        sessions: Sequence[RunSession],
        manifest: Mapping[str, Any],
        taken: Taken,
        refused: IO[str],
        also: Collection[str],
    ) -> None:
        self.taken, self.engines = taken, manifest["engines"]
        self._refused, self._also = refused, also
        self._away, self._n_listed = aways(), 0
        self._signs: dict[str, float | int] = {}
        self._places: dict[str, tuple[RunSession, Wanted, str]] = {}
        self._open: set[str] = set()
        for session in sessions:
            missing = {answer for line in session.plan.lines for answer in line.answers}
            for wanted in session.wanted:
                for unit in dict.fromkeys(wanted.request.units):
                    name = custom_id(wanted.request_hash, unit)
                    self._places.setdefault(name, (session, wanted, unit))
                    if (wanted.request_hash, unit) in missing:
                        self._open.add(name)
        self._held: dict[Any, tuple[RunSession, dict[int, tuple[Wanted, dict[str, tuple[Any, Place]]]]]] = {}
        self._n_bytes = self._n_units = 0

    def add(self, text: bytes | None, place: Place) -> None:
        """Take an answer, or refuse it."""
        try:
            name, line = parsed(text)
            if name not in self._places:
                raise Refused(STRANGE)
            if name not in self._open and name not in self._signs:
                self.taken.known += 1
                return
            session, wanted, unit = self._places[name]
            answer = self._read(line, text or b"", wanted, unit)
            sign = sign_of(answer)
            if not agree(self._signs.setdefault(name, sign), sign):
                raise Refused("it differs from an earlier answer to the same request, which counts")
        except Refused as refused:
            return self.refuse(place, str(refused))
        if name not in self._open:
            self.taken.known += 1
            return
        self._open.discard(name)
        request = wanted.request
        kind = type(request) if request.joins else id(wanted)
        key = (id(session), wanted.engine.hash, wanted.model, kind)
        own = self._held.setdefault(key, (session, {}))[1].setdefault(id(wanted), (wanted, {}))
        own[1][unit] = answer, place
        self._n_bytes += len(text or b"")
        self._n_units += 1
        if self._n_bytes >= BATCH_BYTES or self._n_units >= BATCH_UNITS:
            self.flush()

    def flush(self) -> None:
        """Store what is held."""
        held, self._held = self._held, {}
        self._n_bytes = self._n_units = 0
        for session, own in held.values():
            work = Work(tuple(Piece(wanted, tuple(answers)) for wanted, answers in own.values()))
            away = self._away(work.wanted.engine)
            away.answers = [answer for _, answers in own.values() for answer, _ in answers.values()]
            try:
                stored = steps.store(_answered(session, work, away))
            except EngineError as error:
                for _, answers in own.values():
                    for _, place in answers.values():
                        self.refuse(place, str(error))
                continue
            session.record_answers(work, stored)
            self.taken.stored += len(stored)

    def refuse(self, place: Place, reason: str) -> None:
        """Count a refused line, or file without a number, and write it down."""
        name, number = place
        reason = reason if reason in self.taken.refused or len(self.taken.refused) < MOST_REASONS else OTHER
        n, first = self.taken.refused.get(reason, (0, f"{name} line {number}" if number else name))
        self.taken.refused[reason] = (n + 1, first)
        self._n_listed += 1
        if self._n_listed <= MOST_LISTED:
            self._refused.write(json.dumps({"file": name, "line": number, "reason": reason}) + "\n")

    def _read(self, line: dict[str, Any], text: bytes, wanted: Wanted, unit: str) -> Scores | Generation:
        """Return the answer in a line. Raises Refused if there is none of the engine that is asked for."""
        engine, request = self.engines.get(wanted.engine.hash), wanted.request
        if engine is None:
            raise Refused("it answers a request that was not in the export")
        is_scored = request.ability != "generate"
        is_stated = is_scored or (engine["dtype"] is not None and "engine" in line)
        if is_stated and (fault := folders.fault_of(line.get("engine"), engine)):
            raise Refused(fault)
        if is_scored:
            return scores_of(line, request.size([unit]), MORE.get(request.kind, ""))
        answer, named = self._away(wanted.engine).generation_of(text)
        if not is_stated and (fault := folders.name_fault(named, engine, self._also)):
            raise Refused(fault)
        return answer
