"""What a pipeline tells about itself in its environment: commit, branch, pull request. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PULL_REF = re.compile(r"refs/pull/(\d+)/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where the code under test comes from; None where nobody tells."""

    commit: str | None = None
    branch: str | None = None
    pull_request: str | None = None


def origin(environment: Mapping[str, str]) -> Origin:
    """The origin as GitHub Actions or GitLab tell it."""
    if environment.get("GITHUB_ACTIONS") == "true":
        pull = _PULL_REF.match(environment.get("GITHUB_REF", ""))
        return Origin(
            commit=environment.get("GITHUB_SHA") or None,
            branch=environment.get("GITHUB_HEAD_REF") or environment.get("GITHUB_REF_NAME") or None,
            pull_request=pull[1] if pull else None,
        )
    if environment.get("GITLAB_CI") == "true":
        return Origin(
            commit=environment.get("CI_COMMIT_SHA") or None,
            branch=environment.get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME")
            or environment.get("CI_COMMIT_REF_NAME")
            or None,
            pull_request=environment.get("CI_MERGE_REQUEST_IID") or None,
        )
    return Origin()
