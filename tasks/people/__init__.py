"""Studies with people: forms, assignments, answers, exclusions, agreement, planning, review files. Pure."""
