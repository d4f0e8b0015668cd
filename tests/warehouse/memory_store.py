"""A shared store whose servers are dictionaries, for tests of how machines use it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from warehouse.registrations import Registrations
from warehouse.shared.database import Version
from warehouse.shared.store import SharedStore


class Things(dict[str, bytes]):
    """Objects by name; reads are counted."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []
        self.broken_lines = 0

    def put(self, name: str, content: bytes | memoryview) -> None:
        self.setdefault(name, bytes(content))

    def get(self, name: str) -> bytes:  # type: ignore[override]
        self.read.append(name)
        if name not in self:
            raise FileNotFoundError(name)
        if self.broken_lines:
            self.broken_lines -= 1
            return self[name][:-1]
        return self[name]

    def sizes(self, folder: str) -> dict[str, int]:
        inside = (name for name in self if name.startswith(f"{folder}/"))
        return {name.removeprefix(f"{folder}/"): len(self[name]) for name in inside}

    def delete(self, names: list[str]) -> None:
        for name in names:
            self.pop(name, None)


class Versions:
    """Which file is the newest."""

    place = "memory"

    def __init__(self) -> None:
        self.versions: list[Version] = []
        self.outdated: list[Version] = []

    def newest(self) -> Version | None:
        return self.versions[-1] if self.versions else None

    @contextmanager
    def lock(self, name: str, patience_s: float = 0.0) -> Iterator[None]:
        yield

    def publish(self, held: None, version: Version, size: int, folded: int) -> None:
        assert version.number == len(self.versions) + 1
        self.versions.append(version)

    def replaced(self) -> list[Version]:
        return self.outdated

    def forget(self, versions: list[Version]) -> None:
        self.outdated = []


class InMemory(SharedStore):
    """One machine on servers that several machines share."""

    def __init__(self, home: Path, objects: Things, database: Versions, log: Path) -> None:
        super().__init__(home, "postgresql://nowhere/x", "s3://bucket/parts")
        self.objects, self.database, self.of_log = objects, database, log  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        raise TypeError("it stays here")

    @property
    def log(self) -> Any:
        return Registrations(self.of_log)
