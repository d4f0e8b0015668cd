"""One copy of an engine, in a process of this machine or as an actor of a Ray cluster.

A copy gets a spec and serves calls of the engine's methods. It does not use the warehouse, Prefect or other
copies, and needs none of their keys. If it dies, its current call raises ``ReplicaLost``.
"""

from __future__ import annotations

import os
import signal
import socket
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
CONNECT_SECONDS = 5.0
"""Seconds that a cluster has to accept a connection."""
JOIN_SECONDS = 8
"""Seconds to wait until a starting node has joined."""
PING_SECONDS = 0.5


class ReplicaLost(EngineError):  # noqa: N818 - "raise ReplicaLost" says it all
    """A copy died during a call; the call may be retried."""


class Copy(Protocol):
    """The caller's side of a copy, which serves one call at a time."""

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Return the value that the engine's method returned, or the exception that it raised.

        Raises:
            ReplicaLost: the copy died.
        """
        ...

    def revive(self) -> None:
        """Restart a dead copy; return once it accepts calls."""
        ...

    def close(self) -> None:
        """End the copy after its call."""
        ...

    def kill(self) -> None:
        """End the copy at once; a call then raises ``EngineError``."""
        ...


class Replica:
    """The engine's side of a copy; loads the engine at its first call, so that copies load in parallel."""

    def __init__(self, spec: str, cache: str) -> None:
        """Take a spec without loading it. spec: an EngineSpec as JSON. cache: see ``load.load``."""
        self._spec, self._cache = EngineSpec.model_validate_json(spec), Path(cache)
        self._engine: Any = None

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Implement ``Copy.call``. Exceptions are returned as values, so that any transport carries them."""
        try:
            self._engine = self._engine or load.load(self._spec, self._cache)
            return getattr(self._engine, method)(*arguments)
        except EngineError as error:
            return error
        except Exception:  # the caller may not know its class
            return RuntimeError(f"replica of {self._spec.name!r}: {traceback.format_exc()}")


class Process:
    """A copy in a process of this machine. It ends when the caller's end of its pipe closes."""

    def __init__(self, spec: EngineSpec, cache: Path, environment: dict[str, str]) -> None:
        """Start the process. environment: overrides this process's variables."""
        self._spec, self._cache, self._environment = spec, cache, os.environ | environment
        self._is_killed = False
        self.revive()

    def revive(self) -> None:
        """Implement ``Copy.revive``."""
        self._pipe, theirs = Pipe()
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-m", MODULE, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=2,  # its output goes to stderr, because programs may read our stdout
            )
        with suppress(OSError):  # if it died at once, the next call raises
            self._pipe.send((self._spec.model_dump_json(), str(self._cache)))
        if self._is_killed:  # while it was restarted
            self.process.kill()

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Implement ``Copy.call``."""
        try:
            self._pipe.send((method, arguments))
            return self._pipe.recv()
        except (EOFError, OSError) as error:
            self._pipe.close()
            code = self.process.wait()
            if self._is_killed:
                raise EngineError(f"the copy of {self._spec.name!r} was stopped") from error
            raise ReplicaLost(f"a replica of {self._spec.name!r} died (exit code {code})") from error

    def close(self) -> None:
        """Implement ``Copy.close``."""
        self._pipe.close()
        self.process.wait()

    def kill(self) -> None:
        """Implement ``Copy.kill``."""
        self._is_killed = True
        self.process.kill()
        self.process.wait()


class Actor:
    """A copy on a Ray cluster. Ray restarts it, on another node if its own is gone."""

    def __init__(self, spec: EngineSpec, cache: Path, gpus: float) -> None:
        """Schedule the copy on a node with the GPUs; call ``connected`` before."""
        import ray

        self._spec, self._ray, self._is_closed = spec, ray, False
        variables = {TRUST: os.environ.get(TRUST, "")}
        self._actor = (
            ray.remote(Replica)
            .options(
                num_gpus=gpus,
                max_restarts=-1,
                max_task_retries=0,  # the caller counts and reports the tries
                scheduling_strategy="SPREAD",
                runtime_env={"env_vars": variables},
            )
            .remote(spec.model_dump_json(), str(cache))
        )

    def call(self, method: str, arguments: tuple[Any, ...]) -> Any:
        """Implement ``Copy.call``."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(self._actor.call.remote(method, arguments))
        except errors.RayTaskError:
            raise
        except errors.RayError as error:
            reason = str(error).strip().splitlines()[0]
            raise ReplicaLost(f"a replica of {self._spec.name!r} died: {reason}") from error

    def revive(self) -> None:
        """Implement ``Copy.revive``; waits for Ray, which may wait for a node."""
        while not self._is_closed:
            try:
                self._ray.get(self._actor.__ray_ready__.remote())
                return
            except self._ray.exceptions.RayError:
                time.sleep(PING_SECONDS)

    def close(self) -> None:
        """Implement ``Copy.close``."""
        self._is_closed = True
        self._ray.kill(self._actor)

    kill = close


def connected(address: str) -> dict[str, float]:
    """Join a Ray cluster, if this process has not, and return its resources, such as {"GPU": 4.0}.

    Raises:
        EngineError: Ray is not installed, does not answer at the address, or needs its token.
    """
    try:
        import ray
    except ImportError as error:
        raise EngineError("--ray needs Ray: pip install '.[ray]' in a checkout") from error
    try:
        if not ray.is_initialized():
            _check_answers(address)
            ray.init(address=address, namespace="culturemeter", log_to_driver=False, logging_level="ERROR")
        resources: dict[str, float] = ray.cluster_resources()
    except (OSError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise EngineError(
            f"there is no Ray cluster at {address!r} ({str(error).strip().splitlines()[0]}): check --ray, "
            "and that RAY_AUTH_TOKEN is the cluster's"
        ) from error
    return resources


def _check_answers(address: str) -> None:
    """Raise OSError if no program listens at a cluster's address, for which Ray itself waits two minutes."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()


def wait_for_room(gpus: float) -> None:
    """Return once a node of the cluster is large enough for a copy, even if it is busy now.

    Raises:
        EngineError: no node takes it after ``JOIN_SECONDS``. Ray itself would wait silently.
    """
    import ray

    for left in range(JOIN_SECONDS, -1, -1):
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if any(node.get("GPU", 0.0) >= gpus and node.get("CPU", 0.0) >= 1 for node in nodes):
            return
        if left:
            time.sleep(1)
    sizes = ", ".join(f"{n.get('CPU', 0.0):g} CPUs and {n.get('GPU', 0.0):g} GPUs" for n in nodes) or "none"
    raise EngineError(
        f"no node of the Ray cluster has room for a copy, which takes 1 CPU and {gpus:g} GPUs (nodes: "
        f"{sizes}): start one (`ray start --address …`), or lower gpus in the engine spec"
    )


def _receive(pipe: Connection, calls: SimpleQueue[Any]) -> None:
    """Receive calls; when the caller is gone, end this process, even during a call."""
    with suppress(EOFError, OSError):
        while True:
            calls.put(pipe.recv())
    os._exit(0)


def main() -> None:
    """Serve the calls that come through the pipe with the given number, until it is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller
    pipe, calls = Connection(int(sys.argv[1])), SimpleQueue[Any]()
    Thread(target=_receive, args=(pipe, calls), daemon=True).start()
    replica = Replica(*calls.get())
    while True:
        pipe.send(replica.call(*calls.get()))


if __name__ == "__main__":
    main()
