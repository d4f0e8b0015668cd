"""A kit for reports: page frame, tables, panels, one colour scheme. Pure; it knows no evaluation.

An evaluation has a package ``report`` with a ``REPORT``: a subclass of ``Frames``, whose fields name the
views that fill them, and a pure function from these frames to one HTML document (``page.render_page`` and
templates). Here is only what every report needs; figures, cells and texts are imported from their modules.
"""

from tasks.report.data import Frames, Report, Row, gain_sign, in_order_of, value_of, view

__all__ = ["Frames", "Report", "Row", "gain_sign", "in_order_of", "value_of", "view"]
