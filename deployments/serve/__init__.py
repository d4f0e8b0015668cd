"""The Prefect server, its deployments, schedules and work pools."""
