"""The copies of a session's engines on this machine's devices (``placement``), for ``rounds``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from flows.session import RunSession
from tasks.loop import steps
from tasks.loop.placement import Copy, Job, arranged
from tasks.loop.plan import TALK, PlanLine
from tasks.loop.requests import Role

RANK: Mapping[Role, int] = {"simulator": 0, "candidate": 1, "judge": 2, "embedder": 2}


class Places:
    """Begins and ends copies as ``placement.arranged`` says. Its caller holds a lock."""

    def __init__(self, session: RunSession) -> None:
        """Take a session; without a placement nothing is placed."""
        steps.prepare_places(is_on=session.placement is not None)
        roles, placement = session.evaluation.engines(session.params), session.placement
        self._session, self._copies = session, list[Copy]()
        self._placement = placement
        self._engines = {engine.hash: engine for engine in session.local_engines()} if placement else {}
        self._roles: dict[str, Role] = {engine.hash: "candidate" for engine in session.candidates.values()}
        self._roles = {session.engines[name].hash: role for name, role in roles.items()} | self._roles
        talks = {line.model for line in session.plan.lines if line.work and line.role in TALK}
        talks &= session.candidates.keys() if "simulator" in roles.values() else set()
        self._talking = {session.candidates[name].hash: {name} for name in talks}
        """Engine -> models whose dialogues, in which it speaks, are not over."""
        for name, role in roles.items():
            if role == "simulator":
                self._talking.setdefault(session.engines[name].hash, set()).update(talks)

    def is_placed(self, engine_hash: str) -> bool:
        """Return whether an engine works on devices of its own."""
        return self._placement is not None and engine_hash in self._placement.needs

    def has(self, engine_hash: str) -> bool:
        """Return whether an engine has a place now."""
        return any(copy.engine == engine_hash for copy in self._copies)

    def end_dialogues(self, models: Iterable[str]) -> None:
        """Record that no more turns follow in the dialogues of models."""
        for talking in self._talking.values():
            talking.difference_update(models)

    def arrange(self, lines: Iterable[PlanLine], n_done: Mapping[int, int], is_settled: bool) -> bool:
        """Begin and end copies for the lines that are left; return whether any began.

        Args:
            lines: planned or at work.
            n_done: id() of a line -> number of its parts that need no engine any more.
            is_settled: nothing is being planned, and no placed engine is at work.
        """
        if self._placement is None:
            return False
        parts = Counter[str]()
        for line in lines:
            if line.work and self._is_alive(line):
                parts[line.engine.hash] += len(line.work) - n_done.get(id(line), 0)
        there, jobs = self._placement.node, [self._job(name, parts[name]) for name in self._placement.needs]
        ended, begun = arranged(there, self._copies, jobs, is_settled)
        for name in {copy.engine for copy in ended}:
            steps.displace(self._engines[name])
        self._copies = [copy for copy in self._copies if copy not in ended]
        for copy in begun:
            steps.place(self._engines[copy.engine], copy, there)
            self._copies.append(copy)
        return bool(begun)

    def _job(self, name: str, parts: int) -> Job:
        assert self._placement is not None
        role, talking = (
            self._roles.get(name, "judge"),
            self._talking.get(name, set()) - self._session.dropped.keys(),
        )
        return Job(
            name, self._placement.needs[name], parts, RANK[role], self._placement.most,
            is_kept=bool(talking), is_expected=bool(talking) and role == "simulator",
        )  # fmt: skip

    def _is_alive(self, line: PlanLine) -> bool:
        """Return whether a line's work is not given up."""
        return line.model not in self._session.dropped and not self._session.has_failed(line.work[0].wanted)

    def is_given_up(self, lines: Iterable[PlanLine]) -> bool:
        """Return whether no engine need work on lines, because their models or engines have failed."""
        return not any(map(self._is_alive, lines))

    def close(self) -> None:
        """End all copies at once."""
        for name in {copy.engine for copy in self._copies}:
            steps.displace(self._engines[name])
        self._copies.clear()
