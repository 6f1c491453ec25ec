"""An evaluation, or a comparison of models, as one self-contained HTML file."""

from credibly.report.comparison import render_comparison, write_comparison
from credibly.report.page import render_report, write_report

__all__ = ["render_comparison", "render_report", "write_comparison", "write_report"]
