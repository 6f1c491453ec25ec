"""The only room that opens files: read predictions and labels, write results, never half of one."""

from credibly.io.budget import load_budget
from credibly.io.bundled import demo, demo_models
from credibly.io.dataset import Dataset, load
from credibly.io.inspection import ArrayFacts, Inspection, inspect
from credibly.io.json_text import read_json_object
from credibly.io.posterior import from_posterior_predictive
from credibly.io.remote import is_remote, local_copy, matching_urls, plain_path
from credibly.io.rows import Rows, count_rows, map_npy, read_rows, rows_of
from credibly.io.saving import labels_beside, require_target, save
from credibly.io.writing import require_writable, write_bytes_atomically, write_text_atomically

__all__ = [
    "ArrayFacts",
    "Dataset",
    "Inspection",
    "Rows",
    "count_rows",
    "demo",
    "demo_models",
    "from_posterior_predictive",
    "inspect",
    "is_remote",
    "labels_beside",
    "load",
    "load_budget",
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
