"""The report: figures and one self-contained HTML page, made from data frames. No input or output."""

from tasks.report.data import ReportData
from tasks.report.page import render

__all__ = ["ReportData", "render"]
