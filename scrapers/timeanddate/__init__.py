"""Holidays by country from timeanddate.com. Opt-in; none are shipped."""

NOTICE = (
    "timeanddate.com has terms of use that may not allow programs to collect its pages, and sells a "
    "service for that (https://www.timeanddate.com/information/copyright.html). Read the terms and ask for "
    "permission where you need it before you turn this source on. The results are for your own use: do not "
    "publish them."
)
