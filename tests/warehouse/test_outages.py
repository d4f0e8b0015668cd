"""If a store fails and recovers, nothing is lost or repeated, and one line reports it."""

from __future__ import annotations

import logging
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from tests.faulty import FaultyPostgres, FaultyS3, faulty_postgres, faulty_s3
from tests.ports import free_port
from tests.warehouse.rows import logprobs
from warehouse import StoreAway, Warehouse, WarehouseError, register_orphans, write_part
from warehouse.copying import copy
from warehouse.local_store import LocalStore
from warehouse.store import store_at

pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
from warehouse.shared import patience
from warehouse.shared.database import Database
from warehouse.shared.objects import Objects
from warehouse.shared.patience import patiently

KIND = "item_logprob"
UNITS = "SELECT request_hash, unit, part FROM part_unit ORDER BY ALL"
ROWS = "SELECT count(*) FROM item_logprob"


class Network(SimpleNamespace):
    """s3, postgres: the proxies; pauses: seconds of each wait; after: number of pauses -> a function to call
    then."""

    s3: FaultyS3
    postgres: FaultyPostgres
    pauses: list[float]
    after: dict[int, Callable[[], None]]

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.after.pop(len(self.pauses), lambda: None)()


@pytest.fixture
def network(
    blank: Path, tmp_path: Path, shared_environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> Iterator[Network]:
    """A shared warehouse behind proxies. Pauses take no time; they are recorded and may repair a fault."""
    address = urlsplit(shared_environment["CULTUREMETER_WAREHOUSE"])
    endpoint = shared_environment["CULTUREMETER_PARTS_ENDPOINT"]
    assert address.port is not None
    with faulty_s3(endpoint) as s3, faulty_postgres(address.port) as postgres:
        shared_environment |= {
            "CULTUREMETER_WAREHOUSE": address.geturl().replace(f":{address.port}/", f":{postgres.port}/"),
            "CULTUREMETER_PARTS_ENDPOINT": s3.endpoint,
            "CULTUREMETER_HOME": str(tmp_path / "machine"),
            "CULTUREMETER_PATIENCE_S": "900",
        }
        for name, value in shared_environment.items():
            monkeypatch.setenv(name, value)
        copy(Warehouse(LocalStore(blank)), store_at())
        Warehouse.open()
        net = Network(s3=s3, postgres=postgres, pauses=[], after={})
        clock = SimpleNamespace(sleep=net.sleep, monotonic=lambda: sum(net.pauses))  # tries take no time
        monkeypatch.setattr(patience, "time", clock)
        yield net


def answered(number: int = 0) -> None:
    """Store the answers to one request, as the loop does."""
    warehouse = Warehouse.open()
    warehouse.register(write_part(warehouse.store, KIND, f"q{number}", logprobs("FR IT", f"q{number}")))


def unsent() -> list[str]:
    return [file.name for file in Path(os.environ["CULTUREMETER_HOME"], "unsent").rglob("*.parquet")]


def mended(s3: FaultyS3) -> Callable[[], None]:
    def mend() -> None:
        s3.fault = lambda method, path: ""

    return mend


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "culturemeter"]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the pauses of this test in seconds, which take no time; the patience is the default."""
    pauses: list[float] = []
    monkeypatch.setattr(patience, "time", SimpleNamespace(sleep=pauses.append, monotonic=lambda: sum(pauses)))
    monkeypatch.delenv(patience.VARIABLE, raising=False)
    return pauses


def fails() -> None:
    raise ConnectionError("refused")


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["503", "drop", "lost", "refuse"])
def test_parts_are_sent_when_s3_answers_again_and_one_line_reports_it(
    network: Network, caplog: pytest.LogCaptureFixture, fault: str
) -> None:
    if fault == "refuse":
        network.s3.refuse()
        network.after[3] = network.s3.listen
    else:
        network.s3.fault = lambda method, path: fault
        network.after[3] = mended(network.s3)
    with caplog.at_level(logging.WARNING, "culturemeter"):
        answered()
    assert network.pauses == [0.2, 0.4, 0.8]
    first, last = lines(caplog)
    assert re.fullmatch(r".*does not answer.*trying again for up to 15 min.*", first)  # one line
    assert "answers again" in last
    assert Warehouse.open().query(ROWS).item() == 4
    assert unsent() == []


@pytest.mark.slow
def test_a_server_that_fails_at_random_loses_nothing(network: Network) -> None:
    draw = random.Random(0)
    network.s3.fault = lambda method, path: draw.choice(["", "", "503", "drop", "lost"])
    for number in range(12):
        answered(number)
    with Warehouse.open().write() as connection:
        connection.execute("INSERT INTO state VALUES ('test', '')")
    warehouse = Warehouse.open()
    assert warehouse.query(UNITS).height == 24
    assert warehouse.query(ROWS).item() == 48
    assert warehouse.query("SELECT count(*) FROM state WHERE name = 'test'").item() == 1
    assert len(warehouse.store.part_sizes(KIND)) == 12


@pytest.mark.slow
def test_an_unsent_part_is_kept_and_registered_by_the_next_run(
    network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(patience.VARIABLE, "2")
    network.s3.fault = lambda method, path: "503" if method == "PUT" else ""
    with pytest.raises(StoreAway, match=r"does not answer.*The task was to write parts/item_logprob/q0"):
        answered()
    assert network.pauses == pytest.approx([0.2, 0.4, 0.8, 0.6])
    assert len(unsent()) == 1
    assert Warehouse.open().query(UNITS).is_empty()
    mended(network.s3)()
    assert len(register_orphans(Warehouse.open(), KIND).registered) == 1
    assert unsent() == []
    assert Warehouse.open().query(ROWS).item() == 4


@pytest.mark.slow
def test_a_later_part_sends_unsent_ones_too(network: Network, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(patience.VARIABLE, "0")
    network.s3.fault = lambda method, path: "503" if method == "PUT" else ""
    with pytest.raises(StoreAway):
        answered(1)
    mended(network.s3)()
    answered(2)
    assert unsent() == []
    assert sorted(name[:2] for name in Warehouse.open().store.part_sizes(KIND)) == ["q1", "q2"]


MOMENTS = {
    "before a lock is taken": (Database, "lock"),
    "while the file is fetched": (Objects, "get"),
    "while a part is sent": (Objects, "put"),
    "before the file is published": (Database, "publish"),
    "before old files are deleted": (Database, "replaced"),
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_write_survives_a_restart_of_postgres_at_any_step(
    network: Network, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, moment: str
) -> None:
    warehouse = Warehouse.open()
    before = warehouse.store.version()
    monkeypatch.setenv("CULTUREMETER_HOME", str(tmp_path / "another"))  # nothing is fetched there yet
    of, name = MOMENTS[moment]
    uncut, cuts = getattr(of, name), []

    def cut(*arguments: object, **named: object) -> object:
        if not cuts:
            cuts.append(name)
            network.postgres.cut()
            network.after[len(network.pauses) + 2] = network.postgres.listen
        return uncut(*arguments, **named)

    monkeypatch.setattr(of, name, cut)
    answered()
    with Warehouse.open().write() as connection:
        connection.execute("INSERT INTO state VALUES ('test', '')")
    assert cuts
    assert len(network.pauses) >= 2
    here = Warehouse.open()
    assert here.query(UNITS).height == 2
    assert here.query("SELECT count(*) FROM state WHERE name = 'test'").item() == 1
    assert here.store.version() == (before[0] + 1, here.store.version()[1])  # type: ignore[index]


@pytest.mark.slow
def test_a_restart_of_postgres_within_a_write_loses_nothing(network: Network) -> None:
    with Warehouse.open().write() as connection:
        connection.execute("INSERT INTO state VALUES ('test', '')")
        network.postgres.cut()
        network.after[2] = network.postgres.listen
    assert Warehouse.open().query("SELECT count(*) FROM state WHERE name = 'test'").item() == 1


@pytest.mark.parametrize("text", ["", "soon", "-1", "inf", "nan"])
def test_patience_defaults_to_900_seconds_and_other_texts_are_refused(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(patience.VARIABLE, text)
    if not text:
        assert patience.patience_s() == 900
        return
    with pytest.raises(WarehouseError, match=f"CULTUREMETER_PATIENCE_S is '{text}'"):
        patience.patience_s()


def test_pauses_grow_to_30_s_and_end_after_15_minutes(pauses: list[float]) -> None:
    with pytest.raises(
        StoreAway, match=r"^nowhere does not answer \(refused\): tried for 15 min\. Look there\."
    ):
        patiently("nowhere", fails, str, "Look there.")
    assert pauses[:3] == [0.2, 0.4, 0.8]
    assert max(pauses) == 30
    assert sum(pauses) == pytest.approx(900)


def test_a_server_that_never_answered_this_machine_is_tried_for_10_s(
    pauses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If a server has answered once, other processes on this machine wait for it too."""
    monkeypatch.setattr(patience, "_contacted", set())
    sign = patience.contact_file(tmp_path, "here")
    with pytest.raises(StoreAway, match=r"tried for 10 s, and it never answered this machine before\. Look"):
        patiently("here", fails, str, "Look there.", sign)
    assert sum(pauses) == pytest.approx(10)
    assert patiently("here", lambda: 1, str, "Look there.", sign) == 1
    patience._contacted.clear()
    pauses.clear()
    with pytest.raises(StoreAway, match=r"tried for 15 min\. Look"):
        patiently("here", fails, str, "Look there.", sign)
    assert sum(pauses) == pytest.approx(900)
    with pytest.raises(StoreAway, match="never answered"):
        patiently("there", fails, str, "Look there.", patience.contact_file(tmp_path, "there"))
    monkeypatch.setenv(patience.VARIABLE, "900")
    with pytest.raises(StoreAway, match="tried for 15 min"):
        patiently("there", fails, str, "Look there.", patience.contact_file(tmp_path, "there"))


@pytest.mark.parametrize("server", ["Postgres", "S3"])
def test_a_wrong_port_is_tried_for_at_most_10_s(
    server: str, pauses: list[float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    monkeypatch.setenv("CULTUREMETER_PARTS_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("AWS_SKIP_SIGNATURE", "true")
    reads: dict[str, Callable[[], object]] = {
        "Postgres": Database(f"postgresql://somebody@127.0.0.1:{port}/x", "", tmp_path).newest,
        "S3": lambda: Objects("s3://bucket/parts", tmp_path).get("x"),
    }
    with pytest.raises(StoreAway, match="never answered this machine before"):
        reads[server]()
    assert sum(pauses) <= 10
