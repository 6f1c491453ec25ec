"""Predictive checks: what a model expects of its own metrics."""
