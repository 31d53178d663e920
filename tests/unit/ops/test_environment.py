from parley.server.ops.local.environment import Addresses, child_environment

ADDRESSES = Addresses(
    api_port=8123,
    database_url="postgresql://here/parley",
    redis_url="redis://here/0",
    demo_llm_url="http://127.0.0.1:9/v1",
    admin_port=8124,
)


def test_the_api_listens_on_the_loopback_address_whatever_is_set() -> None:
    environment = child_environment({"PARLEY_API_HOST": "0.0.0.0"}, ADDRESSES, "key", "token")
    assert environment["PARLEY_API_HOST"] == "127.0.0.1"
    assert environment["PARLEY_API_PORT"] == "8123"


def test_the_operators_api_is_on_with_the_token_of_the_folder() -> None:
    outer = {"PARLEY_ADMIN_HOST": "0.0.0.0", "PARLEY_ADMIN_TOKEN": "another"}
    environment = child_environment(outer, ADDRESSES, "key", "token")
    assert environment["PARLEY_ADMIN_HOST"] == "127.0.0.1"
    assert (environment["PARLEY_ADMIN_PORT"], environment["PARLEY_ADMIN_TOKEN"]) == ("8124", "token")


def test_only_loopback_names_are_answered_and_loopback_may_be_called() -> None:
    environment = child_environment({}, ADDRESSES, "key", "token")
    assert environment["PARLEY_API_ALLOWED_HOSTS"] == "127.0.0.1,localhost"
    assert environment["PARLEY_OUTBOUND_ALLOWED_NETWORKS"] == "127.0.0.0/8"


def test_demo_llms_play_unless_a_provider_is_set() -> None:
    environment = child_environment({}, ADDRESSES, "key", "token")
    assert environment["PARLEY_LLM_BASE_URL"] == "http://127.0.0.1:9/v1"
    assert environment["PARLEY_PROFILE_LOW_USER"] == "demo-user"
    assert environment["PARLEY_PROFILE_LOW_JUDGE"] == "demo-judge"


def test_a_provider_that_is_set_plays_with_its_own_names_and_key() -> None:
    outer = {
        "PARLEY_LLM_BASE_URL": "https://llm.example/v1",
        "PARLEY_LLM_API_KEY": "secret",
        "PARLEY_PROFILE_LOW_USER": "big",
    }
    environment = child_environment(outer, ADDRESSES, "key", "token")
    assert {name: environment[name] for name in outer} == outer
    assert "PARLEY_PROFILE_LOW_JUDGE" not in environment


def test_the_key_of_a_provider_is_never_sent_to_the_demo_llms() -> None:
    environment = child_environment({"PARLEY_LLM_API_KEY": "secret"}, ADDRESSES, "key", "token")
    assert environment["PARLEY_LLM_API_KEY"] == "demo"


def test_settings_of_a_person_win_over_the_defaults_of_the_stack() -> None:
    outer = {"PARLEY_LOG_FORMAT": "json", "PARLEY_SECRET_KEYS": "mine", "PATH": "/bin"}
    environment = child_environment(outer, ADDRESSES, "key", "token")
    assert {name: environment[name] for name in outer} == outer


def test_an_empty_setting_counts_as_unset() -> None:
    assert (
        child_environment({"PARLEY_SECRET_KEYS": ""}, ADDRESSES, "key", "token")["PARLEY_SECRET_KEYS"]
        == "key"
    )
