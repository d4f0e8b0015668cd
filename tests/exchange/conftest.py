"""Fixtures of the tests of imports and exports: runs of every evaluation are those of the documentation's."""

from tests.docs.conftest import all_runs, six_runs  # noqa: F401
