"""YAML as plain as JSON: no aliases, no keys given twice, no dates that were meant as text.

It is read in Python, slowly: hand longer texts to a thread.
"""

from __future__ import annotations

from typing import Any

import yaml


class UnreadableYamlError(ValueError):
    """The text cannot be read; the message says why, and where if that is known."""


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(problem="aliases are not taken; write it out", problem_mark=mark)
        return super().compose_node(parent, index)

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
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge"))]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text_node(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text_node)


def read(text: str) -> Any:
    """The content of one document. Raises `UnreadableYamlError`."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        where = error.problem_mark or error.context_mark
        place = f" (line {where.line + 1}, column {where.column + 1})" if where else ""
        raise UnreadableYamlError(f"{error.problem}{place}") from None
    except RecursionError:
        raise UnreadableYamlError("is nested too deeply") from None
    except (yaml.YAMLError, ValueError) as error:
        raise UnreadableYamlError(str(error).splitlines()[0]) from None


def write(content: Any) -> str:
    """A document that `read` gives the same content for; texts of several lines are written as such."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)
