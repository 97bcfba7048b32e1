# SPDX-License-Identifier: Apache-2.0
"""Holds recorded replies to the models of a platform's own Python packages. Run by replies.mjs.

Reads [{what, model, body}] from standard input. A body passes if the model has each of its keys,
with its type, and misses none that it requires; a list is checked item by item. Then the same body
with one more key must fail, so that a model that accepts anything is found out.

`model` is "module:Class". Or it is "package:", one that OpenAPI Generator wrote: then the package's
own table says which type the call {method, path, status} has.

Models of the generators (attrs or pydantic) have from_dict() and to_dict(), and must give the same
JSON back; those of Kubernetes have their types as text; those of plain pydantic are validated
strictly, with nothing extra. What is recorded for `reads` may have more keys than the model.
"""

import ast
import functools
import importlib
import json
import pathlib
import re
import sys

TIME = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$")


EXTRA = "forbid"


class Wrong(Exception):
    pass


def same(sent, back, at):
    """The JSON that a model gives back is what it got, but for the form of times, for nulls and for defaults."""
    if isinstance(sent, dict) and isinstance(back, dict):
        for key, value in sent.items():
            if key not in back and value is not None:
                raise Wrong(f"{at}.{key} is not in the model")
            same(value, back.get(key), f"{at}.{key}")
    elif isinstance(sent, list) and isinstance(back, list) and len(sent) == len(back):
        for i, (one, other) in enumerate(zip(sent, back)):
            same(one, other, f"{at}[{i}]")
    elif isinstance(sent, str) and TIME.match(sent):
        pass
    elif sent != back or isinstance(sent, bool) != isinstance(back, bool):
        raise Wrong(f"{at} is {sent!r}, and {back!r} to the model")


def is_map(model):
    """A model of attrs that has no fields of its own is an object with any keys."""
    return [a.name for a in getattr(model, "__attrs_attrs__", ())] == ["additional_properties"]


def nothing_more(value, at):
    """No part of a decoded model keeps keys that it does not know."""
    more = getattr(value, "additional_properties", None)
    if more and not is_map(type(value)):
        raise Wrong(f"{at} has unknown keys: {sorted(more)}")
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list):
        parts = enumerate(value)
    elif hasattr(type(value), "__attrs_attrs__"):
        parts = [(a.name, getattr(value, a.name)) for a in type(value).__attrs_attrs__]
    else:
        parts = getattr(value, "__dict__", {}).items() if hasattr(value, "to_dict") else ()
    for name, part in parts:
        nothing_more(part, f"{at}.{name}")


def fields_of(model, body, at):
    """An instance of a model of the Kubernetes client, which refuses what is missing or not in an enumeration."""
    if not isinstance(body, dict):
        raise Wrong(f"{at} is no {model.__name__}")
    names = {key: name for name, key in model.attribute_map.items()}
    unknown = sorted(set(body) - set(names))
    if unknown:
        raise Wrong(f"{at} has unknown keys: {unknown}")
    return model(**{names[k]: field(model, model.openapi_types[names[k]], v, f"{at}.{k}") for k, v in body.items()})


PLAIN = {"str": str, "int": int, "float": (int, float), "bool": bool, "datetime": str, "object": object}


def field(model, kind, value, at):
    """A value of the type that the generator has noted as text."""
    inner = re.fullmatch(r"(list|dict)[\[(](?:str, )?(.+)[\])]", kind[:4].lower() + kind[4:])
    if value is None:
        return None
    if inner and inner[1] == "list" and isinstance(value, list):
        return [field(model, inner[2], v, f"{at}[{i}]") for i, v in enumerate(value)]
    if inner and inner[1] == "dict" and isinstance(value, dict):
        return {k: field(model, inner[2], v, f"{at}.{k}") for k, v in value.items()}
    if kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (kind in ("int", "float") and isinstance(value, bool)):
            raise Wrong(f"{at} is no {kind}: {value!r}")
        if kind == "datetime" and not TIME.match(value):
            raise Wrong(f"{at} is no time: {value!r}")
        return value
    if inner:
        raise Wrong(f"{at} is no {kind}")
    return fields_of(getattr(importlib.import_module(model.__module__.split(".models")[0] + ".models"), kind), value, at)


def check_one(model, body):
    if isinstance(model, Operation):
        model.check(body)
    elif hasattr(model, "attribute_map"):
        fields_of(model, body, "it")
    elif hasattr(model, "from_dict") and hasattr(model, "to_dict"):
        decoded = model.from_dict(body)
        nothing_more(decoded, "it")
        same(body, decoded.to_dict(), "it")
    elif hasattr(model, "model_validate_json"):
        model.model_validate_json(json.dumps(body), strict=True, extra=EXTRA)
    else:
        raise Wrong(f"{model} is no model")


