"""Labels drawn under a hypothesis, the loop that evaluates statistics on them, p-values."""
