"""The tests' servers have the access limits that servers of a cluster need."""

from __future__ import annotations

import httpx
import pytest

from tests.shared_store import PASSWORD

psycopg = pytest.importorskip("psycopg", reason="the extra `shared` is not installed")
pytestmark = pytest.mark.slow


def test_postgres_refuses_a_missing_or_wrong_password(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    for url in (postgres_url.replace(f":{PASSWORD}", ""), postgres_url.replace(PASSWORD, "another")):
        with pytest.raises(psycopg.OperationalError, match="password"):
            psycopg.connect(url)


def test_s3_refuses_requests_without_keys(s3_endpoint: str, s3_parts: str) -> None:
    place = s3_parts.replace("s3://", f"{s3_endpoint}/")
    for method, url in (("GET", f"{s3_endpoint}/warehouse"), ("GET", f"{place}/a"), ("PUT", f"{place}/a")):
        assert httpx.request(method, url).status_code == 403
