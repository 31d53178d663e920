"""Between a file and the service. The service checks and normalises: every change is tried dry first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parley.sdk.definitions.changes import Change, differing
from parley.sdk.definitions.file import Fields
from parley.sdk.errors import InvalidRequest, ParleyError
from parley.sdk.naming import the_one

if TYPE_CHECKING:
    from parley.sdk.answers import AgenticTest, AgenticTestLine
    from parley.sdk.client import Client

ADDED = frozenset(
    {
        "id",
        "created_at",
        "updated_at",
        "revision",
        "next_run_at",
        "upcoming",
        "last_skip",
        "consecutive_failures",
        "last_notification_at",
        "latest_run",
        "schedule",
    }
)
"""What the service adds to the fields of a test."""


class DefinitionsRefused(ParleyError):
    """The service would not take some of the tests; nothing was changed. `faults` are its words by test."""

    def __init__(self, faults: Mapping[str, Sequence[str]]) -> None:
        self.faults = faults
        told = [f"{name}: {fault}" for name, words in faults.items() for fault in words]
        super().__init__("\n".join(["Nothing was changed, the service refuses this:", *told]))


def planned(client: Client, wanted: Sequence[Fields], *, prune: bool = False) -> list[Change]:
    """What would make the service hold these tests. With `prune`, tests that are not wanted go.

    A field that is not written stays as it is on the service. Raises `DefinitionsRefused` with every
    fault of every test, and `NotFoundByName` where several tests of the service share a wanted name.
    """
    known = list(client.tests.list())
    changes, faults = [], {}
    for fields in wanted:
        try:
            changes.append(_planned(client, fields, [line for line in known if line.name == fields["name"]]))
        except InvalidRequest as refused:
            faults[fields["name"]] = _words(refused)
    if faults:
        raise DefinitionsRefused(faults)
    names = {fields["name"] for fields in wanted}
    spare = [line for line in known if prune and line.name not in names]
    return changes + [Change(kind="delete", name=line.name, test_id=line.id) for line in spare]


def applied(client: Client, changes: Sequence[Change]) -> Iterator[Change]:
    """Make the changes; gives each one that was made. Deletions come last."""
    for change in sorted(changes, key=lambda change: change.kind == "delete"):
        match change.kind:
            case "create":
                client.tests.create(change.sent)
            case "change":
                client.tests.change(change.test_id, change.sent)
            case "delete":
                client.tests.delete(change.test_id)
        if change.kind != "same":
            yield change


def pulled(client: Client) -> list[Fields]:
    """The tests of the service, oldest first, each without what is default anyway."""
    lines = list(client.tests.list())[::-1]
    if not lines:
        return []
    least = {"name": lines[0].name, "gateway": lines[0].gateway, "goal": "Anything."}
    defaults = _fields(client.tests.create(least, dry_run=True))
    return [_stated(_fields(client.tests.get(line.id)), defaults) for line in lines]


def _planned(client: Client, fields: Fields, known: Sequence[AgenticTestLine]) -> Change:
    if not known:
        made = _fields(client.tests.create(fields, dry_run=True))
        after = {name: made.get(name) for name in fields}
        return Change(kind="create", name=fields["name"], sent=fields, after=after)
    test_id = the_one("test", fields["name"], known).id
    before = _fields(client.tests.get(test_id))
    after = _fields(client.tests.change(test_id, fields, dry_run=True))
    was, becomes = differing(fields, before, after)
    return Change(
        kind="change" if becomes else "same",
        name=fields["name"],
        test_id=test_id,
        sent=fields,
        before=was,
        after=becomes,
    )


def _fields(test: AgenticTest) -> Fields:
    """The fields of a definition, without what the service adds."""
    return {name: value for name, value in test.model_dump(mode="json").items() if name not in ADDED}


def _stated(fields: Fields, defaults: Fields) -> Fields:
    always = ("name", "gateway", "goal")
    first: dict[str, Any] = {name: fields[name] for name in always}
    return first | {
        name: value for name, value in fields.items() if name not in always and value != defaults.get(name)
    }


def _words(refused: InvalidRequest) -> list[str]:
    return [f"{field or 'the test'}: {problem}" for field, problem in refused.faults] or [refused.message]
