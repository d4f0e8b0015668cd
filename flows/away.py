"""Ends a flow run as crashed if its store is unreachable, so that the pool's automations run it again.

Prefect calls a run crashed if something other than an ``Exception`` ended it. Only runs of a deployment are
ended in this way; all other runs raise ``StoreAway`` itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prefect.context import FlowRunContext

from warehouse import StoreAway


class StoreUnreachable(BaseException):
    """The store did not respond within the time limit; the answers so far are kept on this machine."""


@contextmanager
def crashed_if_away() -> Iterator[None]:
    """Raise ``StoreUnreachable`` in place of ``StoreAway`` if a deployment started the current flow run."""
    try:
        yield
    except StoreAway as error:
        context = FlowRunContext.get()
        if context and context.flow_run and context.flow_run.deployment_id:
            raise StoreUnreachable(str(error)) from error
        raise
