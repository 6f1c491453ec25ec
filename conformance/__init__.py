"""Definitions and vectors that judge any package for calibration and uncertainty, credibly included."""
