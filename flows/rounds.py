"""Works off a session: which engine works on which requests, several at once, and what is sent next.

Engines on this machine share one *slot* and take turns, unless they are placed on devices (``places``). Every
placed or served engine has a slot of its own; a placed one works while it has a place, and at most
``AT_ONCE`` engines of a server work at a time. A slot claims all planned lines of one engine for one
model. When they are stored, or in a dialogue when half of them are, the planner gets the model's next
requests from the evaluation. Meanwhile the slots continue with planned lines. No number depends on the order
of work: an answer depends only on its request.

The input of a slot is *lines*: requests with engine, sampling, schema and units, all values. Its output is
frames, which the writer thread stores as parts while the engine continues. So lines could also be worked off
on another machine.

On this machine an engine may have to be unloaded for another. So a model's dialogues with its simulator are
finished before the next model begins, and judges and embedders follow after all models, unless their engines
fit into memory together.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from threading import BoundedSemaphore, Condition, Thread

from flows import records
from flows.places import Places
from flows.session import RunSession
from tasks.engines.protocols import EngineError
from tasks.engines.served.providers import SERVERS, server
from tasks.loop import progress, steps
from tasks.loop.plan import TALK, PlanLine, Wanted, Work
from tasks.loop.requests import Engine

HERE = ""
"""The slot of all engines on this machine."""
AT_ONCE = 4
"""Most engines of one server at work at a time, because servers often limit an account as a whole."""
UNSAVED = 1
"""Most parts that wait to be stored while their engine works on the next: a kill loses these two at most."""


def label_of(wanted: Wanted, talk: bool = False) -> str:
    """Return the progress bar's label for the work of an engine for a model.

    talk: whether the evaluation has a simulator; all turns of a model and its simulator share one label.
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
    """The rounds of one session, until nothing is left. An instance serves one ``work_off``."""

    def __init__(self, session: RunSession) -> None:
        """Take a session that is started and planned."""
        self.session = session
        self._changed = Condition()
        self._busy: dict[str, tuple[PlanLine, ...]] = {}
        self._due: set[str] = set()
        """Models that the planner has to plan again."""
        self._is_planning = False
        self._error: BaseException | None = None
        self._is_stopped = False
        self._writer = ThreadPoolExecutor(1, "writer")
        self._unsaved = BoundedSemaphore(UNSAVED)
        self._n_stored: Counter[int] = Counter()
        """id() of a line -> number of its parts that are stored."""
        self._n_done: Counter[int] = Counter()
        """id() of a line at work -> number of its parts that are answered or given up."""
        self._bars = _Bars(session)
        self._places = Places(session)
        roles = session.evaluation.engines(session.params)
        self._simulators = {
            session.engines[name].hash
            for name, role in roles.items()
            if role == "simulator" and self._slot_of(session.engines[name]) == HERE
        }
        self._used: set[str] = set()
        """Hashes of engines that have had a slot. No second model begins before all simulators had one."""
        self._begun: set[str] = set()
        """Models whose dialogues have begun."""

    def work_off(self) -> None:
        """Work off the plan; the session records engines that fail (``RunSession.record_failure``).

        Engines of this machine work in the calling thread, so that Ctrl-C reaches them.

        Raises:
            EngineError: an engine left answers out. Anything else: as the store or ``ask`` raised it.
        """
        engines = [*self.session.candidates.values(), *self.session.engines.values()]
        slots = dict.fromkeys(slot for engine in engines if (slot := self._slot_of(engine)) != HERE)
        jobs = [self._plan, *(partial(self._run, slot) for slot in slots)]
        threads = [Thread(target=copy_context().run, args=(job,), daemon=True) for job in jobs]
        planner, *_ = threads
        for thread in threads:
            thread.start()
        try:
            self._run(HERE)
            for thread in threads:
                thread.join()
        finally:
            self._stop()
            self._places.close()
            self._writer.shutdown()
            planner.join()  # a query that goes on while Python ends would abort the process
        if self._error:
            raise self._error

    def _slot_of(self, engine: Engine) -> str:
        """Return the slot of an engine: its hash if it is served or placed, else HERE."""
        is_served = engine.spec is not None and engine.spec.is_served
        return engine.hash if is_served or self._places.is_placed(engine.hash) else HERE

    def _run(self, slot: str) -> None:
        """Work in a slot until nothing is left for any slot."""
        try:
            while lines := self._next(slot):
                self._work_on(lines)
                self._leave(slot, lines)
        except BaseException as error:
            self._stop(error)
            if slot == HERE and not isinstance(error, Exception):
                raise  # Ctrl-C: do not wait for the other slots

    def _next(self, slot: str) -> tuple[PlanLine, ...]:
        """Claim the next lines for a slot; wait until there are some. None: the rounds are over."""
        with self._changed:
            while not (self._is_stopped or self._is_over()):
                if self._arrange():
                    self._changed.notify_all()
                if not (lines := self._choose(slot)):
                    self._changed.wait()
                elif self.session.claim(lines):
                    self._busy[slot] = lines
                    return lines
            self._changed.notify_all()
            return ()

    def _is_over(self) -> bool:
        return not (self._busy or self._due or self._is_planning or self.session.plan.left)

    def _choose(self, slot: str) -> tuple[PlanLine, ...]:
        """Return the lines of the engine and model that a slot works on next; none if it has to wait."""
        own = [line for line in self.session.plan.lines if line.work and self._slot_of(line.engine) == slot]
        if not own or (slot != HERE and not self._has_place(own)):
            return ()
        fitting = self._fitting(own) if slot == HERE else own
        if not fitting and self._may_continue():
            return ()  # a dialogue may need its engine again, so unload none for another yet
        first = min(fitting or own, key=lambda line: (line.role not in TALK, line.model not in self._begun))
        if first.role in TALK:
            self._begun.add(first.model)
        self._used.add(first.engine.hash)
        return tuple(
            line for line in own if (line.engine.hash, line.model) == (first.engine.hash, first.model)
        )

    def _fitting(self, lines: list[PlanLine]) -> list[PlanLine]:
        """Return the lines for which no engine of this machine has to be unloaded."""
        is_talk = any(line.role in TALK and line.model in self._begun for line in lines)
        if not (self._may_continue() or len({line.engine.hash for line in lines}) > 1):
            return lines
        if (is_talk or self._may_continue()) and not self._simulators <= self._used:
            lines = [line for line in lines if line.model in self._begun]  # the simulator needs memory first
        return [line for line in lines if steps.fits(line.engine)]

    def _may_continue(self) -> bool:
        """Return whether a current dialogue may soon have more to send."""
        talks = (line.role in TALK for lines in self._busy.values() for line in lines)
        return bool(self._due) or self._is_planning or any(talks)

    def _arrange(self) -> bool:
        """Give places to engines that are placed; return whether one has begun."""
        lines = [*self.session.plan.lines, *(line for own in self._busy.values() for line in own)]
        at_work = any(map(self._places.is_placed, self._busy))
        is_settled = not (self._due or self._is_planning or at_work)
        return self._places.arrange(lines, self._n_done, is_settled)

    def _has_place(self, lines: list[PlanLine]) -> bool:
        """Return whether a slot of its own may begin with its lines: on its devices, or at its server."""
        engine = lines[0].engine
        if self._places.is_placed(engine.hash):
            return self._places.has(engine.hash) or self._places.is_given_up(lines)
        busy = [own[0].engine for slot, own in self._busy.items() if slot != HERE]
        served = [other for other in busy if not self._places.is_placed(other.hash)]
        return sum(_server_of(other) == _server_of(engine) for other in served) < AT_ONCE

    def _leave(self, slot: str, lines: Collection[PlanLine]) -> None:
        """Free a slot, and have its models planned again if they may have more to send."""
        with self._changed:
            del self._busy[slot]
            for line in lines:
                del self._n_done[id(line)]
            models = self.session.release(lines)
            under_way = {line.model for own in self._busy.values() for line in own}
            under_way |= {line.model for line in self.session.plan.lines if line.work}
            is_talk = any(line.role in TALK for line in lines)
            # Judges' answers lead to further requests only when all of them are stored.
            own = {line.model for line in lines}
            self._due |= {m for m in models if m not in own or is_talk or m not in under_way}
            self._changed.notify_all()

    def _plan(self) -> None:
        """Plan the next requests of models that are due, until nothing is left for any slot."""
        try:
            while models := self._next_due():
                self.session.plan_round(models)
                records.add_requests(self.session, models)
                with self._changed:
                    self._is_planning = False
                    lines = [*self.session.plan.lines, *(line for own in self._busy.values() for line in own)]
                    over = models - {line.model for line in lines if line.work and line.role in TALK}
                    self._bars.end(over)
                    self._places.end_dialogues(over)
                    self._changed.notify_all()
        except BaseException as error:
            self._stop(error)

    def _next_due(self) -> set[str]:
        """Return the models that are due; wait until there are some. None: the rounds are over."""
        with self._changed:
            while not (self._is_stopped or self._is_over()):
                if self._due:
                    models, self._due, self._is_planning = self._due, set(), True
                    return models
                self._changed.wait()
            self._changed.notify_all()
            return set()

    def _stop(self, error: BaseException | None = None) -> None:
        """Let no slot begin any more work."""
        with self._changed:
            self._error, self._is_stopped = self._error or error, True
            self._changed.notify_all()

    def _work_on(self, lines: Collection[PlanLine]) -> None:
        """Generate and store the answers of lines, part by part."""
        for line in lines:
            pending: deque[Future[None]] = deque()
            with self._changed:
                label, total = self._bars.begin(line)
            answer = partial(self._answer, line, label, total, pending)
            steps.with_each(partial(self._counted, line, answer), line.work, line.engine)
            for write in pending:
                write.result()
            del self._n_stored[id(line)]

    def _counted(self, line: PlanLine, answer: Callable[[Work], None], work: Work) -> None:
        """Work on a part of a line, and count it, answered or given up."""
        try:
            answer(work)
        finally:
            with self._changed:
                self._n_done[id(line)] += 1

    def _answer(
        self, line: PlanLine, label: str, total: int, pending: deque[Future[None]], work: Work
    ) -> None:
        """Generate the answers of one part, unless its model or engine has failed; the writer stores them."""
        session, wanted = self.session, work.wanted
        if self._is_stopped or wanted.model in session.dropped or session.has_failed(wanted):
            return
        with suppress(IndexError):  # threads of replicas share the queue
            while pending[0].done():
                pending.popleft().result()
        model = wanted.model or next(iter(session.ids))
        run, meter = (session.ids[model], model), session.meter(wanted.model)

        def answer() -> None:
            if self._is_stopped:  # its copy was ended with the run
                return
            for share in steps.shares(work, meter):
                answered = steps.complete(share, run, meter, label, total)
                self._unsaved.acquire()
                store = partial(self._store, line, share, answered)
                pending.append(self._writer.submit(copy_context().run, store))
                if steps.is_shared():
                    pending[-1].result()  # store it before its lease ends
                if answered.failure:
                    raise answered.failure
            self._bars.done[label] += len(work.units)
            if steps.is_shared():
                # Those of other machines too; what they have lost is missing, and a later run sends it.
                known = {answer for answer in work.answers if not session.is_lost(answer)}
                session.record_answers(work, known, is_whole=False)

        try:
            steps.step(wanted.request.ability, answer, f"{label}: {work.label}, part {work.part[:8]}")
        except EngineError as error:
            if not self._is_stopped:
                session.record_failure(wanted, error)

    def _store(self, line: PlanLine, work: Work, answered: steps.Answered) -> None:
        """Store answers; once half of a dialogue's line is stored, have its model planned again."""
        try:
            stored = steps.store(answered)
        finally:
            self._unsaved.release()
        self.session.record_answers(work, stored, answered.failure is None, answered.lost)
        with self._changed:
            self._n_stored[id(line)] += 1
            if line.role in TALK and self._n_stored[id(line)] == len(line.work) // 2:
                self._due.add(line.model)
                self._changed.notify_all()


