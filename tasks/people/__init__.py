"""Studies with people: forms, assignments, answers, exclusions, agreement, planning. Pure."""
