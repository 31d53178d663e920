"""YAML as plain as JSON: no aliases, no keys given twice, no dates, yes or no that were meant as text."""

from __future__ import annotations

import re
from typing import Any

import yaml

from parley.sdk.errors import ParleyError

MOST_BYTES = 1_000_000
"""What the service takes as a body, too."""


class UnreadableFile(ParleyError):
    """A file of definitions cannot be read; the text names line and column where they are known."""


class _Loader(yaml.SafeLoader):
    """The safe loader without what makes YAML surprising."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not taken; write it out", problem_mark=mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        seen: set[Any] = set()
        for key, _ in node.value:
            name = self.construct_object(key, deep=True)
            if not isinstance(name, str):
                raise yaml.MarkedYAMLError(problem="a key has to be text", problem_mark=key.start_mark)
            if name in seen:
                raise yaml.MarkedYAMLError(problem=f"{name} is given twice", problem_mark=key.start_mark)
            seen.add(name)
        return super().construct_mapping(node, deep)


_SURPRISING = (":timestamp", ":merge", ":bool")
_Loader.yaml_implicit_resolvers = {
    first: [
        (tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge", ":bool"))
    ]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
# Only these, as in YAML 1.2: yes, no, on and off are what people answer, and mean themselves.
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:bool", re.compile("(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF")
)


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as such."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text_node)


def parse(text: str, source: str) -> Any:
    """The content of a document. Raises `UnreadableFile`, which begins with `source`."""
    if len(text.encode()) > MOST_BYTES:
        raise UnreadableFile(f"{source} is larger than {MOST_BYTES} bytes.")
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark or error.context_mark
        place = f" line {where.line + 1}, column {where.column + 1}" if where else ""
        raise UnreadableFile(f"{source}{place}: {error.problem}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UnreadableFile(f"{source}: {str(error).splitlines()[0]}.") from error


def render(content: Any) -> str:
    """A document that `parse` reads back."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