class _Bars:
    """Totals of the progress bars, by label.

    A dialogue's total is its largest possible number of turns, so that the time left does not rise. When it
    is over, the total becomes the real number.
    """

    def __init__(self, session: RunSession) -> None:
        """Take a session with its first plan."""
        self.done: Counter[str] = Counter()
        self._totals: dict[str, int] = {}
        self._is_talk = "simulator" in session.evaluation.engines(session.params).values()
        self._later: dict[bool, int] = {
            is_shared: sum(e.n for e in session.plan.later if e.role in TALK and e.is_shared == is_shared)
            for is_shared in (False, True)
        }

    def begin(self, line: PlanLine) -> tuple[str, int]:
        """Return the label and the total of a line whose work begins."""
        label = label_of(line.work[0].wanted, self._is_talk)
        is_new = label not in self._totals
        if not (self._is_talk and line.role in TALK):
            self._totals[label] = self._totals.get(label, 0) + line.left
        elif label not in self._totals:
            self._totals[label] = line.left + self._later[not line.model]
        else:  # a dialogue that continues after ``end``
            self._totals[label] = max(self._totals[label], self.done[label] + line.left)
        if is_new:  # start its clock now, since other labels report meanwhile
            progress.report(label, 0, self._totals[label])
        return label, self._totals[label]

    def end(self, models: Iterable[str]) -> None:
        """Report that the dialogues of models are over."""
        for model in models:
            label = f"{model or 'null models'}: conversations"
            done = self.done[label]
            if self._is_talk and done and self._totals.get(label) != done:
                self._totals[label] = done
                progress.report(label, 0, done)


def _server_of(engine: Engine) -> str:
    """Return the address of an engine's server."""
    spec = engine.spec
    assert spec is not None, "an engine with a slot of its own is served"
    return server(spec.base_url or SERVERS[spec.kind].url)
