"""A kit for reports: page frame, tables, panels, one colour scheme. It knows no evaluation; no input or output.

An evaluation has a package ``report`` with a ``REPORT``: a subclass of ``Frames``, whose fields name the views that
fill them, and a pure function from these frames to one HTML document (``page.render_page`` and templates).
"""

from tasks.report.data import Frames, Report, Row, in_order_of, side, value_of, view

__all__ = ["Frames", "Report", "Row", "in_order_of", "side", "value_of", "view"]
