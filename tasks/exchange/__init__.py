"""Logs of other evaluation programs, as typed records: one file a format, in and out. Pure but for files.

``found`` recognises logs by content. Nothing in the loop, and no evaluation, knows this room:
``flows/imports.py`` makes runs of its records.
"""

from tasks.exchange.find import found
from tasks.exchange.records import (
    Aggregate,
    Log,
    LoggedMetric,
    LoggedModel,
    LoggedSample,
    LogHeader,
    Refused,
)
from tasks.exchange.table import Mapped

__all__ = [
    "Aggregate",
    "Log",
    "LogHeader",
    "LoggedMetric",
    "LoggedModel",
    "LoggedSample",
    "Mapped",
    "Refused",
    "found",
]
