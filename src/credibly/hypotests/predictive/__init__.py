"""Predictive checks: the metrics that a model itself would expect."""
