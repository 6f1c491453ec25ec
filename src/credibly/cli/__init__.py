"""The command line, thin: arguments -> library -> terminal."""

from credibly.cli.app import main

__all__ = ["main"]
