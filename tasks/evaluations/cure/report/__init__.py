"""The CURE page. ``REPORT`` is all that is asked of this package, so nothing else is here."""

from tasks.evaluations.cure.report.data import Data
from tasks.evaluations.cure.report.page import render
from tasks.report import Report

REPORT = Report("report-cure.html", Data, render)
