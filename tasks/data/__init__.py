"""The one reader of tables and hub files: formats, encodings, limits, headers, and errors with their line."""

from tasks.data.delimited import PlacedRow
from tasks.data.errors import TableError
from tasks.data.reading import ENDINGS, rows, table

__all__ = ["ENDINGS", "PlacedRow", "TableError", "rows", "table"]
