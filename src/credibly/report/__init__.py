"""An evaluation, or a comparison of models, as one self-contained HTML file."""

from credibly.report.page import render_report, write_report

__all__ = ["render_report", "write_report"]
