"""The FmLAMA page. ``REPORT`` is all that is asked of this package, so nothing else is here."""

from tasks.evaluations.fmlama.report.data import Data
from tasks.evaluations.fmlama.report.page import render
from tasks.report import Report

REPORT = Report("report-fmlama.html", Data, render)
