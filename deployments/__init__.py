"""The command line, the server and the schedules: the ways into Culturemeter.

This module is imported first. It makes Ctrl-C during imports print one line in place of a traceback.
"""

import os
import signal
import sys


def _stop(*_: object) -> None:
    sys.stderr.write("interrupted: run again to resume\n")
    os._exit(130)


if os.path.basename(sys.argv[0]) in ("culturemeter", "cli.py"):
    signal.signal(signal.SIGINT, _stop)
