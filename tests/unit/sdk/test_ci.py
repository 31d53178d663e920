import pytest

from parley.sdk.ci import Origin, origin


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, Origin()),
        ({"GITHUB_SHA": "abc"}, Origin()),
        (
            {
                "GITHUB_ACTIONS": "true",
                "GITHUB_SHA": "abc",
                "GITHUB_REF": "refs/heads/main",
                "GITHUB_REF_NAME": "main",
            },
            Origin(commit="abc", branch="main"),
        ),
        (
            {
                "GITHUB_ACTIONS": "true",
                "GITHUB_SHA": "abc",
                "GITHUB_REF": "refs/pull/7/merge",
                "GITHUB_REF_NAME": "7/merge",
                "GITHUB_HEAD_REF": "faster",
            },
            Origin(commit="abc", branch="faster", pull_request="7"),
        ),
        (
            {
                "GITLAB_CI": "true",
                "CI_COMMIT_SHA": "abc",
                "CI_COMMIT_REF_NAME": "refs/merge-requests/3/head",
                "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": "faster",
                "CI_MERGE_REQUEST_IID": "3",
            },
            Origin(commit="abc", branch="faster", pull_request="3"),
        ),
    ],
)
def test_a_pipeline_tells_commit_branch_and_pull_request(environment: dict[str, str], told: Origin) -> None:
    assert origin(environment) == told
