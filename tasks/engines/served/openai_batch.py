"""Sends requests as jobs of OpenAI's Batch API: files answered within a day at about half the price.

A job takes hours and must be paid once the server has it. So notes (``Jobs``), written before and after
sending, record the file and batch of each request. If a run is killed at any point, the next run finds its
jobs and waits for them, and so do concurrent runs; nothing is sent twice. A request without an answer is
removed from its note, and the next run sends it again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from tempfile import TemporaryFile
from typing import Any, TypeVar

from pydantic import BaseModel, Field

from tasks.engines.protocols import EngineError, Generation, Jobs, Lost
from tasks.engines.served.failures import Failed, Unreadable
from tasks.engines.served.openai_reply import BatchResults
from tasks.engines.served.transport import MAX_BYTES, Caller, checked

CHAT = "/v1/chat/completions"
"""Endpoint of each request, independent of the server's address."""
MAX_REQUESTS = 50_000
"""Most requests in one job, by OpenAI's limit."""
MAX_JOB_BYTES = 100 * 2**20
"""Most bytes of the requests in one job; OpenAI accepts twice as many."""
MAX_ANSWER_BYTES = 2**20
"""Most bytes of one answer, on average over a job."""
FILE_S = 900.0
"""Most seconds of one try to send or fetch a file."""
WINDOW = "24h"
"""The server ends a job that takes longer, with the answers so far."""
DEADLINE_S = 26 * 3600.0
"""Most seconds that a call waits; the job continues, and the next run waits for it again."""
FIRST_POLL_S, LONGEST_POLL_S = 1.0, 60.0
"""Bounds of the pause between two polls of a job's state; it doubles."""
MAX_PAGES = 20
"""Most pages of a hundred jobs, newest first, that are searched for a job with an unknown id."""
FINAL = ("completed", "expired", "cancelled", "failed")

T = TypeVar("T")
_log = logging.getLogger("culturemeter")


class _File(BaseModel):
    id: str


class _Batch(_File):
    status: str
    input_file_id: str | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    request_counts: Any = None
    errors: Any = None


class _Page(BaseModel):
    data: list[_Batch]
    has_more: bool = False


class _Job(BaseModel):
    """A note on a job.

    ids: of requests that it has answered or may still answer. batch: None if unknown. age_s: see
        ``Jobs.notes``.
    """

    ids: list[str]
    file: str
    batch: str | None = None
    age_s: float = Field(default=math.inf, exclude=True)

    @property
    def name(self) -> str:
        """The name of the note."""
        return hashlib.sha256(self.file.encode()).hexdigest()[:16]

    def save(self, jobs: Jobs) -> None:
        """Write the note, or delete it if it has no requests left."""
        if self.ids:
            jobs.write(self.name, self.model_dump_json())
        else:
            jobs.delete(self.name)


