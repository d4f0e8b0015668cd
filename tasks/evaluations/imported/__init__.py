"""Answers that another program's log has, with our clusters, intervals, nulls and tests."""
