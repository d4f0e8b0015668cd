"""The rounds of a session: who works on what, at once where it can be, and what is asked next.

Engines that run on this machine share it, so they have one *slot* and take turns. Every served engine has a
slot of its own; at most ``AT_ONCE`` of a server work at a time. A slot takes all that is planned of one
engine for one model. Once that is stored, and in a talk once half of it is, the planner asks the evaluation
what follows for that model, while the slots go on with what is planned already. No number depends on who was
first: an answer depends on its request alone.

A slot is given *lines*: requests with their engine, sampling, schema and units, all values. It gives back
frames, which the keeper writes as parts while the engine works on. So lines could be answered elsewhere too.

On this machine an engine may have to leave for another. So a model talks with its simulator through all turns
before the next model begins, and judges and embedders come after all of them, unless they fit beside.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import BoundedSemaphore, Condition, Thread

from flows.session import RunSession
from tasks.engines.protocols import EngineError
from tasks.engines.served.providers import SERVERS, server
from tasks.loop import progress, steps
from tasks.loop.plan import TALK, PlanLine, Wanted, Work
from tasks.loop.requests import Engine

HERE = ""
"""The slot of all engines of this machine."""
AT_ONCE = 4
"""Engines of one server that are asked at a time: limits are often a server's or an account's."""
UNSAVED = 1
"""Parts that are being stored while their engine works on the next: a kill loses these two at most."""


def slot_of(engine: Engine) -> str:
    """Return the slot of an engine: HERE, or its hash if it is served."""
    return engine.hash if engine.spec and engine.spec.is_served else HERE


def label_of(wanted: Wanted, talk: bool = False) -> str:
    """The name that progress shows for the work of an engine for a model.

    talk: whether a simulator takes turns with the model: all their turns then have one name.
    """
    engine, model = wanted.engine.name, wanted.model
    if talk and wanted.request.role in TALK:
        return f"{model or 'null models'}: conversations"
    labels = {
        "judge": f"{engine} judges {model or 'null models'}",
        "embedder": f"embed {model or wanted.request.label}",
        "simulator": f"{engine} talks with {model or 'null models'}",
    }
    return labels.get(wanted.request.role, engine)


class Rounds:
    """The rounds of one session, from its plan to where nothing is left. For one ``work_off``."""

    def __init__(self, session: RunSession) -> None:
        """The session is started and planned."""
        self.session = session
        self._changed = Condition()
        self._busy: dict[str, tuple[PlanLine, ...]] = {}
        self._due: set[str] = set()
        """Models that are to be asked about again."""
        self._is_planning = False
        self._error: BaseException | None = None
        self._is_stopped = False
        self._keeper = ThreadPoolExecutor(1, "keeper")
        self._unsaved = BoundedSemaphore(UNSAVED)
        self._n_stored: Counter[int] = Counter()
        """Line, by its identity -> how much of its work is stored."""
        self._bars = _Bars(session)
        roles = session.evaluation.engines(session.params)
        self._simulators = {
            session.engines[name].hash
            for name, role in roles.items()
            if role == "simulator" and slot_of(session.engines[name]) == HERE
        }
        self._used: set[str] = set()
        """Engines that have had a slot: until the simulators have, no second model begins."""
        self._begun: set[str] = set()
        """Models that have written, or are written to."""

    def work_off(self) -> None:
        """Have everything answered; engines that fail are the session's to note (``Session.fail``).

        Engines of this machine work in the calling thread, so that Ctrl-C reaches them.

        Raises:
            EngineError: an engine left something unanswered. Anything else: what the store or ``ask`` raised.
        """
        engines = [*self.session.candidates.values(), *self.session.engines.values()]
        slots = dict.fromkeys(slot for engine in engines if (slot := slot_of(engine)) != HERE)
        jobs = [self._plan, *(partial(self._run, slot) for slot in slots)]
        threads = [Thread(target=copy_context().run, args=(job,), daemon=True) for job in jobs]
        for thread in threads:
            thread.start()
        try:
            self._run(HERE)
            for thread in threads:
                thread.join()
        finally:
            self._stop()
            self._keeper.shutdown()
        if self._error:
            raise self._error

    def _run(self, slot: str) -> None:
        """Work at a slot until nothing is left for anybody."""
        try:
            while lines := self._next(slot):
                self._work_on(lines)
                self._leave(slot, lines)
        except BaseException as error:
            self._stop(error)
            if slot == HERE and not isinstance(error, Exception):
                raise  # Ctrl-C: nobody is waited for

    def _next(self, slot: str) -> tuple[PlanLine, ...]:
        """Take what is to be done at a slot; waits until something is. Nothing: the rounds are over."""
        with self._changed:
            while not (self._is_stopped or self._is_over()):
                if lines := self._chosen(slot):
                    self.session.take(lines)
                    self._busy[slot] = lines
                    return lines
                self._changed.wait()
            self._changed.notify_all()
            return ()

    def _is_over(self) -> bool:
        return not (self._busy or self._due or self._is_planning or self.session.plan.left)

    def _chosen(self, slot: str) -> tuple[PlanLine, ...]:
        """The lines of the engine and model that a slot takes next; none where it has to wait."""
        own = [line for line in self.session.plan.lines if line.work and slot_of(line.engine) == slot]
        if not own or (slot != HERE and self._server_is_full(own[0].engine)):
            return ()
        near = self._near(own) if slot == HERE else own
        if not near and self._may_go_on():
            return ()  # who talks now may have more to say before an engine leaves for another
        first = min(near or own, key=lambda line: (line.role not in TALK, line.model not in self._begun))
        if first.role in TALK:
            self._begun.add(first.model)
        self._used.add(first.engine.hash)
        return tuple(
            line for line in own if (line.engine.hash, line.model) == (first.engine.hash, first.model)
        )

    def _near(self, own: list[PlanLine]) -> list[PlanLine]:
        """The lines for which no engine of this machine has to leave."""
        is_talk = any(line.role in TALK and line.model in self._begun for line in own)
        if not (self._may_go_on() or len({line.engine.hash for line in own}) > 1):
            return own
        if (is_talk or self._may_go_on()) and not self._simulators <= self._used:
            own = [line for line in own if line.model in self._begun]  # the simulator needs room first
        return [line for line in own if steps.has_room(line.engine)]

    def _may_go_on(self) -> bool:
        """Whether a talk that is under way may soon ask more."""
        talks = (line.role in TALK for lines in self._busy.values() for line in lines)
        return bool(self._due) or self._is_planning or any(talks)

    def _server_is_full(self, engine: Engine) -> bool:
        busy = [lines[0].engine for slot, lines in self._busy.items() if slot != HERE]
        return sum(_server_of(other) == _server_of(engine) for other in busy) >= AT_ONCE

    def _leave(self, slot: str, lines: Collection[PlanLine]) -> None:
        """Give a slot free; have the planner ask what follows."""
        with self._changed:
            del self._busy[slot]
            models = self.session.give_back(lines)
            under_way = {line.model for own in self._busy.values() for line in own}
            under_way |= {line.model for line in self.session.plan.lines if line.work}
            is_talk = any(line.role in TALK for line in lines)
            # Judges' answers lead to nothing before they are all there.
            own = {line.model for line in lines}
            self._due |= {m for m in models if m not in own or is_talk or m not in under_way}
            self._changed.notify_all()

    def _plan(self) -> None:
        """Ask what follows about models that are due, until nothing is left for anybody."""
        try:
            while models := self._due_now():
                self.session.plan_round(models)
                self.session.add_requests(models)
                with self._changed:
                    self._is_planning = False
                    lines = [*self.session.plan.lines, *(line for own in self._busy.values() for line in own)]
                    self._bars.end(models - {line.model for line in lines if line.work and line.role in TALK})
                    self._changed.notify_all()
        except BaseException as error:
            self._stop(error)

    def _due_now(self) -> set[str]:
        with self._changed:
            while not (self._is_stopped or self._is_over()):
                if self._due:
                    models, self._due, self._is_planning = self._due, set(), True
                    return models
                self._changed.wait()
            self._changed.notify_all()
            return set()

    def _stop(self, error: BaseException | None = None) -> None:
        """Have nobody begin anything more."""
        with self._changed:
            self._error, self._is_stopped = self._error or error, True
            self._changed.notify_all()

    def _work_on(self, lines: Collection[PlanLine]) -> None:
        """Have lines answered and stored, part by part."""
        for line in lines:
            pending: deque[Future[None]] = deque()
            with self._changed:
                label, total = self._bars.begin(line)
            steps.with_each(partial(self._answer, line, label, total, pending), line.work, line.engine)
            for one in pending:
                one.result()
            del self._n_stored[id(line)]

    def _answer(
        self, line: PlanLine, label: str, total: int, pending: deque[Future[None]], work: Work
    ) -> None:
        """Have one part answered, unless its model or judge has failed before; it is stored meanwhile."""
        session, wanted = self.session, work.wanted
        if self._is_stopped or wanted.model in session.lost or session.is_barred(wanted):
            return
        with suppress(IndexError):  # threads of replicas share it
            while pending[0].done():
                pending.popleft().result()
        model = wanted.model or next(iter(session.ids))
        run, meter = (session.ids[model], model), session.meter(wanted.model)

        def answer() -> None:
            for share in steps.shares(work):
                answered = steps.complete(share, run, meter, label, total)
                self._unsaved.acquire()
                keep = partial(self._keep, line, share, answered)
                pending.append(self._keeper.submit(copy_context().run, keep))
                if steps.is_shared():
                    pending[-1].result()  # before its lease ends
                if answered.failure:
                    raise answered.failure
            self._bars.done[label] += len(work.units)
            if steps.is_shared():
                session.note(work, set(work.answers))  # those of other machines too

        try:
            steps.step(wanted.request.ability, answer, f"{label}: {work.label}, part {work.part[:8]}")
        except EngineError as error:
            session.fail(wanted, error)

    def _keep(self, line: PlanLine, work: Work, answered: steps.Answered) -> None:
        """Store what was answered; once half of a talk's line is, have the planner ask what follows on it."""
        try:
            stored = steps.store(answered)
        finally:
            self._unsaved.release()
        self.session.note(work, stored, is_whole=answered.failure is None)
        with self._changed:
            self._n_stored[id(line)] += 1
            if line.role in TALK and self._n_stored[id(line)] == len(line.work) // 2:
                self._due.add(line.model)
                self._changed.notify_all()


