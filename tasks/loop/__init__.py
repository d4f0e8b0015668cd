"""Parts of the one loop: requests, plan, steps that work it off, and metric rows."""
