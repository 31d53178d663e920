"""The messages between the service and an app that plays attempts for it; both sides read and write these."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, TypeAlias

from pydantic import Field, StringConstraints

from parley.engine.script.progress import Progress
from parley.engine.script.record import JudgeIdentity
from parley.engine.script.shapes import MAX_REPETITIONS, Evidence, Name, Suite
from parley.engine.script.wire import Json, Many, Wire

PROTOCOL_VERSION: Final = 1
MIN_KEY_CHARS: Final = 32
"""Of a service key (product contract)."""
MAX_KEY_CHARS: Final = 512
MAX_REQUEST_BYTES: Final = 64_000
"""Of what the service sends: names, a revision and a judge, each bounded."""
MAX_EVENT_BYTES: Final = 4_000_000
"""Of one event on the wire. A record beyond it is refused, never cut."""
MAX_PAGE_BYTES: Final = 5_000_000
"""Of one page of events: the largest event and its surroundings."""
MAX_PAGE_EVENTS: Final = 200
MAX_WAIT_S: Final = 25
"""A page without news is answered after this; most proxies give up at 30 or 60 seconds."""
FULL_RETRY_AFTER_S: Final = 5
"""What an app that is full asks for: about as long as a short attempt takes."""

State: TypeAlias = Literal["queued", "running", "done", "refused"]
AttemptId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,128}$")]
"""Stands in a path."""
Digest: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Told: TypeAlias = Annotated[str, StringConstraints(max_length=2_000)]


class AttemptRequest(Wire):
    """What the service asks an app to play.

    `instance` is the manifest's: an app that forgot its attempts has another, so that a request whose
    answer was lost is never played a second time.
    """

    protocol_version: int
    instance: Name
    attempt_id: AttemptId
    session_id: Name
    suite_id: Name
    suite_revision: Digest
    case_id: Name
    repetition: Annotated[int, Field(ge=1, le=MAX_REPETITIONS)]
    judge: JudgeIdentity | None = None


class RouteError(Wire):
    """Why the route said no. Both are fit for everyone's eyes."""

    code: Name
    message: Told


class AttemptState(Wire):
    """Where an attempt stands; the answer to admission and to cancel."""

    attempt_id: AttemptId
    state: State
    cursor: Annotated[int, Field(ge=0)] = 0


class RemoteEvent(Wire):
    """One event. Cursors of an attempt count from 1 without gaps."""

    cursor: Annotated[int, Field(ge=1)]
    event: Progress


class EventPage(Wire):
    """Events after a cursor; `error` tells why an attempt was refused."""

    events: Annotated[Many[RemoteEvent], Field(max_length=MAX_PAGE_EVENTS)]
    cursor: Annotated[int, Field(ge=0)]
    state: State
    error: RouteError | None = None


class SuiteOffer(Wire):
    """A suite that an app has, with the evidence policy that holds there."""

    suite: Suite
    revision: Digest
    evidence: Evidence


class ResponderOffer(Wire):
    """A responder by its name."""

    name: Name
    schema_id: Name | None = None
    schema_version: Name | None = None


class HandlersOffer(Wire):
    """The handlers an app has."""

    setup: bool
    verify: bool
    teardown: bool
    responders: Many[ResponderOffer] = ()
    references: Many[Name] = ()
    filters: Many[Name] = ()


class ClientOffer(Wire):
    """The library on the app's side."""

    name: Name
    version: Name


class Capacity(Wire):
    """Attempts of all suites together: played at once, cleanup included, and waiting."""

    concurrent: Annotated[int, Field(ge=1, le=1_000)] = 20
    queued: Annotated[int, Field(ge=0, le=100_000)] = 1_000


class Manifest(Wire):
    """What an app offers. `instance` names the memory of its attempts."""

    payloads: ClassVar[frozenset[str]] = frozenset({"params_schema"})

    schema_version: Literal[1]
    protocol_version: int
    instance: Name
    client: ClientOffer
    capacity: Capacity
    suites: Many[SuiteOffer]
    handlers: HandlersOffer
    params_schema: Json = None
    judge: JudgeIdentity | None = None
    commit: Told
    app_version: Told

    def offer(self, suite_id: str) -> SuiteOffer | None:
        """The suite with this id."""
        return next((one for one in self.suites if one.suite.id == suite_id), None)


def version_problem(theirs: object, who: Literal["app", "service"], version: str = "") -> str | None:
    """Why nothing can be said to `who`, which speaks `theirs`; None when both speak the same.

    `version` is that of the library on their side.
    """
    if theirs == PROTOCOL_VERSION and not isinstance(theirs, bool):
        return None
    if not isinstance(theirs, int) or isinstance(theirs, bool):
        return f"The {who} names no protocol version: it is no parley {who}, or a proxy answered."
    kind = "older" if theirs < PROTOCOL_VERSION else "newer"
    by = f" (parley-evals {version})" if version else ""
    to_update = "app" if (who == "app") == (kind == "older") else "service"
    return (
        f"The {who}{by} speaks protocol {theirs}, which is {kind} than {PROTOCOL_VERSION} spoken here. "
        f"Update parley-evals in the {to_update}."
    )
