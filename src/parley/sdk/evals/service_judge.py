"""The service as judge of attempts that run in the app: each step is graded before the next one."""

from __future__ import annotations

from copy import copy
from typing import Any, Final

from parley.engine.script.faults import JudgeFault, JudgeUnreachable
from parley.engine.script.observation import Usage
from parley.engine.script.ports import Graded
from parley.engine.script.record import JudgeIdentity
from parley.engine.script.rubric import RUBRIC_VERSION, GradeRequest
from parley.sdk.async_driver import AsyncDriver
from parley.sdk.call import Call, get, once
from parley.sdk.connection import find_connection
from parley.sdk.errors import Refused, ServiceFault, ServiceUnreachable, UnexpectedAnswer
from parley.sdk.evals.errors import EvalsMisconfigured
from parley.sdk.retries import RetryPolicy

JUDGE_PATH: Final = "/api/v1/evals/judge"
GRADES_PATH: Final = "/api/v1/evals/grades"
ID_PREFIX: Final = "parley/"
"""Begins the ids of the service's judges; a profile's name follows."""
TIMEOUT_S: Final = 60.0
"""As long as the engine waits for one grade."""
_JUDGE_FAILED: Final = "judge_failed"
"""The service answers, but its llm does not: an error of the judge like any other."""


class ServiceJudge:
    """Grades through the service, by a key with the scope `judge`; found like the client's when not given.

    `profile` names whose judge: `low`, `medium` or `high`; without it the service's own choice.
    """

    def __init__(
        self,
        url: str | None = None,
        api_key: str | None = None,
        *,
        profile: str | None = None,
        retries: RetryPolicy | None = None,
    ) -> None:
        self._connection = find_connection(url, api_key)
        self._profile = profile
        self._retries = retries or RetryPolicy(retries=2)
        self._identity: JudgeIdentity | None = None
        self._driver: AsyncDriver | None = None
        self.max_evidence_chars = 0

    def named(self, judge_id: str) -> ServiceJudge:
        """The judge of the same service that has this id, prepared apart from this one."""
        other = copy(self)
        other._profile = judge_id.removeprefix(ID_PREFIX)
        other._identity, other._driver = None, None
        return other

    @property
    def identity(self) -> JudgeIdentity:
        """Which judge the service has. Known once `prepare` was called."""
        if self._identity is None:
            raise EvalsMisconfigured("Which judge the service has is known once it was asked.")
        return self._identity

    async def prepare(self) -> None:
        """Ask the service which judge it has. Raises `ParleyError`."""
        told = await self._http().send(get(JUDGE_PATH, dict, profile=self._profile))
        if told.get("rubricVersion") != RUBRIC_VERSION:
            raise EvalsMisconfigured(
                f"The service judges by {told.get('rubricVersion')}, this release by {RUBRIC_VERSION}."
            )
        self._identity = JudgeIdentity(
            id=str(told["id"]), version_hash=str(told["versionHash"]), location="service"
        )
        self.max_evidence_chars = int(told["maxEvidenceChars"])

    async def grade(self, request: GradeRequest, problem: str | None) -> Graded:
        """One grade. Raises `JudgeUnreachable`, which leaves the criterion ungraded, and `JudgeFault`."""
        try:
            return await self._http().send(self._call(request, problem))
        except ServiceUnreachable as error:
            raise JudgeUnreachable("service_unreachable", str(error)) from error
        except Refused as error:
            if isinstance(error, ServiceFault) and error.code != _JUDGE_FAILED:
                raise JudgeUnreachable("service_unreachable", str(error)) from error
            raise JudgeFault(error.code or "service_refused", str(error)) from error
        except UnexpectedAnswer as error:
            raise JudgeFault("service_answer", str(error)) from error

    async def close(self) -> None:
        """Give the connections back."""
        driver, self._driver = self._driver, None
        if driver:
            await driver.close()

    def _call(self, request: GradeRequest, problem: str | None) -> Call[Graded]:
        pinned = {"id": self.identity.id, "versionHash": self.identity.version_hash}
        body: dict[str, Any] = {"judge": pinned, "rubricVersion": RUBRIC_VERSION, "request": request.wire()}
        if problem:
            body["problem"] = problem
        return Call(
            method="POST", path=GRADES_PATH, read=_graded, body=body, headers=once(None), is_repeatable=True
        )

    def _http(self) -> AsyncDriver:
        if self._driver is None:
            self._driver = AsyncDriver(self._connection, timeout_s=TIMEOUT_S, retries=self._retries)
        return self._driver


def _graded(body: Any) -> Graded:
    used = body.get("usage")
    return Graded(answer=body["answer"], usage=None if used is None else Usage.of_wire(used))
