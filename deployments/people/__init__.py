"""Studies with people: the web app that asks, its database, and items drawn from the warehouse."""
