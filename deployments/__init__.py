"""The ways to start a flow: command line, server with schedules, run profiles."""
