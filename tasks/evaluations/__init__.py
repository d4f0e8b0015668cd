"""An evaluation each: a folder with its study, answers and rows, or a file; ``tasks.registry`` finds them."""
