"""No test sleeps instead of waiting for an event, and none asserts a duration: both fail on a busy machine.

``tests.waiting.until`` waits for another process, ``HttpServer.wait_until`` for a server's requests. Files
that read a clock are listed here with the reason why load does not break them.
"""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
CLOCKS = {
    "sleep", "monotonic", "perf_counter", "process_time", "thread_time", "monotonic_ns", "perf_counter_ns",
}  # fmt: skip
ALLOWED = {
    "waiting.py": "the function that waits",
    "engines/test_openai.py": "a lower bound",
    "scrapers/misbehaving_server.py": "times of requests: only a least distance is asserted",
    "scrapers/test_html_table.py": "processor time of the thread, far below its bound",
    "scrapers/test_mutations.py": "processor time of the thread, far below its bound",
    "scrapers/wikidata/test_result.py": "processor time of the thread, far below its bound",
    "deployments/test_sockets.py": "a client that waits: a lower bound",
    "flows/test_ranks.py": "processor time, and heavy",
    "deployments/test_cli_run.py": "pauses between signals, of which none is asserted",
    "loop/test_read_fields.py": "processor time, far below its bound",
    "warehouse/test_many_parts.py": "processor time, and heavy",
    "warehouse/test_released_homes.py": "heavy: it kills at random points and asserts no duration",
    "warehouse/test_shared_cache.py": "waits until the clock of files has advanced: a lower bound",
    "chaos/forked.py": "heavy: it tests kills at any time",
    "chaos/test_flows.py": "heavy: it tests kills at any time",
    "chaos/test_writers.py": "heavy: it writes for some time and asserts no duration",
    "flows/ray_nodes.py": "heavy: nodes of a cluster are lost and return",
    "deployments/test_cluster.py": "heavy: a cluster of processes",
    "deployments/people/test_kill.py": "heavy: it tests kills at any time",
    "deployments/people/served.py": "a pause between two looks",
    "people/test_real_programs.py": "heavy: programs of other projects",
}
"""Files that read a clock or sleep -> why load does not break them."""
ONE_THREAD = {"HTTPServer", "TCPServer"}


def clocks(path: Path) -> set[str]:
    """Return the clocks that a file uses, by ``time.…`` or as an imported name."""
    text = path.read_text(encoding="utf-8")
    used: set[str] = set()
    if not any(clock in text for clock in CLOCKS):  # searching the text is faster than parsing
        return used
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time":
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            used |= {alias.name for alias in node.names}
    return used & CLOCKS


def test_only_listed_files_sleep_or_read_a_clock() -> None:
    files = {path.relative_to(TESTS).as_posix(): clocks(path) for path in TESTS.rglob("*.py")}
    using = {name: sorted(used) for name, used in files.items() if used}
    new = {name: used for name, used in using.items() if name not in ALLOWED}
    assert new == {}, "wait with tests.waiting.until, or add the file to ALLOWED with a reason"
    assert set(ALLOWED) <= using.keys(), "these files read no clock: remove them from ALLOWED"


def test_servers_have_a_thread_per_connection() -> None:
    """A server with one thread waits at its end for open connections, which browsers keep for minutes."""
    for path in TESTS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in ONE_THREAD) else ():
            called = node.func if isinstance(node, ast.Call) else None
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            assert name not in ONE_THREAD, f"{path.name} has {name}: take ThreadingHTTPServer"
