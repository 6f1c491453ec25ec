"""Exit codes."""

RAN = 0
CONFLICT = 1
"""Only with ``--fail-on``: a conflict, or a margin that was not shown to hold."""
BAD_INPUT = 2
DEFECT = 70
"""An error of ours (EX_SOFTWARE of sysexits.h): Python's own 1 would read as a conflict."""
INTERRUPTED = 130
CLOSED_PIPE = 141
"""The reader of stdout went away, as the shell numbers it."""
