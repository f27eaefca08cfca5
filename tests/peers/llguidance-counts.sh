#!/usr/bin/env bash
# Expected: a decoder that follows a grammar ignores a count of entries that it cannot enforce, or enforces it.
# What happens: llguidance 1.9.1 refuses the whole schema if `minProperties` or `maxProperties` stands beside an optional property.
# A host then answers the whole request with an error, or decodes without a schema. So the portable form says such counts in words.
#
#   tests/peers/llguidance-counts.sh     # needs Python 3.11 or later with venv, and the network; fails when the behaviour changes
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/python"
"$folder/python/bin/pip" install -q --disable-pip-version-check llguidance==1.9.1
"$folder/python/bin/python" - <<'PYTHON'
import json

from llguidance import LLMatcher

cases = {
    "an optional property alone": ({}, [], False),
    "a minimum beside an optional property": ({"minProperties": 1}, [], True),
    "a maximum beside an optional property": ({"maxProperties": 3}, [], True),
    "a minimum beside a required property": ({"minProperties": 1}, ["a"], False),
}
changed = False
for name, (count, required, is_refused) in cases.items():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": required, **count}
    error = LLMatcher.validate_grammar(LLMatcher.grammar_from_json_schema(json.dumps(schema)))
    print(f"{name}: {error or 'taken'}")
    changed |= bool(error) != is_refused
raise SystemExit("the behaviour has changed" if changed else 0)
PYTHON
