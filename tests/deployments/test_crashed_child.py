"""A flow run whose process is gone ends with its tasks, and so does each flow run within it."""

from __future__ import annotations

import asyncio
import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any
from uuid import UUID, uuid4

from deployments.serve import serving
from tasks.loop.steps import machine, process_of

SINCE = datetime(2026, 1, 2, tzinfo=UTC)


class Client:
    """Flow runs with their running tasks, in place of Prefect's server."""

    def __init__(self, runs: list[Any], tasks: dict[UUID, list[UUID]]) -> None:
        self.runs, self.tasks = runs, tasks
        self.ended: dict[UUID, str] = {}

    async def read_flow_runs(self, flow_run_filter: Any, sort: Any = None) -> list[Any]:
        return self.runs if flow_run_filter is serving.AT_WORK else []

    async def read_task_runs(self, flow_run_filter: Any, task_run_filter: Any) -> list[Any]:
        assert task_run_filter is serving.TASKS_AT_WORK
        (run,) = flow_run_filter.id.any_
        return [SimpleNamespace(id=task) for task in self.tasks[run]]

    async def set_task_run_state(self, task: UUID, state: Any, force: bool) -> None:
        self.ended[task] = state.name

    async def set_flow_run_state(self, run: UUID, state: Any, force: bool) -> None:
        self.ended[run] = state.name


def flow_run(pid: int, is_cancelling: bool = False) -> Any:
    state = SimpleNamespace(is_cancelling=lambda: is_cancelling, timestamp=SINCE - timedelta(hours=1))
    if pid == os.getpid():
        state.timestamp = datetime.now(UTC)
    return SimpleNamespace(
        id=uuid4(), infrastructure_pid=process_of(pid) or f"{machine()}/1:{pid}", state=state, run_count=1
    )


def test_tasks_of_a_crashed_child_flow_are_closed() -> None:
    gone = 2**31 - 1
    whole, child, cancelled, alive = (
        flow_run(gone),
        flow_run(gone),
        flow_run(gone, is_cancelling=True),
        flow_run(os.getpid()),
    )
    runs = [whole, child, cancelled, alive]
    tasks = {run.id: [uuid4(), uuid4()] for run in runs}
    client: Any = Client(runs, tasks)
    asyncio.run(serving._resume(client, [uuid4()], SINCE))
    ended = {whole.id: "Crashed", child.id: "Crashed", cancelled.id: "Cancelled"}
    ended |= {task: "Crashed" for run in (whole, child, cancelled) for task in tasks[run.id]}
    assert client.ended == ended, "what the living process does goes on"
