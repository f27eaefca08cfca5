"""Valid values of a schema and near misses. The library `jsonschema` decides which is which."""

import copy
import json
import re
import re._parser as parser

import jsonschema

SAMPLES = {
    "uuid": ["550e8400-e29b-41d4-a716-446655440000"],
    "date": ["2026-11-27"],
    "date-time": ["2026-11-27T10:00:00Z", "2026-11-27T10:00:00.5+01:00"],
    "time": ["10:00:00Z"],
    "email": ["a@example.org"],
    "uri": ["https://example.org/a?b=c"],
}
TEXTS = ["a", "Oslo", "two words", "é", 'say "hi"', "two\nlines", "a\\b"]
MISSING = object()


class Writer:
    """Writes values of a schema in the forms for lists: there are no `allOf`, `oneOf` and `not`."""

    def __init__(self, root, random):
        self.root, self.random = root, random

    def write(self, schema, depth=0):
        choose = self.random.choice
        if schema in (True, {}):
            return choose([1, "x", True, None, {"a": 1}, ["a"]])
        if depth > 10:
            return None
        if "$ref" in schema:
            return self.write(self.target(schema["$ref"]), depth + 1)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return choose(schema["enum"])
        if "anyOf" in schema:
            members = schema["anyOf"]
            # Deep down, the shortest member ends a recursion.
            return self.write(choose(members) if depth < 6 else min(members, key=lambda one: len(json.dumps(one))), depth + 1)
        kinds = schema.get("type", "object")
        kind = kinds if isinstance(kinds, str) else choose(kinds)
        return getattr(self, f"write_{kind}")(schema, depth)

    def target(self, reference):
        found = self.root
        for step in reference.removeprefix("#").split("/")[1:]:
            found = found[step.replace("~1", "/").replace("~0", "~")]
        return found

    def write_null(self, schema, depth):
        return None

    def write_boolean(self, schema, depth):
        return self.random.random() < 0.5

    def bounds(self, schema, step):
        low = schema.get("minimum", schema.get("exclusiveMinimum", -1000 + step) - 0)
        high = schema.get("maximum", schema.get("exclusiveMaximum", max(low, 0) + 2000))
        return low, high

    def write_integer(self, schema, depth):
        low, high = (int(bound) for bound in self.bounds(schema, 1))
        return self.random.choice([one for one in (low, high, (low + high) // 2, 0, 1, 7, 1500) if low <= one <= high])

    def write_number(self, schema, depth):
        low, high = self.bounds(schema, 0.5)
        return self.random.choice([one for one in (low, high, (low + high) / 2, 0, 0.25, 2.5) if low <= one <= high])

    def write_string(self, schema, depth):
        if "pattern" in schema:
            return self.match(parser.parse(schema["pattern"]))
        if schema.get("format") in SAMPLES:
            return self.random.choice(SAMPLES[schema["format"]])
        text = self.random.choice(TEXTS)
        least, most = schema.get("minLength", 0), schema.get("maxLength", 1000)
        return (text + "x" * max(0, least - len(text)))[:most]

    def match(self, parts):
        text = ""
        for operator, argument in parts:
            operator = str(operator)
            if operator == "LITERAL":
                text += chr(argument)
            elif operator == "IN":
                ranges = [(value, value) if str(kind) == "LITERAL" else value for kind, value in argument]
                text += chr(self.random.choice([code for first, last in ranges for code in (first, last, (first + last) // 2)]))
            elif operator in ("MAX_REPEAT", "MIN_REPEAT"):
                least, most, inner = argument
                text += "".join(self.match(inner) for _ in range(self.random.randint(int(least), min(int(most), int(least) + 3))))
            elif operator == "SUBPATTERN":
                text += self.match(argument[-1])
            elif operator == "BRANCH":
                text += self.match(self.random.choice(argument[1]))
        return text

    def write_array(self, schema, depth):
        prefix = [self.write(one, depth + 1) for one in schema.get("prefixItems", [])]
        least = max(schema.get("minItems", 0) - len(prefix), 0)
        most = max(schema.get("maxItems", least + len(prefix) + 2) - len(prefix), least)
        more = 0 if depth > 5 else self.random.randint(0, min(most - least, 2))
        # The items after a prefix are in doubt: the form for mixed tuples has counts.
        more = 0 if prefix else more
        return prefix + [self.write(schema.get("items", True), depth + 1) for _ in range(least + more)]

    def write_object(self, schema, depth):
        properties, required = schema.get("properties", {}), schema.get("required", [])
        chance = self.random.choice([0, 0.5, 1]) if depth < 5 else 0
        value = {
            name: self.write(one, depth + 1)
            for name, one in properties.items()
            if name in required or self.random.random() < chance
        }
        rest = schema.get("additionalProperties", False)
        if rest and depth < 5:
            for name in self.random.sample(["k1", "k2", "2"], self.random.randint(0, 2)):
                value.setdefault(name, self.write(rest, depth + 1))
        return value


def near_misses(value):
    """Returns copies of a value with one change each."""
    for path, inner in places(value):
        for other in changes(inner) + ([MISSING] if path else []):
            if not path:
                yield other
                continue
            whole = copy.deepcopy(value)
            parent = whole
            for step in path[:-1]:
                parent = parent[step]
            if other is MISSING:
                del parent[path[-1]]
            else:
                parent[path[-1]] = other
            yield whole


def places(value, path=()):
    yield path, value
    inner = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for step, one in inner:
        yield from places(one, (*path, step))


def changes(value):
    common = [None, True, [], {}]
    if isinstance(value, bool):
        return common + [1, "yes"]
    if isinstance(value, int):
        return common + ["x", value + 1, value - 1, -value - 1, value * 1000 + 7, value + 0.5]
    if isinstance(value, float):
        return common + ["x", value + 1000, -value - 1000]
    if isinstance(value, str):
        return common + [5, value + "!", value[:-1], value.upper(), value * 30, "no such"]
    if isinstance(value, list):
        return common + ["x", value + ["x"], value + value[:1], value[:-1], value[::-1], value * 20]
    if isinstance(value, dict):
        return common + ["x", {**value, "unknown": 1}]
    return common + [0, "x"]


def judge(schema):
    validator = jsonschema.Draft202012Validator
    return validator(schema, format_checker=validator.FORMAT_CHECKER)


def values(schema, random, most_valid=14, most_invalid=60):
    """Returns valid values and near misses."""
    judged, writer, seen = judge(schema), Writer(schema, random), set()
    valid, invalid = [], []

    def take(value):
        text = json.dumps(value, sort_keys=True)
        if text not in seen and len(text) < 5_000:
            seen.add(text)
            (valid if judged.is_valid(value) else invalid).append(value)

    for _ in range(60):
        if len(valid) < most_valid:
            take(writer.write(schema))
    # A near miss may be valid, too. Then it may have a form that only this library accepts, such as an odd address.
    made = list(valid)
    for one in made[:6]:
        for other in near_misses(one):
            take(other)
    random.shuffle(invalid)
    return made, invalid[:most_invalid]


def in_order(value, schema, root):
    """Returns the value with names in the order of the schema: every engine writes them so."""
    if schema in (True, {}) or not isinstance(schema, dict):
        return value
    if "$ref" in schema:
        return in_order(value, Writer(root, None).target(schema["$ref"]), root)
    for member in schema.get("anyOf", []):
        if judge({**member, "$defs": root.get("$defs", {})}).is_valid(value):
            return in_order(value, member, root)
    if isinstance(value, dict):
        properties, rest = schema.get("properties", {}), schema.get("additionalProperties", True)
        first = {name: in_order(value[name], one, root) for name, one in properties.items() if name in value}
        return first | {name: in_order(one, rest, root) for name, one in value.items() if name not in first}
    if isinstance(value, list):
        prefix = schema.get("prefixItems", [])
        items = prefix + [schema.get("items", True)] * max(0, len(value) - len(prefix))
        return [in_order(one, item, root) for one, item in zip(value, items)]
    return value


def is_hard(value):
    """Returns whether engines block the value whatever the schema says: escapes in texts, and more than 16 digits."""
    if isinstance(value, str):
        return bool(re.search(r'["\\\x00-\x1f]', value))
    if isinstance(value, (dict, list)):
        return any(is_hard(one) for one in (value.values() if isinstance(value, dict) else value))
    return isinstance(value, int) and abs(value) >= 10**16
