"""How benchmarks score texts where a recipe's own ways are not theirs."""
