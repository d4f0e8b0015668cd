"""Reads dishes, rankings and marks from the user's folder; lists choices that FmLAMA (Zhou et al. 2025)
leaves open. Pickles are read as data: no code in them is run.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import polars as pl
from pydantic import Field

from scrapers.fmlama.parse import parse
from scrapers.model import ScrapeError
from tasks.loop.objects import objects, plain_value
