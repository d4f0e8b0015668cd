"""The spectral page. ``REPORT`` is all that is asked of this package, so nothing else is here."""

from tasks.evaluations.spectral.report.data import Data
from tasks.evaluations.spectral.report.page import render
from tasks.report import Report

REPORT = Report("report.html", Data, render)
