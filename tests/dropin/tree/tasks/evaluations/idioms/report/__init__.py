"""The page of the idioms evaluation: ``REPORT`` is all that is asked of this package."""

from tasks.evaluations.idioms.report.page import Data, render
from tasks.report import Report

REPORT = Report("report-idioms.html", Data, render)
