"""Checks the keys of servers by one small request each, before anything is embedded or sent."""

from __future__ import annotations

from flows.session import SHARED, RunSession
from tasks.engines import load
from tasks.engines.protocols import EngineError
from tasks.loop import steps
from tasks.loop.requests import Engine


def check_keys(session: RunSession) -> None:
    """Give up models and judges whose server refuses the key, before anything is answered.

    Raises:
        EngineError: no model is left.
    """
    if not session.plan.left:
        return
    at_work = {line.engine.hash for line in session.plan.lines if line.work}
    for name in session.alive():
        if session.candidates[name].hash in at_work and (error := _key_error(session.candidates[name])):
            session.lose(name, error)
    for engine, role in session.evaluation.engines(session.params).items():
        if not session.alive() or (error := _key_error(session.engines[engine])) is None:
            continue
        if role not in session.evaluation.optional:
            for name in session.alive():
                session.lose(name, error)
            continue
        session.barred |= {(name, session.engines[engine].name) for name in (*session.alive(), SHARED)}
        session.failures.append(f"{role} {error}")
        steps.logger().error("%s", session.failures[-1])
    if not session.alive():
        session.raise_failures()


def _key_error(engine: Engine) -> EngineError | None:
    """Return why the server of an engine refuses its key; None: it does not, or there is none."""
    try:
        if engine.spec is not None:
            load.check_key(engine.spec)
    except EngineError as error:
        return error
    return None