class _Bars:
    """Totals that progress shows of each label, as far as they are known.

    A talk has as many turns as there can be, so that the time left does not rise; once it is over, as many as
    there were.
    """

    def __init__(self, session: RunSession) -> None:
        """The session is planned for the first time."""
        self.done: Counter[str] = Counter()
        self._totals: dict[str, int] = {}
        self._is_talk = "simulator" in session.evaluation.engines(session.params).values()
        self._later: dict[bool, int] = {
            is_shared: sum(e.n for e in session.plan.later if e.role in TALK and e.is_shared == is_shared)
            for is_shared in (False, True)
        }

    def begin(self, line: PlanLine) -> tuple[str, int]:
        """The label of a line that begins, and its total."""
        label = label_of(line.work[0].wanted, self._is_talk)
        is_new = label not in self._totals
        if not (self._is_talk and line.role in TALK):
            self._totals[label] = self._totals.get(label, 0) + line.left
        elif label not in self._totals:
            self._totals[label] = line.left + self._later[not line.model]
        else:  # who talks on after the end has been said
            self._totals[label] = max(self._totals[label], self.done[label] + line.left)
        if is_new:  # its time runs from now on: others report meanwhile
            progress.report(label, 0, self._totals[label])
        return label, self._totals[label]

    def end(self, models: Iterable[str]) -> None:
        """Say of models' talks that they are over."""
        for model in models:
            label = f"{model or 'null models'}: conversations"
            done = self.done[label]
            if self._is_talk and done and self._totals.get(label) != done:
                self._totals[label] = done
                progress.report(label, 0, done)


def _server_of(engine: Engine) -> str:
    """The address of the server that has an engine."""
    spec = engine.spec
    assert spec is not None, "an engine of a slot of its own is served"
    return server(spec.base_url or SERVERS[spec.kind].url)
