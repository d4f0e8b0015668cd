"""Log-probabilities of given texts: requests as values, and how their stored answers are read."""
