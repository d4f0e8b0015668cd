"""Checks each server's key by one small request, before anything is embedded or sent."""

from __future__ import annotations

from flows.session import SHARED, RunSession
from tasks.engines import load
from tasks.engines.protocols import EngineError
from tasks.loop.requests import Engine


def check_keys(session: RunSession) -> None:
    """Drop models and judges whose server refuses the key.

    Raises:
        EngineError: no model is left.
    """
    if not session.plan.left:
        return
    needed = {line.engine.hash for line in session.plan.lines if line.work}
    for name in session.remaining():
        if session.candidates[name].hash in needed and (error := _key_error(session.candidates[name])):
            session.drop(name, error)
    for engine, role in session.evaluation.engines(session.params).items():
        if not session.remaining() or (error := _key_error(session.engines[engine])) is None:
            continue
        if role not in session.evaluation.optional:
            for name in session.remaining():
                session.drop(name, error)
            continue
        engine_name = session.engines[engine].name
        session.failed_engines |= {(name, engine_name) for name in (*session.remaining(), SHARED)}
        session.report_failure(f"{role} {error}")
    if not session.remaining():
        session.raise_failures()


def _key_error(engine: Engine) -> EngineError | None:
    """Return the error if an engine's server refuses its key, else None."""
    try:
        if engine.spec is not None:
            load.check_key(engine.spec)
    except EngineError as error:
        return error
    return None
