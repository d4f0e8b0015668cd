"""Ends a flow run as crashed if its store is unreachable, and says whether a user has cancelled it.

The pool's automations run a crashed run again. Prefect calls a run crashed if something other than an
``Exception`` ended it. Only runs of a deployment are ended in this way; all other runs raise ``StoreAway``
itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
from prefect.client.orchestration import get_client
from prefect.context import FlowRunContext
from prefect.exceptions import PrefectException
from prefect.runtime import flow_run

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


def is_cancelled() -> bool:
    """Return whether a user has cancelled the current flow run, or the one that it is part of.

    False outside of a flow run, and if Prefect's server does not say.
    """
    if FlowRunContext.get() is None:
        return False
    try:
        with get_client(sync_client=True) as client:
            own = [client.read_flow_run(each) for each in {flow_run.id, flow_run.root_flow_run_id} if each]
    except (httpx.HTTPError, PrefectException):
        return False
    states = [run.state for run in own if run.state is not None]
    return any(state.is_cancelling() or state.is_cancelled() for state in states)
