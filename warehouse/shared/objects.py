"""Objects under a place on S3 (`s3://bucket/prefix`), each written once and whole.

Keys and region are those of the usual AWS_* variables; the endpoint of a server that is not Amazon's is
$CULTURESCOPE_PARTS_ENDPOINT, else $AWS_ENDPOINT_URL_S3 or $AWS_ENDPOINT_URL.
"""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from functools import lru_cache

from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import S3Store

from warehouse.shared.secrets import redacted
from warehouse.storage import WarehouseError

ENDPOINTS = ("CULTURESCOPE_PARTS_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
_PLACE = re.compile(r"s3://([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])((?:/[A-Za-z0-9._=-]+)*)/?")
_CONNECT_PATIENCE, _PATIENCE = timedelta(seconds=10), timedelta(minutes=10)
"""The second is for one request, such as the whole of a database file over a slow line."""


class Objects:
    """Objects under one place. It holds no connection."""

    def __init__(self, place: str) -> None:
        """Raises WarehouseError for what is no place on S3."""
        given = _PLACE.fullmatch(place)
        if given is None or ".." in place:
            raise WarehouseError(
                f"CULTURESCOPE_PARTS is {redacted(place)!r}: write it as s3://bucket/prefix, in letters, "
                f"digits, dots, hyphens and underscores."
            )
        self.bucket, self.prefix = given[1], given[2].strip("/")
        self.place = f"s3://{self.bucket}" + (f"/{self.prefix}" if self.prefix else "")

    def put(self, name: str, content: bytes | memoryview) -> None:
        """Write an object; one of this name that is there stays, because names say what is in them."""
        # It is there as well where a try of the client's own came through without an answer.
        with self._errors(f"write {name}"), suppress(AlreadyExistsError):
            self._client.put(name, content, mode="create", use_multipart=False)  # If-None-Match: *

    def get(self, name: str) -> bytes:
        """Return an object's content. Raises FileNotFoundError if there is none."""
        with self._errors(f"read {name}"):
            return bytes(self._client.get(name).bytes())

    def sizes(self, folder: str) -> dict[str, int]:
        """Name within `folder` -> bytes, of all that are in it."""
        with self._errors(f"list {folder}"):
            listed = (each for chunk in self._client.list(f"{folder}/") for each in chunk)
            return {each["path"].removeprefix(f"{folder}/"): each["size"] for each in listed}

    def delete(self, names: list[str]) -> None:
        """Delete objects; those that are not there are no error."""
        with self._errors(f"delete {', '.join(names[:2])}"):
            for name in names:
                with suppress(FileNotFoundError):
                    self._client.delete(name)

    @property
    def _client(self) -> S3Store:
        endpoint = next(filter(None, map(os.environ.get, ENDPOINTS)), None)
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
        return _client(self.bucket, self.prefix, endpoint, region, os.getpid())

    @contextmanager
    def _errors(self, doing: str) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError as error:
            if "NoSuchBucket" in str(error):
                raise WarehouseError(f"there is no bucket {self.bucket}: make it, or correct it.") from None
            raise
        except (BaseError, OSError, ValueError) as error:
            raise WarehouseError(
                f"cannot {doing} at {self.place}: {redacted(error)[:400]}. Look at CULTURESCOPE_PARTS, "
                f"CULTURESCOPE_PARTS_ENDPOINT, AWS_REGION and the AWS keys of this environment."
            ) from None


@lru_cache(maxsize=8)
def _client(bucket: str, prefix: str, endpoint: str | None, region: str, process: int) -> S3Store:
    """One client a process: threads may share it. An endpoint without TLS is one that says so itself."""
    return S3Store(
        bucket,
        prefix=prefix or None,
        region=region,
        client_options={
            "allow_http": bool(endpoint) and str(endpoint).startswith("http://"),
            "connect_timeout": _CONNECT_PATIENCE,
            "timeout": _PATIENCE,
        },
        retry_config={"max_retries": 5, "retry_timeout": timedelta(minutes=1)},
        config={"endpoint": endpoint} if endpoint else {},
    )
