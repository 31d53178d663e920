"""YAML as plain as JSON: no aliases, no tags, no keys given twice, and of plain words only those that JSON
knows mean anything but themselves: numbers, true, false, null. A time of day or a date is a text.

It is read in Python, slowly: a server hands longer texts to a thread.
"""

from __future__ import annotations

import math
import re
from typing import Any

import yaml

_SURPRISING = (":timestamp", ":merge", ":bool", ":int", ":float", ":value")
_INT = "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]*)$")
_FLOAT = "tag:yaml.org,2002:float", re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$")
"""Numbers as JSON writes them; a whole one is looked for first."""
_NUMERIC = list("-0123456789")


class YamlUnreadable(ValueError):
    """The text cannot be read. `problem` says why; `line` and `column` (from 1) where, if that is known."""

    def __init__(self, problem: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line
        self.column = column


class _Loader(yaml.SafeLoader):
    """The safe loader without what makes YAML surprising."""

    values_left: float = math.inf
    """Keys and values that may still come."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not taken; write it out", problem_mark=mark)
        event = self.peek_event()  # type: ignore[no-untyped-call]
        if event.tag is not None:
            raise yaml.MarkedYAMLError(problem="tags are not taken", problem_mark=event.start_mark)
        self.values_left -= 1
        if self.values_left < 0:
            problem = "too many keys and values for one file"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_yaml_str(self, node: Any) -> str:
        # Files of JSON spell a character above U+FFFF as two halves.
        halves = self.construct_scalar(node).encode("utf-16", "surrogatepass")
        try:
            return halves.decode("utf-16")
        except UnicodeDecodeError:
            problem = "half a character is no text"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from None

    def construct_yaml_float(self, node: Any) -> float:
        value = float(node.value)
        if not math.isfinite(value):
            raise yaml.MarkedYAMLError(problem="a number is too large", problem_mark=node.start_mark)
        return value

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[str] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.MarkedYAMLError(problem="a key has to be text", problem_mark=key.start_mark)
            if name in seen:
                raise yaml.MarkedYAMLError(problem=f"{name} is given twice", problem_mark=key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(_SURPRISING)]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# Only these, as in YAML 1.2: yes, no, on and off are what people answer, and mean themselves.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)
_Loader.add_implicit_resolver(*_INT, _NUMERIC)
_Loader.add_implicit_resolver(*_FLOAT, _NUMERIC)
_Loader.add_constructor("tag:yaml.org,2002:str", _Loader.construct_yaml_str)
_Loader.add_constructor(_FLOAT[0], _Loader.construct_yaml_float)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


_OTHER_LINE_ENDS = re.compile("[\x85\u2028\u2029]")
"""End a line in YAML; outside double quotes the writer lets them stand bare, and a reader folds them."""


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _OTHER_LINE_ENDS.search(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)
# What the reader above takes for a number is quoted where it is a text.
_Dumper.add_implicit_resolver(*_FLOAT, _NUMERIC)


def read(text: str, *, most_values: int | None = None) -> Any:
    """The content of one document. Raises `YamlUnreadable`.

    `most_values` bounds its keys and values together: each takes some 0.05 ms, whoever sent it.
    """
    try:
        loader = _Loader(text)
        if most_values is not None:
            loader.values_left = most_values
        return loader.get_single_data()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
        raise YamlUnreadable(str(error.problem), line, column) from None
    except RecursionError:
        raise YamlUnreadable("is nested too deeply") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        raise YamlUnreadable(str(error).splitlines()[0]) from None


def write(content: Any) -> str:
    """A document that `read` gives the same content for."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
