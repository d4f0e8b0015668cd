"""Published benchmarks whose items users bring, one file each: ``recipe.benchmark`` makes the rest of it."""
