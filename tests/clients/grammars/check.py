"""Counts how decoders that follow a grammar treat the schemas of tools, in each form for lists.

Reads the output of `forms` from stdin. With `-v`, also prints the reason for each schema that is not right.

right: all valid values can be written, and no near miss. refused: the engine refuses the schema, and so the request. unwritable: no
valid value can be written. blocked: some valid value cannot be written. weakened: only near misses can be written, too.
hard: among the right and weakened ones, those where a text with an escape or a number of more than 16 digits cannot be written.
"""

import json
import random
import sys
from collections import Counter

from engines import compile, dumps
from values import in_order, is_hard, values

CLASSES = ["right", "refused", "unwritable", "blocked", "weakened", "hard"]


def classify(form, matcher, valid, invalid):
    """Returns the class, an example, and whether only a hard value is blocked."""
    if isinstance(matcher, Exception):
        return "refused", str(matcher).strip().splitlines()[-1:], False
    text = lambda value: dumps(in_order(value, form, form))
    blocked = [value for value in valid if not matcher.accepts(text(value))]
    if valid and len(blocked) == len(valid):
        return "unwritable", text(blocked[0]), False
    easy = [value for value in blocked if not is_hard(value)]
    if easy:
        return "blocked", text(easy[0]), False
    written = next((text(value) for value in invalid if matcher.accepts(text(value))), None)
    return ("weakened" if written else "right"), written, bool(blocked)


def main():
    tools = [json.loads(line) for line in sys.stdin]
    for form_name in tools[0]["forms"]:
        some = [tool for tool in tools if tool["forms"][form_name] is not None]
        counts = {}
        for tool, matchers in zip(some, compile([tool["forms"][form_name] for tool in some])):
            form = tool["forms"][form_name]
            valid, invalid = values(form, random.Random(tool["tool"]))
            assert valid, tool["tool"]
            for engine, matcher in matchers.items():
                kind, example, is_blocked_if_hard = classify(form, matcher, valid, invalid)
                count = counts.setdefault(engine, Counter())
                count[kind] += 1
                count["hard"] += is_blocked_if_hard
                if "-v" in sys.argv and (kind != "right" or is_blocked_if_hard):
                    print(f"  {tool['tool']}: {engine}: {kind}{' (hard)' if is_blocked_if_hard else ''}: {example}")
        print(f"{form_name}, {len(some)} tools:")
        for engine, count in counts.items():
            print(f"  {engine:14}" + "  ".join(f"{count[kind]} {kind}" for kind in CLASSES))


if __name__ == "__main__":
    main()
