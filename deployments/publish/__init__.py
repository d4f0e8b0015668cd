"""``culturescope publish``: a static site of all finished runs, which asks no other host for anything.

``rule.py`` says what of the warehouse it holds, ``data.py`` writes that as Parquet and describes it,
``pages.py`` draws what overview and reports do not, ``site.py`` puts it in place and verifies it. ``engine/``
has the programs of others that the query page runs (engine.toml says which), ``examples/`` its queries.
"""
