import json
from pathlib import Path

import pytest

from parley.sdk.connection import find_connection
from parley.sdk.errors import NotConfigured

LOCAL = {"url": "http://127.0.0.1:8000", "private_key": "sk-par-local", "public_key": "pk-par-x"}


def dev_file(folder: Path, **content: str) -> None:
    (folder / ".parley").mkdir(parents=True)
    (folder / ".parley/dev.json").write_text(json.dumps(LOCAL | content))


def config_file(home: Path, text: str) -> None:
    (home / ".config/parley").mkdir(parents=True)
    (home / ".config/parley/config.toml").write_text(text)


def found(
    tmp_path: Path, url: str | None = None, key: str | None = None, **environment: str
) -> tuple[str, str]:
    made = find_connection(
        url, key, environment={"HOME": str(tmp_path), **environment}, folder=tmp_path / "a/b"
    )
    return made.url, made.api_key


def test_what_is_passed_goes_before_the_environment(tmp_path: Path) -> None:
    environment = {"PARLEY_URL": "https://env.example", "PARLEY_API_KEY": "sk-par-env"}
    assert found(tmp_path, "https://given.example/", "sk-par-given", **environment) == (
        "https://given.example",
        "sk-par-given",
    )
    assert found(tmp_path, **environment) == ("https://env.example", "sk-par-env")


def test_the_environment_goes_before_the_file_and_the_file_before_the_local_stack(tmp_path: Path) -> None:
    dev_file(tmp_path / "a")
    assert found(tmp_path) == ("http://127.0.0.1:8000", "sk-par-local")
    config_file(tmp_path, 'url = "https://file.example"\napi_key = "sk-par-file"\n')
    assert found(tmp_path) == ("https://file.example", "sk-par-file")
    assert found(tmp_path, PARLEY_API_KEY="sk-par-env") == ("https://file.example", "sk-par-env")


def test_a_written_key_is_never_sent_to_another_address(tmp_path: Path) -> None:
    config_file(tmp_path, 'url = "https://file.example"\napi_key = "sk-par-file"\n')
    assert found(tmp_path, PARLEY_URL="https://file.example/") == ("https://file.example", "sk-par-file")
    with pytest.raises(NotConfigured, match="another service"):
        found(tmp_path, PARLEY_URL="https://elsewhere.example")


@pytest.mark.parametrize("name", ["PARLEY_URL", "PARLEY_API_KEY"])
def test_the_local_stack_is_looked_for_only_when_nothing_else_is_given(tmp_path: Path, name: str) -> None:
    dev_file(tmp_path / "a")
    with pytest.raises(NotConfigured):
        found(tmp_path, **{name: "https://env.example"})


@pytest.mark.parametrize("url", ["http://192.0.2.1:8000", "https://parley.example", "http://[", ""])
def test_the_local_file_leads_to_loopback_addresses_alone(tmp_path: Path, url: str) -> None:
    dev_file(tmp_path / "a", url=url)
    with pytest.raises(NotConfigured):
        found(tmp_path)


@pytest.mark.parametrize("url", ["http://localhost:1", "http://[::1]:1", "http://127.3.2.1:1"])
def test_every_loopback_address_is_local(tmp_path: Path, url: str) -> None:
    dev_file(tmp_path / "a", url=url)
    assert found(tmp_path)[0] == url


@pytest.mark.parametrize(
    "url", ["parley.example", "ftp://x", "https://u:p@x", "https://x/?a=1", "https://x/#f", "http://["]
)
def test_an_unusable_address_is_refused_with_its_form(tmp_path: Path, url: str) -> None:
    with pytest.raises(NotConfigured, match=r"https://parley\.example"):
        found(tmp_path, url, "sk-par-x")


def test_a_key_with_a_line_break_is_refused_without_being_shown(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured) as refused:
        found(tmp_path, "https://x.example", "sk-par-secret\nX-Evil: 1")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("text", ["url = ", 'url = "https://x"\nkey = "y"\n'])
def test_a_damaged_config_file_is_named(tmp_path: Path, text: str) -> None:
    config_file(tmp_path, text)
    with pytest.raises(NotConfigured, match=r"config\.toml"):
        found(tmp_path)


def test_a_config_file_that_is_named_has_to_exist(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="does not exist"):
        found(tmp_path, PARLEY_CONFIG=str(tmp_path / "no.toml"))


def test_the_key_is_not_in_the_words_of_a_connection() -> None:
    assert "sk-par" not in repr(find_connection("https://x.example", "sk-par-secret", environment={}))


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="Set PARLEY_URL and PARLEY_API_KEY"):
        found(tmp_path)
    with pytest.raises(NotConfigured, match="Set PARLEY_API_KEY "):
        found(tmp_path, "https://x.example")