OPERATION = re.compile(
    r"_response_types_map[^=]*= (?P<types>\{[^}]*\})"
    r"|method='(?P<method>[A-Z]+)',\s+resource_path='(?P<path>[^']+)'"
)
EXACT = {"str": str, "object": object, "bytes": bytes}


@functools.cache
def operations(package):
    """[(method, path as a pattern, {status: type})] as the generated code of a package has them."""
    found = []
    types = {}
    for file in sorted(pathlib.Path(importlib.import_module(package).__file__).parent.glob("api/*.py")):
        for match in OPERATION.finditer(file.read_text()):
            if match["types"]:
                types = {int(k): v for k, v in ast.literal_eval(match["types"]).items()}
            else:
                path = re.sub(r"\\\{[^}]*\\\}", "[^/]+", re.escape(match["path"]))
                found.append((match["method"], re.compile(path), path.count("["), types))
    return sorted(found, key=lambda o: o[2])  # what names a path beats what has a place in it


def check_type(package, name, body, at):
    """A type as the generator writes it: a model, List[T], Dict[str, T] or str."""
    inner = re.fullmatch(r"(List|Dict)\[(?:str, )?(.+)\]", name)
    if inner:
        if not isinstance(body, {"List": list, "Dict": dict}[inner[1]]):
            raise Wrong(f"{at} is no {name}")
        for key, part in enumerate(body) if inner[1] == "List" else body.items():
            check_type(package, inner[2], part, f"{at}[{key}]")
    elif name in EXACT:
        if not isinstance(body, EXACT[name]):
            raise Wrong(f"{at} is no {name}")
    else:
        check_one(getattr(importlib.import_module(f"{package}.models"), name), body)


class Operation:
    """The type of one reply, which is found by its call."""

    def __init__(self, package, call):
        method, path, status = call["method"], call["path"], call["status"]
        types = next((o[3] for o in operations(package) if o[0] == method and o[1].fullmatch(path)), None)
        if types is None:
            raise Wrong(f"{package} has no {method} {path}")
        if status not in types:
            raise Wrong(f"{method} {path} has no status {status}: {sorted(types)}")
        self.package, self.type = package, types[status]

    def check(self, body):
        if self.type is None:
            if body is not None:
                raise Wrong("it should have no body")
        else:
            check_type(self.package, self.type, body, "it")

    def is_open(self):
        return self.type is None or not re.fullmatch(r"(List\[)?[A-Z]\w+\]?", self.type) or self.type == "List[str]"


def check(model, body):
    try:
        check_one(model, body)
    except Wrong as err:
        return str(err)
    except Exception as err:  # each generator has errors of its own
        return f"{type(err).__name__}: {err}"
    return None


def more(body):
    """The same with a key that nobody knows, in the first item of a list."""
    if isinstance(body, list):
        return [{**body[0], "holdfast_invented": 1}]
    return {**body, "holdfast_invented": 1}


def check_record(record):
    """What is wrong with it, or None."""
    global EXTRA
    reads = record["validator"] == "reads"  # a model of what the client reads, which is not all
    EXTRA = "ignore" if reads else "forbid"
    module, _, name = record["model"].partition(":")
    body = record["body"]
    if not name:
        try:
            model = Operation(module, record["call"])
        except Wrong as err:
            return str(err)
        fault = check(model, body)
        accepts_all = not fault and body and not model.is_open() and not check(model, more(body))
    else:
        model = getattr(importlib.import_module(module), name.removesuffix("[]"))
        if name.endswith("[]") != isinstance(body, list):
            return "a list, or none"
        fault = next(filter(None, (check(model, b) for b in (body if name.endswith("[]") else [body]))), None)
        accepts_all = not fault and body and not reads and not is_map(model) and not check(model, more(body)[0] if name.endswith("[]") else more(body))
    return fault or ("it accepts any key, so it proves nothing" if accepts_all else None)


def main():
    records = json.load(sys.stdin)
    wrong = []
    for record in records:
        fault = check_record(record)
        if fault:
            wrong.append(f"{record['what']} by {record['model']}: {fault}\n    {json.dumps(record['body'])[:1500]}")
    print("\n".join([*wrong, f"checked {len(records)}, wrong {len(wrong)}"]))


main()
