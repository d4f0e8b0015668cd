"""Refreshes item lists and dish sets from live sources; refuses suspicious results."""
