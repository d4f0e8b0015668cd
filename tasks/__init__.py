"""What flows are made of: metrics, engines, and one slice per evaluation."""
