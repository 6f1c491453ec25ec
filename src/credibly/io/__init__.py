"""Reading and writing files: predictions and labels in, results out, never half a file."""

from credibly.io.bundled import demo, demo_models
from credibly.io.files import count_rows
from credibly.io.inspection import ArrayFacts, Inspection, inspect
from credibly.io.json_text import read_json_object
from credibly.io.loading import load, rows_of
from credibly.io.npy import map_npy, read_rows
from credibly.io.posterior import from_posterior_predictive
from credibly.io.remote import in_natural_order, is_pattern, is_remote, local_copy, matching_urls, plain_path
from credibly.io.saving import labels_beside, require_target, save
from credibly.io.writing import is_report, require_writable, write_bytes_atomically, write_text_atomically

__all__ = [
    "ArrayFacts",
    "Inspection",
    "count_rows",
    "demo",
    "demo_models",
    "from_posterior_predictive",
    "in_natural_order",
    "inspect",
    "is_pattern",
    "is_remote",
    "is_report",
    "labels_beside",
    "load",
    "local_copy",
    "map_npy",
    "matching_urls",
    "plain_path",
    "read_json_object",
    "read_rows",
    "require_target",
    "require_writable",
    "rows_of",
    "save",
    "write_bytes_atomically",
    "write_text_atomically",
]
