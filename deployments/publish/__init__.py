"""``culturemeter publish``: a static site of all finished runs, which asks no other host for anything.

``rule.py`` chooses what the site holds of the warehouse, ``data.py`` writes that as Parquet with metadata,
``pages.py`` draws the pages besides overview and reports, and ``site.py`` puts the site in place and verifies
it. ``engine/`` has the query page's programs of others (engine.toml), ``examples.sql`` its queries.
"""