@dataclass
class Batches:
    """The jobs of one call: those sent earlier, and those that it sends.

    Attributes:
        jobs: notes of all runs on jobs with these requests.
        name: of the engine.
        at: name of its server in messages.
        size: most requests in one job.
        explain: returns the error for a failed call.
        report: called with the number of requests just answered.
    """

    caller: Caller
    jobs: Jobs
    name: str
    at: str
    size: int
    explain: Callable[[Failed], EngineError]
    report: Callable[[int], None]
    failures: list[EngineError] = field(default_factory=list)

    async def send(
        self, requests: Sequence[Mapping[str, Any]], answers: dict[int, Generation], lost: dict[int, Lost]
    ) -> None:
        """Fill ``answers`` and ``lost``, by place, and ``failures``; jobs sent earlier are not sent again."""
        places = {name: place for place, name in enumerate(_names(requests))}
        pending: list[_Job] = []
        # Held until everything is sent, so that a second run with the same requests waits for the same jobs.
        with self.jobs.locked() as jobs:
            try:
                for job in self._earlier_jobs(jobs, places):
                    if job.batch is None:
                        await self._start(jobs, job, is_new=False)
                    pending.append(job)
                sent = {name for job in pending for name in job.ids}
                rest = {name: requests[place] for name, place in places.items() if name not in sent}
                for lines in self._files(rest):
                    pending.append(await self._send_job(jobs, lines))
            except (Failed, EngineError) as failure:
                self._fail(failure)
        for results in await asyncio.gather(*map(self._answers, pending)):
            answers |= {places[name]: answer for name, answer in results.answers.items() if name in places}
            lost |= {places[name]: loss for name, loss in results.lost.items() if name in places}

    def _earlier_jobs(self, jobs: Jobs, names: Mapping[str, int]) -> Iterator[_Job]:
        """Yield the noted jobs with some of these requests."""
        for name, (text, age_s) in jobs.notes().items():
            try:
                job = _Job.model_validate_json(text)
            except ValueError as error:
                raise EngineError(
                    f"engine {self.name!r}: {jobs.place(name)} is damaged; it records the content of a batch "
                    f"at {self.at}. Delete it to send, and pay for, its requests again"
                ) from error
            if not names.keys().isdisjoint(job.ids):
                job.age_s = age_s
                yield job

    def _files(self, requests: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, bytes]]:
        """Yield the lines of each job, by request."""
        lines: dict[str, bytes] = {}
        n_free = MAX_JOB_BYTES
        for name, body in requests.items():
            line = {"custom_id": name, "method": "POST", "url": CHAT, "body": body}
            text = json.dumps(line).encode() + b"\n"
            if lines and (len(lines) >= self.size or len(text) > n_free):
                yield lines
                lines, n_free = {}, MAX_JOB_BYTES
            lines[name] = text
            n_free -= len(text)
        if lines:
            yield lines

    async def _send_job(self, jobs: Jobs, lines: Mapping[str, bytes]) -> _Job:
        """Send a file of requests, start its batch, and return the job."""
        files = {"file": ("requests.jsonl", b"".join(lines.values()), "application/jsonl")}
        reply = await self.caller.send(
            "POST", "/files", timeout=FILE_S, files=files, data={"purpose": "batch"}
        )
        job = _Job(ids=list(lines), file=self._id(checked(_File, reply).id))
        await self._start(jobs, job, is_new=True)
        _log.info("%s: batch %s of %d requests is sent", self.name, job.batch, len(job.ids))
        return job

    async def _start(self, jobs: Jobs, job: _Job, is_new: bool) -> None:
        """Start the batch of a file, exactly once.

        If an earlier start got no answer, the batch is looked up first. If another run may be starting it
        right now, because the lock was lost, it is looked up again after that run's call must have ended.
        """
        body = {"input_file_id": job.file, "endpoint": CHAT, "completion_window": WINDOW}
        tries, wait = 0, self.caller.timeout - job.age_s
        while job.batch is None:
            if not is_new and (batch := await self._find_batch(job)):
                job.batch = self._id(batch)
            elif wait > 0:
                _log.info("%s: another run may be sending the same job; waiting to look again", self.name)
                await self.caller.pause(wait)
                wait = 0
            else:
                job.save(jobs)  # fails without the lock, and shows others when this try began
                try:
                    reply = await self.caller.send("POST", "/batches", max_retries=0, json=body)
                    job.batch = self._id(checked(_Batch, reply).id)
                except Failed as failure:
                    tries, is_new = tries + 1, False
                    failure.tries = tries
                    if failure.status and failure.status >= 400 and not failure.is_transient:
                        jobs.delete(job.name)  # refused, so no batch was started
                        raise
                    if not failure.is_transient or tries > self.caller.max_retries:
                        raise
                    await self.caller.pause(min(FIRST_POLL_S * 2.0 ** (tries - 1), LONGEST_POLL_S))
        job.save(jobs)

    async def _find_batch(self, job: _Job) -> str | None:
        """Return the id of the batch that was started with a job's file; None if there is none."""
        after = ""
        for _ in range(MAX_PAGES):
            try:
                page = checked(_Page, await self.caller.send("GET", f"/batches?limit=100{after}"))
            except Failed as failure:
                if failure.is_transient:
                    raise
                raise self._lost(job, f"no answer whether {job.file} was started", failure) from None
            for batch in page.data:
                if batch.input_file_id == job.file:
                    return batch.id
            if not (page.has_more and page.data):
                break
            after = f"&after={self._id(page.data[-1].id)}"
        return None

    async def _answers(self, job: _Job) -> BatchResults:
        """Return the results of a job once it has ended; unanswered requests are removed from its note.

        In a completed batch they are lost, each for its reason; otherwise the job failed.
        """
        results = BatchResults(self.caller, set(job.ids))
        try:
            batch = await self._ended(job)
            most = MAX_BYTES + MAX_ANSWER_BYTES * len(job.ids)
            for file in filter(None, (batch.output_file_id, batch.error_file_id)):
                with TemporaryFile(dir=self.jobs.folder) as lines:
                    path = f"/files/{self._id(file)}/content"
                    await self._checked(job, self.caller.fetch(path, lines, most, FILE_S))
                    results.read(lines)
        except (Failed, EngineError) as failure:
            self._fail(failure)
            results.lost.clear()
            return results
        n, job.ids = len(job.ids), [name for name in job.ids if name in results.answers]
        if len(job.ids) < n:
            job.save(self.jobs)
            reasons = "; ".join([*map(self.caller.clean, _reasons(batch)), *results.reasons()])
            words = (
                f"engine {self.name!r}: batch {job.batch} at {self.at} is {batch.status} with "
                f"{len(job.ids):,} of {n:,} answers{f' ({reasons})' if reasons else ''}. These are "
                "stored: run again to send only the others"
            )
            if batch.status == "completed":
                _log.warning("%s", words)
                absent = results.ids - results.answers.keys() - results.lost.keys()
                results.lost |= dict.fromkeys(absent, Lost(f"batch {job.batch} has no result for it"))
            else:
                results.lost.clear()
                self.failures.append(EngineError(words))
        return results

    async def _ended(self, job: _Job) -> _Batch:
        """Return a job's batch once it has ended; the server may be unreachable for a while."""
        deadline, wait, n_reported = time.monotonic() + DEADLINE_S, FIRST_POLL_S, 0
        while True:
            status, is_late = "not to be reached", time.monotonic() + wait > deadline
            try:
                call = self.caller.send("GET", f"/batches/{job.batch}")
                batch = checked(_Batch, await self._checked(job, call))
                if batch.status in FINAL:
                    return batch
                counts = batch.request_counts if isinstance(batch.request_counts, dict) else {}
                n_completed, status = counts.get("completed"), self.caller.clean(batch.status)
                if isinstance(n_completed, int) and n_reported < n_completed <= len(job.ids):
                    self.report(n_completed - n_reported)
                    n_reported = n_completed
            except Failed as failure:
                if not failure.is_transient:
                    raise
            if is_late:
                raise EngineError(
                    f"engine {self.name!r}: batch {job.batch} at {self.at} is {status} after "
                    f"{DEADLINE_S / 3600:g} h: run again to keep waiting; nothing is sent twice"
                )
            await self.caller.pause(wait)
            wait = min(2 * wait, LONGEST_POLL_S)

    async def _checked(self, job: _Job, call: Coroutine[Any, Any, T]) -> T:
        """Return the server's answer about a job; raises EngineError if the server no longer has the job."""
        try:
            return await call
        except Failed as failure:
            if failure.status not in (404, 410):
                raise
            raise self._lost(job, f"batch {job.batch} no longer exists", failure) from None

    def _fail(self, failure: Failed | EngineError) -> None:
        if isinstance(failure, Failed):
            has_no_api = failure.status in (404, 405, 501)
            failure = self._no_api(failure) if has_no_api else self.explain(failure)
        self.failures.append(failure)

    def _no_api(self, failure: Failed) -> EngineError:
        return EngineError(
            f"engine {self.name!r}: {self.at} has no Batch API ({failure.status}: {failure.words}): set "
            "options.max_concurrency in place of options.batch"
        )

    def _lost(self, job: _Job, what: str, failure: Failed) -> EngineError:
        return EngineError(
            f"engine {self.name!r}: {what} at {self.at} ({failure.status}: {failure.words}): check the "
            f"server, and delete {self.jobs.place(job.name)} to send, and pay for, its {len(job.ids):,} "
            "requests again"
        )

    def _id(self, identity: str) -> str:
        """Return the server's id of a file or batch, checked because it is stored and used in addresses."""
        hidden = self.caller.secrets.hide_in_answer(identity)
        if hidden != identity or not re.fullmatch(r"\w[\w:/-]{0,199}", identity, re.ASCII):
            raise Unreadable(200, f"id: {self.caller.clean(hidden)[:60]!r} is not a name of a file or batch")
        return identity


def _names(requests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield each request's custom_id: its hash, and the number of equal requests before it."""
    seen: Counter[str] = Counter()
    for body in requests:
        content = json.dumps(body, sort_keys=True).encode()
        name = hashlib.sha256(content).hexdigest()[:32]
        yield f"{name}-{seen[name]}"
        seen[name] += 1


def _reasons(batch: _Batch) -> list[str]:
    """Return the server's messages on a job that it refused as a whole, three at most."""
    data = batch.errors.get("data") if isinstance(batch.errors, dict) else None
    errors = data if isinstance(data, list) else []
    return [str(error["message"]) for error in errors[:3] if isinstance(error, dict) and error.get("message")]
