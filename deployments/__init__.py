"""The doors: command line, server, schedules.

Ctrl-C while modules are imported is one line, as anywhere else: this is the first module that is.
"""

import os
import signal
import sys


def _stop(*_: object) -> None:
    sys.stderr.write("interrupted: run again to resume\n")
    os._exit(130)


if os.path.basename(sys.argv[0]) in ("culturescope", "cli.py"):
    signal.signal(signal.SIGINT, _stop)
