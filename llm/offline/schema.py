"""The subset of JSON schema that structured outputs take; what lies outside is refused.

It is what the SDK's `transform_schema` leaves in place. Keywords it moves into descriptions (`maxItems`, `minimum`,
`maxLength`, `pattern` and so on) the API answers with an error.
"""

from __future__ import annotations

from llm.offline.api import JsonObject, refused

_ANYWHERE = frozenset({"$defs", "$ref", "enum", "const", "anyOf", "allOf", "type", "description", "title"})
_BY_TYPE = {
    "object": frozenset({"properties", "additionalProperties", "required"}),
    "array": frozenset({"items", "minItems"}),
    "string": frozenset({"format"}),
    "integer": frozenset[str](),
    "number": frozenset[str](),
    "boolean": frozenset[str](),
    "null": frozenset[str](),
}
_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"])
MAX_DEPTH = 20
_WHERE = "output_config.format.schema"


def check_schema(schema: object, depth: int = 0) -> None:
    """Raise ApiFault 400 where a schema, or one inside it, uses what the API does not take."""
    if not isinstance(schema, dict):
        raise refused(f"{_WHERE}: a schema must be an object")
    if depth > MAX_DEPTH:
        raise refused(f"{_WHERE}: nested too deeply")
    _check_keywords(schema)
    for inner in _inner(schema):
        check_schema(inner, depth + 1)


def _check_keywords(schema: JsonObject) -> None:
    kind = schema.get("type")
    if kind is not None and kind not in _BY_TYPE:
        raise refused(f"{_WHERE}: unknown type")
    if kind is None and not schema.keys() & {"$ref", "enum", "const", "anyOf", "allOf"}:
        raise refused(f"{_WHERE}: a schema needs a type")
    surplus = schema.keys() - _ANYWHERE - _BY_TYPE.get(str(kind), frozenset())
    if surplus:
        raise refused(f"{_WHERE}: For '{kind}' type, property '{min(surplus)}' is not supported")
    if kind == "object" and schema.get("additionalProperties") is not False:
        raise refused(f"{_WHERE}: For 'object' type, 'additionalProperties' must be explicitly set to false")
    if "format" in schema and schema["format"] not in _FORMATS:
        raise refused(f"{_WHERE}: this format is not supported")
    if schema.get("minItems", 0) not in (0, 1):
        raise refused(f"{_WHERE}: For 'array' type, 'minItems' values other than 0 or 1 are not supported")


def _inner(schema: JsonObject) -> list[object]:
    maps = [schema.get(key) for key in ("$defs", "properties")]
    lists = [schema.get(key) for key in ("anyOf", "allOf")]
    found = [inner for group in maps if isinstance(group, dict) for inner in group.values()]
    found += [inner for group in lists if isinstance(group, list) for inner in group]
    return [*found, schema["items"]] if "items" in schema else found
