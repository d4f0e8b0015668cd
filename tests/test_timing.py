"""No test sleeps in the hope that something has happened by then, and none is held to a duration.

Both fail on a busy machine. ``tests.waiting.until`` waits for what another process does,
``HttpServer.wait_until`` for what a server gets. What reads a clock all the same stands here, with the reason
why load does not break it.
"""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parent
CLOCKS = {
    "sleep",
    "monotonic",
    "perf_counter",
    "process_time",
    "thread_time",
    "monotonic_ns",
    "perf_counter_ns",
}
ALLOWED = {
    "waiting.py": "where it is waited",
    "engines/test_openai.py": "a lower bound",
    "scrapers/misbehaving_server.py": "when requests came: only that they are apart by a pause is asserted",
    "scrapers/test_html_table.py": "processor time of the thread, far below what it bounds",
    "scrapers/test_mutations.py": "processor time of the thread, far below what it bounds",
    "scrapers/wikidata/test_result.py": "processor time of the thread, far below what it bounds",
    "warehouse/test_many_parts.py": "processor time, and heavy",
    "warehouse/test_shared_cache.py": "the clock of files has to go on: a lower bound",
    "chaos/forked.py": "heavy: kills at any time are what is tested",
    "chaos/test_flows.py": "heavy: kills at any time are what is tested",
    "chaos/test_writers.py": "heavy: it writes for a time, and asserts nothing of how long",
    "flows/ray_nodes.py": "heavy: nodes of a cluster are lost and come back",
    "deployments/test_cluster.py": "heavy: a cluster in containers",
    "deployments/people/test_kill.py": "heavy: kills at any time are what is tested",
    "deployments/people/served.py": "a pause between two looks",
    "people/test_real_programs.py": "heavy: somebody else's programs",
}
"""Files that read a clock or sleep."""
ONE_THREAD = {"HTTPServer", "TCPServer"}


def clocks(path: Path) -> set[str]:
    """What a file uses of the clocks, by ``time.…`` or as a name that it imports."""
    text = path.read_text(encoding="utf-8")
    used: set[str] = set()
    if not any(clock in text for clock in CLOCKS):  # parsing takes longer
        return used
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "time":
            used.add(node.attr)
        elif isinstance(node, ast.ImportFrom) and node.module == "time":
            used |= {alias.name for alias in node.names}
    return used & CLOCKS


def test_nothing_sleeps_or_is_held_to_a_duration() -> None:
    files = {path.relative_to(TESTS).as_posix(): clocks(path) for path in TESTS.rglob("*.py")}
    using = {name: sorted(used) for name, used in files.items() if used}
    new = {name: used for name, used in using.items() if name not in ALLOWED}
    assert new == {}, "wait with tests.waiting.until; or say above why load does not break it"
    assert set(ALLOWED) <= using.keys(), "these read no clock any more: take them out"


def test_servers_have_a_thread_for_each_connection() -> None:
    """A server of one thread waits at its end for open connections, which browsers hold for minutes."""
    for path in TESTS.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if any(name in text for name in ONE_THREAD) else ():
            called = node.func if isinstance(node, ast.Call) else None
            name = called.id if isinstance(called, ast.Name) else getattr(called, "attr", "")
            assert name not in ONE_THREAD, f"{path.name} has {name}: take ThreadingHTTPServer"
