"""Dishes, their origins and ingredients from Wikidata, by SPARQL.

``fetch`` sends five queries (the ``.rq`` files) to an ``Endpoint`` and returns a ``Harvest``; ``join`` turns
it into rows without any I/O.
"""

from __future__ import annotations

from scrapers.wikidata.endpoint import Endpoint
from scrapers.wikidata.fetch import fetch
from scrapers.wikidata.join import Harvest, Traffic, join

__all__ = ["Endpoint", "Harvest", "Traffic", "fetch", "join"]
