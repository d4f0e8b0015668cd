"""Parts that are finished and not on S3 yet: on this machine's disk before they are sent, and until they are.

Under ``CULTURESCOPE_HOME/unsent/<store>/<kind>/<part>.parquet``. A part was paid for, so it is safe here from
a kill and from an outage, and is sent by whatever comes next: a later part, or the next run.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from warehouse.part_kinds import KINDS, is_as_written, is_part_name
from warehouse.storage import remove_abandoned, written_whole

_under_way: set[Path] = set()
"""Parts that threads of this process are sending just now."""


class Outbox:
    """The parts of one store that this machine has to send."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextmanager
    def sending(self, kind: str, part: str, content: memoryview) -> Iterator[None]:
        """Keep a part on the disk within the block, and after it if that ends with an error.

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

    def send(self, put: Callable[[str, str, bytes], None]) -> None:
        """Send all that waits, and delete what has come to its place. Another process may be at it too."""
        for kind, part in list(self.waiting()):
            path = self._path(kind, part)
            with suppress(FileNotFoundError):
                content = path.read_bytes()
                if is_as_written(part, content):
                    put(kind, part, content)
                path.unlink()

    def waiting(self) -> Iterator[tuple[str, str]]:
        """Kind and part of what is there."""
        for kind in KINDS:
            folder = self.folder / kind
            if folder.is_dir():
                remove_abandoned(folder)
                names = sorted(file.stem for file in folder.glob("*.parquet"))
                waiting = (name for name in names if self._path(kind, name) not in _under_way)
                yield from ((kind, name) for name in waiting if is_part_name(name))

    def _path(self, kind: str, part: str) -> Path:
        return self.folder / kind / f"{part}.parquet"
