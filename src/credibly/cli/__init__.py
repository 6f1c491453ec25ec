"""The command line, thin: arguments -> library -> terminal."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; Ctrl-C while its modules load ends it as quietly as later.

    Parameters
    ----------
    arguments : sequence of str, optional
        The arguments after ``credibly``. Default: those of the process.

    Returns
    -------
    int
        The exit code.
    """
    try:
        from credibly.cli.app import main as run
    except KeyboardInterrupt:
        return 130
    return run(arguments)
