"""The WorldWise page. ``REPORT`` is all that is asked of this package, so nothing else is here."""

from tasks.evaluations.worldwise.report.data import Data
from tasks.evaluations.worldwise.report.page import render
from tasks.report import Report

REPORT = Report("report-worldwise.html", Data, render)
