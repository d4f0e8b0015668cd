"""A flow run whose store went away ends as crashed: the automations of a pool run such a run again.

Prefect calls a run crashed where no ``Exception`` ended it. By hand, and under another flow, the error is
raised as it is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from prefect.context import FlowRunContext

from warehouse import StoreAway


class GaveUp(BaseException):
    """The store did not answer for as long as patience lasts; what is answered waits on this machine."""


@contextmanager
def crashed_if_away() -> Iterator[None]:
    """Make the flow run under way a crashed one where its store went away, if a deployment started it."""
    try:
        yield
    except StoreAway as error:
        context = FlowRunContext.get()
        if context and context.flow_run and context.flow_run.deployment_id:
            raise GaveUp(str(error)) from error
        raise
