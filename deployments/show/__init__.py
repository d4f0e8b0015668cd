"""Tables, plans, reports and logs for people to read."""
