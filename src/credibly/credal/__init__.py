"""Geometry and measures of sets of distributions."""
