"""What can be asked of the program, as data: options, verbs, and the record of one call.

Nothing here computes or reads files, and nothing heavy is loaded: help and completion need no more than this.
"""

from credibly.calls.options import Option
from credibly.calls.record import Call, plain
from credibly.calls.verbs import VERBS, Verb

__all__ = ["VERBS", "Call", "Option", "Verb", "plain"]
