"""Say how many tests passed, failed and were skipped, and why, from pytest's JUnit XML."""

from __future__ import annotations

import argparse
import sys
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path

KINDS = ("passed", "failed", "skipped")


def main() -> int:
    """Print the counts and every reason to skip; return 1 where a skip has no reason."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    root = ET.parse(parser.parse_args().results).getroot()

    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for case in root.iter("testcase"):
        skipped = case.find("skipped")
        if skipped is not None:
            outcomes["skipped"] += 1
            reasons[skipped.get("message", "").strip()] += 1
        elif case.find("failure") is not None or case.find("error") is not None:
            outcomes["failed"] += 1
        else:
            outcomes["passed"] += 1

    for reason, count in reasons.most_common():
        print(f"{count} skipped: {reason or 'NO REASON GIVEN'}")
    print(f"tests: {', '.join(f'{outcomes[kind]} {kind}' for kind in KINDS)}")
    return 1 if "" in reasons else 0


if __name__ == "__main__":
    sys.exit(main())
