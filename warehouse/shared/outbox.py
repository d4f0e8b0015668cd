"""Finished parts on this machine's disk until they are on S3.

They are under ``CULTUREMETER_HOME/unsent/<store>/<kind>/<part>.parquet``. A part has cost money, so the disk
keeps it through a kill or an outage, until a later part or the next run sends it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from warehouse.part_kinds import KINDS, is_as_written, is_part_name
from warehouse.storage import remove_abandoned, written_whole

_under_way: set[Path] = set()
"""Parts that threads of this process are sending now."""


class Outbox:
    """The parts of one store that this machine has to send."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def sending(self, kind: str, part: str, content: memoryview) -> Iterator[None]:
        """Keep a part on the disk within the block, and after the block if it ends with an error.

        Raises WarehouseError for a full disk.
        """
        path = self._path(kind, part)
        _under_way.add(path)
        try:
            with written_whole(path, content.nbytes) as temporary:
                temporary.write_bytes(content)
            yield
            path.unlink(missing_ok=True)
        finally:
            _under_way.discard(path)

    def send(self, send_part: Callable[[str, str, bytes], None]) -> None:
        """Send all waiting parts by `send_part`, and delete those that were sent.

        Another process may do the same at the same time.
        """
        for kind, part in list(self.waiting()):
            path = self._path(kind, part)
            with suppress(FileNotFoundError):
                content = path.read_bytes()
                if is_as_written(part, content):
                    send_part(kind, part, content)
                path.unlink()

    def waiting(self) -> Iterator[tuple[str, str]]:
        """Yield kind and part of each part that no thread of this process is sending."""
        for kind in KINDS:
            folder = self.folder / kind
            if folder.is_dir():
                remove_abandoned(folder)
                names = sorted(file.stem for file in folder.glob("*.parquet"))
                waiting = (name for name in names if self._path(kind, name) not in _under_way)
                yield from ((kind, name) for name in waiting if is_part_name(name))

    def _path(self, kind: str, part: str) -> Path:
        return self.folder / kind / f"{part}.parquet"
