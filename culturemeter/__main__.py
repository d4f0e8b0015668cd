"""The command line as ``python -m culturemeter``, if the command is not on the path."""

from deployments.cli.app import app

if __name__ == "__main__":
    app(prog_name="culturemeter")
