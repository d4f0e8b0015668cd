"""One copy of an engine somewhere else: in a process of this machine, or as an actor of a Ray cluster.

A copy gets a spec and answers calls of the engine's methods. It knows no warehouse, no Prefect and no other
copy, and needs no key of any. When it dies, the call that it had raises ``ReplicaLost``.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import traceback
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

from tasks.engines import load
from tasks.engines.protocols import EngineError
from tasks.engines.specs import TRUST, EngineSpec

MODULE = "tasks.engines.copies"
PING_SECONDS = 0.5


class ReplicaLost(EngineError):  # noqa: N818 - "raise ReplicaLost" says it all
    """The copy that a call was given to has died: the call may be made again."""


class Copy(Protocol):
    """A copy as whoever asks has it; serves one call at a time."""

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """The value that a method of the engine returned, or the exception that it raised, returned.

        Raises:
            ReplicaLost: the copy died.
        """
        ...

    def revive(self) -> None:
        """Start a dead copy again; returns once it takes calls."""
        ...

    def close(self) -> None:
        """End it."""
        ...


class Replica:
    """The other end: the engine itself, loaded at its first call, so that copies load side by side."""

    def __init__(self, spec: str, cache: str) -> None:
        """spec: an EngineSpec as JSON. cache: see ``load.load``."""
        self._spec, self._cache = EngineSpec.model_validate_json(spec), Path(cache)
        self._engine: Any = None

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """See ``Copy.call``. Exceptions are returned, so that any way back carries them."""
        try:
            self._engine = self._engine or load.load(self._spec, self._cache)
            return getattr(self._engine, method)(*arguments)
        except EngineError as error:
            return error
        except Exception:  # its class may not be known where the answer goes
            return RuntimeError(f"replica of {self._spec.name!r}: {traceback.format_exc()}")


class Process:
    """A copy in a process of this machine. It ends with the other end of its pipe, however that ended."""

    def __init__(self, spec: EngineSpec, cache: Path, environment: dict[str, str]) -> None:
        """environment: stands over this process's own."""
        self._spec, self._cache, self._environment = spec, cache, os.environ | environment
        self.revive()

    def revive(self) -> None:
        """See ``Copy.revive``."""
        self._pipe, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=2,  # what it prints is for people; our own output may be read by programs
            )
        with suppress(OSError):  # it died at once: the next call says so
            self._pipe.send((self._spec.model_dump_json(), str(self._cache)))

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """See ``Copy.call``."""
        try:
            self._pipe.send((method, arguments))
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            self._pipe.close()
            code = self.process.wait()
            raise ReplicaLost(f"a replica of {self._spec.name!r} died (exit code {code})") from error

    def close(self) -> None:
        """See ``Copy.close``."""
        self._pipe.close()
        self.process.wait()


class Actor:
    """A copy on a Ray cluster. Ray starts it again, on another node where its own is gone."""

    def __init__(self, spec: EngineSpec, cache: Path, gpus: float) -> None:
        """Schedule the copy for a node with the GPUs; ``connected`` comes first."""
        import ray

        self._spec, self._ray, self._is_closed = spec, ray, False
        variables = {TRUST: os.environ.get(TRUST, "")}
        self._actor = (
            ray.remote(Replica)
            .options(
                num_gpus=gpus,
                max_restarts=-1,
                max_task_retries=0,  # who asks counts the tries, and shows them
                scheduling_strategy="SPREAD",
                runtime_env={"env_vars": variables},
            )
            .remote(spec.model_dump_json(), str(cache))
        )

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """See ``Copy.call``."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(self._actor.call.remote(method, arguments))
        except errors.RayTaskError:
            raise
        except errors.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise ReplicaLost(f"a replica of {self._spec.name!r} died: {reason}") from error

    def revive(self) -> None:
        """See ``Copy.revive``; waits for Ray, which may wait for a node."""
        while not self._is_closed:
            try:
                self._ray.get(self._actor.__ray_ready__.remote())
                return
            except self._ray.exceptions.RayError:
                time.sleep(PING_SECONDS)

    def close(self) -> None:
        """See ``Copy.close``."""
        self._is_closed = True
        self._ray.kill(self._actor)


def connected(address: str) -> dict[str, float]:
    """All resources of a Ray cluster, such as {"GPU": 4.0}; joins it if this process has not.

    Raises:
        EngineError: Ray is not installed, or does not answer there, or not without its token.
    """
    try:
        import ray
    except ImportError as error:
        raise EngineError("--ray needs Ray: pip install 'culturescope[ray]'") from error
    try:
        if not ray.is_initialized():
            ray.init(address=address, namespace="culturescope", log_to_driver=False, logging_level="ERROR")
        resources: dict[str, float] = ray.cluster_resources()
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise EngineError(
            f"there is no Ray cluster at {address!r} ({str(error).strip().splitlines()[0]}): check --ray, "
            "and that RAY_AUTH_TOKEN is the cluster's"
        ) from error
    return resources


def _receive(pipe: Connection, calls: SimpleQueue[Any]) -> None:
    """Take in what is asked; once nobody can ask any more, end this process, in the midst of a call too."""
    with suppress(EOFError, OSError):
        while True:
            calls.put(pipe.recv())
    os._exit(0)


def main() -> None:
    """Serve the calls that come through the pipe with the given number, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever asks
    pipe, calls = Connection(int(sys.argv[1])), SimpleQueue[Any]()
    Thread(target=_receive, args=(pipe, calls), daemon=True).start()
    replica = Replica(*calls.get())
    while True:
        pipe.send(replica.call(*calls.get()))


if __name__ == "__main__":
    main()
