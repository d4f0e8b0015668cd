"""``culturescope serve --pool``: the deployments in a Prefect work pool, whose workers run them anywhere.

Nothing is served by this process: it tells the server, and ends. Deployments are in one pool at a time.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterable
from functools import partial
from uuid import UUID

import httpx
from prefect.client.orchestration import PrefectClient, get_client
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.client.schemas.objects import WorkPool
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound, PrefectHTTPStatusError
from prefect.workers.process import ProcessWorker

from deployments.serve import automations, upkeep
from deployments.serve.registered import Wishes, deployments, register
from deployments.serve.server import ServerError
from deployments.show.display import say

NEEDED = ("PREFECT_API_AUTH_STRING", "CULTURESCOPE_WAREHOUSE", "PGPASSWORD", "CULTURESCOPE_PARTS")
"""Environment variables that workers share with this process."""


def to_pool(url: str, name: str, limit: int | None, wishes: Wishes) -> str:
    """Register the deployments to the work pool of that name, made if missing, and its upkeep.

    Args:
        url: the API that this process is pointed at.
        limit: flow runs of the pool that are at work at a time; None: as it is, at first without limit.

    Returns the command that starts a worker; no secret is in it.

    Raises:
        ServerError: the server refuses this, or nobody answers.
    """
    every = deployments(wishes)
    try:
        pool = asyncio.run(_tell(name, limit, every, wishes.cron))
        kept = upkeep.automations(name, pool.type)
        for automation in kept:
            automations.save(automation)
    except (PrefectHTTPStatusError, httpx.HTTPError) as error:
        raise ServerError(f"{url} refuses the work pool {name!r}: {_reason(error)}") from error
    bound = "no limit" if pool.concurrency_limit is None else f"{pool.concurrency_limit} runs at a time"
    say(
        f"work pool    {name} ({pool.type}, {bound})\ndeployments  {len(every)}, {url.removesuffix('/api')}\n"
        f"re-evaluate  {wishes.schedule}\n" + "\n".join(f"automation   {each.description}" for each in kept),
        style="",
    )
    return f"PREFECT_API_URL={shlex.quote(_open(url))} {worker(name, pool.type)}"


def worker(pool: str, kind: str) -> str:
    """The command that starts a worker, one flow run at a time: a run's models fill a machine."""
    return f"prefect worker start --pool {shlex.quote(pool)} --type {shlex.quote(kind)} --limit 1"


async def _tell(
    name: str, limit: int | None, every: Iterable[RunnerDeployment], cron: str | None
) -> WorkPool:
    async with get_client() as client:
        pool = await _pool(client, name, limit)
        await register(client, every, cron, partial(_add, pool=name))
    return pool


async def _pool(client: PrefectClient, name: str, limit: int | None) -> WorkPool:
    """The pool, with that limit; one that is there keeps its type and its job template."""
    try:
        await client.read_work_pool(name)
    except ObjectNotFound:
        template = ProcessWorker.get_default_base_job_template()
        await client.create_work_pool(
            WorkPoolCreate(
                name=name, type="process", base_job_template=template, description="Runs of Culturescope."
            )
        )
    if limit is not None:
        await client.update_work_pool(name, WorkPoolUpdate(concurrency_limit=limit))
    return await client.read_work_pool(name)


async def _add(deployment: RunnerDeployment, pool: str) -> UUID:
    deployment.job_variables = {"env": upkeep.ENVIRONMENT}
    return await deployment.aapply(work_pool_name=pool)


def _open(url: str) -> str:
    """An address without the login that may be in it."""
    return str(httpx.URL(url).copy_with(username=None, password=None))


def _reason(error: Exception) -> str:
    """One line, and what to do where it is the login."""
    if isinstance(error, httpx.HTTPStatusError):
        if error.response.status_code == 401:
            return "it wants a login: set PREFECT_API_AUTH_STRING to that of the server"
        return f"{error.response.status_code} {' '.join(error.response.text.split())[:300]}"
    return str(error) or type(error).__name__
