"""What the idioms page shows: its leaderboard, within the frame of every page."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from tasks.report import Frames, view
from tasks.report.page import render_page


@dataclass(frozen=True, kw_only=True)
class Data(Frames):
    """The frames of one configuration; leaderboard: the view leaderboard_idioms."""

    leaderboard: pl.DataFrame = field(metadata=view("leaderboard_idioms"))


def render(data: Data) -> str:
    """The page as one HTML document; the same frames give the same bytes."""
    return render_page(__package__, data, {"board": data.leaderboard.to_dicts()})
