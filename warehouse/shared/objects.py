"""Objects under a place on S3 (`s3://bucket/prefix`), each written once and whole.

The AWS_* variables set keys and region. $CULTUREMETER_PARTS_ENDPOINT, else $AWS_ENDPOINT_URL_S3 or
$AWS_ENDPOINT_URL, sets the endpoint of a server other than Amazon's.
"""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeVar

from obstore.exceptions import AlreadyExistsError, BaseError, GenericError
from obstore.store import S3Store

from warehouse.shared.patience import contact_file, patiently
from warehouse.shared.secrets import redacted
from warehouse.storage import WarehouseError

ENDPOINTS = ("CULTUREMETER_PARTS_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_PLACE = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[A-Za-z0-9._=-]+)*)/?")
_CONNECT, _REQUEST = timedelta(seconds=10), timedelta(minutes=10)
"""Limits for a connection and for one request, such as a whole database file over a slow line."""
_CODE = re.compile(r"<Code>(\w{1,40})</Code>")
_NO_KEYS = re.compile(r"169\.254\.(169\.254|170\.)|fd00:ec2::254")
"""Addresses of the metadata services of Amazon's machines, which the client asks for keys if none are set."""
_KEYS = (
    "AWS_ACCESS_KEY_ID", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_SKIP_SIGNATURE",
)  # fmt: skip
_FOR_GOOD = re.compile(
    r"status code: (?!408|429)[34]\d\d|certificate|Name or service not known|builder error"
)

T = TypeVar("T")


class Object(NamedTuple):
    """Size and time of an object in a listing. written_at: with its time zone."""

    size: int
    written_at: datetime


class Objects:
    """Objects under one place. It holds no connection.

    All methods try a server again that does not answer (``patience``), and raise WarehouseError in the end.
    """

    def __init__(self, place: str, home: Path | None = None) -> None:
        """Parse the place; raises WarehouseError if it is not one on S3.

        home: folder that records that the server has answered.
        """
        self.home = home
        match = _PLACE.fullmatch(place)
        if match is None or ".." in place:
            raise WarehouseError(
                f"CULTUREMETER_PARTS is {redacted(place)!r}: write it as s3://bucket/prefix, in letters, "
                f"digits, dots, hyphens and underscores."
            )
        self.bucket, self.prefix = match[1], match[2].strip("/")
        self.place = f"s3://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")

    def put(self, name: str, content: bytes | memoryview) -> None:
        """Write an object unless one of this name exists: names have the hash of the content."""

        def write() -> None:
            with suppress(AlreadyExistsError):  # also after a try that succeeded without an answer
                self._client.put(name, content, mode="create", use_multipart=False)  # If-None-Match: *

        self._call(f"write {name}", write)

    def get(self, name: str) -> bytes:
        """Return an object's content. Raises FileNotFoundError if there is none."""
        return self._call(f"read {name}", lambda: bytes(self._client.get(name).bytes()))

    def sizes(self, folder: str) -> dict[str, int]:
        """Return name within `folder` -> bytes, for all objects in it."""
        return {name: entry.size for name, entry in self.listed(folder).items()}

    def listed(self, folder: str) -> dict[str, Object]:
        """Return name within `folder` -> size and time, for all objects in it."""

        def walk() -> dict[str, Object]:
            entries = (entry for chunk in self._client.list(f"{folder}/") for entry in chunk)
            return {
                entry["path"].removeprefix(f"{folder}/"): Object(entry["size"], entry["last_modified"])
                for entry in entries
            }

        return self._call(f"list {folder}", walk)

    def delete(self, names: list[str]) -> None:
        """Delete objects; missing ones are ignored."""

        def delete() -> None:
            for name in names:
                with suppress(FileNotFoundError):
                    self._client.delete(name)

        self._call(f"delete {', '.join(names[:2])}", delete)

    @property
    def _client(self) -> S3Store:
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        return _client(self.bucket, self.prefix, _endpoint(), region, os.getpid())

    def _missing_keys(self, action: str) -> WarehouseError:
        return WarehouseError(
            f"cannot {action} at {self.place}: there are no keys. Set AWS_ACCESS_KEY_ID and "
            f"AWS_SECRET_ACCESS_KEY (files in ~/.aws are not read), or use a machine whose role has access."
        )

    def _call(self, action: str, work: Callable[[], T]) -> T:
        """Return `work`'s result. action: what `work` does, for errors: "read <name>"."""
        if _endpoint() and not any(map(os.environ.get, _KEYS)):
            raise self._missing_keys(action)
        try:
            contact = self.home and contact_file(self.home, f"{self.place} at {_endpoint()}")
            return patiently(self.place, work, _why_away, f"The task was to {action}. {_LOOK_AT}", contact)
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise WarehouseError(
                    f"there is no bucket {self.bucket}: create it, or correct its name."
                ) from None
            raise
        except (BaseError, OSError, ValueError) as error:
            if _NO_KEYS.search(str(error)):
                raise self._missing_keys(action) from None
            raise WarehouseError(f"cannot {action} at {self.place}: {_words(error)}. {_LOOK_AT}") from None


_LOOK_AT = "Look at CULTUREMETER_PARTS, CULTUREMETER_PARTS_ENDPOINT, AWS_REGION and the keys (AWS_…)."


def _endpoint() -> str | None:
    return next(filter(None, map(os.environ.get, ENDPOINTS)), None)


def _why_away(error: Exception) -> str | None:
    """Return why the server counts as away, or None for an error that another try would not mend."""
    text = str(error)
    if not isinstance(error, GenericError) or _FOR_GOOD.search(text) or _NO_KEYS.search(text):
        return None
    return _words(error)


def _words(error: Exception) -> str:
    """Return a library's message without its debugging notes, with the server's error code."""
    code, text = _CODE.search(str(error)), re.split(r"Debug source:|: <\?xml", str(error))[0]
    return f"{redacted(text)[:400]}{f' ({code[1]})' if code else ''}"


@lru_cache(maxsize=8)
def _client(bucket: str, prefix: str, endpoint: str | None, region: str, process: int) -> S3Store:
    """Return a process's client, which threads may share. Only an http:// endpoint is used without TLS."""
    return S3Store(
        bucket,
        prefix=prefix or None,
        region=region,
        client_options={
            "allow_http": bool(endpoint) and str(endpoint).startswith("http://"),
            "connect_timeout": _CONNECT,
            "timeout": _REQUEST,
        },
        retry_config={"max_retries": 2, "retry_timeout": timedelta(minutes=1)},
        config={"endpoint": endpoint} if endpoint else {},
    )
