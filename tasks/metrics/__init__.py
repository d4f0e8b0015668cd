"""Pure mathematics on arrays: the numbers of every evaluation, callable from a notebook.

Nothing here reads a file, a warehouse or a model; only numpy and scipy are imported. A number
that cannot be computed is `None` or left out, never NaN or 0. Invalid input raises a `ValueError` that names
the place.
"""
