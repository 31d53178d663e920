"""Reading a body: the definition it describes, or every fault it has."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, TypeVar

from pydantic import ValidationError

from parley.server.definitions.faults import MOST_FAULTS, DefinitionRefused, Fault, faults_of, top_of
from parley.server.definitions.rules import broken_rules
from parley.server.definitions.schemas import NAMES_BELOW, Definition, DirectBody, Evaluated
from parley.server.definitions.text import unfit_values

Read = TypeVar("Read", bound=Evaluated)


def read_definition(body: object) -> Definition:
    """The definition a create body describes. Raises `DefinitionRefused` with every fault."""
    return _read(Definition, body)


def read_change(body: object, before: Mapping[str, Any]) -> Definition:
    """The stored fields `before` with what a change body sends; the merged whole is checked.

    Objects and lists are replaced, `user_sampling` is merged. Raises `DefinitionRefused`.
    """
    if not isinstance(body, dict):
        raise DefinitionRefused([_NO_OBJECT])
    merged = dict(before) | body
    if isinstance(sampling := body.get("user_sampling"), dict):
        merged["user_sampling"] = before["user_sampling"] | sampling
    return _read(Definition, merged)


def read_direct(body: object) -> DirectBody:
    """The definition a direct evaluation's body describes. Raises `DefinitionRefused`.

    `user` is taken for `external_user_id`; `stream` is taken and ignored.
    """
    if not isinstance(body, dict):
        raise DefinitionRefused([_NO_OBJECT])
    fields = {name: value for name, value in body.items() if name != "stream"}
    if "user" not in fields:
        return _read(DirectBody, fields)
    user = fields.pop("user")
    faults = []
    if fields.setdefault("external_user_id", user) != user:
        faults.append(Fault(field="user", problem="must not differ from external_user_id, its other name"))
    faults += [_by_alias(fault) for fault in _faults(DirectBody, fields)]
    if faults:
        raise DefinitionRefused(faults)
    return DirectBody.model_validate(fields)


def _by_alias(fault: Fault) -> Fault:
    return Fault(field="user", problem=fault.problem) if fault.field == "external_user_id" else fault


_NO_OBJECT = Fault(field="", problem="must be a JSON object")


def _read(schema: type[Read], body: object) -> Read:
    if not isinstance(body, dict):
        raise DefinitionRefused([_NO_OBJECT])
    if faults := _faults(schema, body):
        raise DefinitionRefused(faults)
    return schema.model_validate(body)


def _faults(schema: type[Evaluated], body: dict[str, Any]) -> list[Fault]:
    faults = list(islice(unfit_values(body), MOST_FAULTS))
    known = NAMES_BELOW | {"": tuple(schema.model_fields)}
    try:
        schema.model_validate(body)
    except ValidationError as error:
        faults += faults_of(error, known)
    return faults + list(broken_rules(_sound_values(schema, body, faults)))


def _sound_values(schema: type[Evaluated], body: dict[str, Any], faults: list[Fault]) -> dict[str, Any]:
    """Raw values of the fields without a fault, defaults where none was sent."""
    broken = {top_of(fault.field) for fault in faults}
    defaults = {name: field.default for name, field in schema.model_fields.items() if not field.is_required()}
    return {name: value for name, value in (defaults | body).items() if name not in broken}
