from collections.abc import Callable
from pathlib import Path

import pytest

from davenport.settings import Settings
from davenport.settings_fields import Key, all_keys
from davenport.settings_load import load
from davenport.settings_source import ConfiguredSettings
from memory.errors import SettingsError
from memory.settings import ContextSettings, MemorySettings
from memory.types import Persona

WriteConfig = Callable[..., Path]


def faults(path: Path, environ: dict[str, str] | None = None) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        load(path, environ or {})
    return str(caught.value).splitlines()


def test_the_defaults_are_those_of_the_rules(write_config: WriteConfig) -> None:
    settings = load(write_config(), {})
    assert settings.memory.rules(0.25) == MemorySettings()
    assert settings.context.window() == ContextSettings()
    assert settings.journal.retention_days == 7


def test_the_environment_goes_over_the_file(write_config: WriteConfig) -> None:
    path = write_config("[memory]\nmax_per_user = 60\ncapacity_room = 7\n")
    environ = {
        "DAVENPORT_MEMORY__MAX_PER_USER": "80",
        "DAVENPORT_MEMORY__ENABLED": "no",
        "DAVENPORT_LLM__TIMEOUT_SECONDS": "2.5",
        "DAVENPORT_MATRIX__IGNORE_USERS": "@irc_*:example.org @other:example.org",
        "PATH": "/bin",
    }
    settings = load(path, environ)
    assert (settings.memory.max_per_user, settings.memory.capacity_room) == (80, 7)
    assert settings.memory.enabled is False
    assert settings.llm.timeout_seconds == 2.5
    assert settings.matrix.ignore_users == ("@irc_*:example.org", "@other:example.org")


@pytest.mark.parametrize("key", [key for key in all_keys() if key.default], ids=lambda key: key.dotted)
def test_every_key_can_be_set_in_the_file_and_in_the_environment(write_config: WriteConfig, key: Key) -> None:
    assert key.default is not None
    in_file = "" if key.section == "matrix" else f"[{key.section}]\n"
    load(write_config(f"{in_file}{key.name} = {key.default}\n"), {})
    text = "" if key.default == "[]" else key.default.strip('"')
    assert load(write_config(), {key.variable: text}) == load(write_config(), {})


@pytest.mark.parametrize("word", ["false", "0", "no", "off", "FALSE"])
def test_d13_the_switch_in_the_environment_is_final(write_config: WriteConfig, word: str) -> None:
    path = write_config("[memory]\ndecay_enabled = true\n")
    environ = {"MEMORY_DECAY_ENABLED": word, "DAVENPORT_MEMORY__DECAY_ENABLED": "true"}
    assert load(path, environ).memory.decay_enabled is False


def test_d13_the_switch_turns_nothing_on(write_config: WriteConfig) -> None:
    path = write_config("[memory]\ndecay_enabled = false\n")
    assert load(path, {"MEMORY_DECAY_ENABLED": "true"}).memory.decay_enabled is False


def test_d13_the_switch_must_be_true_or_false(write_config: WriteConfig) -> None:
    assert faults(write_config(), {"MEMORY_DECAY_ENABLED": "never"})[1:] == [
        "  MEMORY_DECAY_ENABLED: must be true or false"
    ]


def test_missing_keys_are_named_with_the_file_and_the_variable(write_config: WriteConfig) -> None:
    path = write_config(required="")
    head, *lines = faults(path)
    assert head == f"{path}: the settings cannot be used:"
    assert [line.split(" is missing")[0] for line in lines] == [
        f"  {path}: matrix.homeserver",
        f"  {path}: matrix.user_id",
    ]
    assert lines[1].endswith("or in DAVENPORT_MATRIX__USER_ID")


def test_placeholders_are_refused_by_name(write_config: WriteConfig) -> None:
    path = write_config(
        required='[matrix]\nhomeserver = "https://change-me"\nuser_id = "@CHANGE-ME"\npassword = "CHANGE-ME"\n'
    )
    _, *lines = faults(path)
    assert [line.split(" still holds the placeholder CHANGE-ME")[0] for line in lines] == [
        f"  {path}: matrix.homeserver",
        f"  {path}: matrix.user_id",
        f"  {path}: matrix.password",
    ]


def test_a_placeholder_that_the_environment_overrules_is_no_fault(write_config: WriteConfig) -> None:
    path = write_config(
        required='[matrix]\nhomeserver = "https://a.org"\nuser_id = "@b:a.org"\npassword = "CHANGE-ME"\n'
    )
    settings = load(path, {"DAVENPORT_MATRIX__PASSWORD": "sesame-open"})
    assert settings.matrix.password is not None
    assert settings.matrix.password.get_secret_value() == "sesame-open"


@pytest.mark.parametrize(
    ("toml", "line"),
    [
        ("[memory]\nmax_per_user = 0\n", "memory.max_per_user must be a whole number from 1 to 100000"),
        ("[memory]\nmax_per_user = -1\n", "memory.max_per_user must be a whole number from 1 to 100000"),
        ("[memory]\nmax_per_user = '80'\n", "memory.max_per_user must be a whole number from 1 to 100000"),
        ("[memory]\nmax_per_user = 2.0\n", "memory.max_per_user must be a whole number from 1 to 100000"),
        ("[memory]\nmax_per_user = true\n", "memory.max_per_user must be a whole number from 1 to 100000"),
        ("[memory]\npromotion_threshold = 0\n", "memory.promotion_threshold must be a whole number from 1 to 1000"),
        ("[memory]\ncandidate_ttl_days = -1\n", "memory.candidate_ttl_days must be a whole number from 0 to 36500"),
        ("[memory]\nrest_after_days = 0\n", "memory.rest_after_days must be a whole number from 1 to 36500"),
        ("[memory]\ncapacity_room = 0\n", "memory.capacity_room must be a whole number from 1 to 100000"),
        ("[memory]\nmatch_threshold = 1.5\n", "memory.match_threshold must be a number from 0 to 1"),
        ("[memory]\nmatch_threshold = nan\n", "memory.match_threshold must be a number from 0 to 1"),
        ("[memory]\nenabled = 1\n", "memory.enabled must be true or false"),
        ("[llm]\nprovider = 'other'\n", 'llm.provider must be "anthropic" or "offline"'),
        ("[llm]\ntimeout_seconds = 0\n", "llm.timeout_seconds must be a number above 0 to 3600"),
        ("[llm]\nbase_url = 'localhost'\n", "llm.base_url must be an http:// or https:// address"),
        ("[llm]\nbase_url = 'http://user:SECRET@host/'\n", "llm.base_url must be an http:// or https:// address"),
        ("[llm]\nbase_url = 'http://token@host'\n", "llm.base_url must be an http:// or https:// address"),
        ("[embeddings]\nbase_url = 'http://a:b@c'\n", "embeddings.base_url must be an http:// or https:// address"),
        ("[llm]\nbase_url = 'http://localhost:abc'\n", "llm.base_url must be an http:// or https:// address"),
        ("[llm]\nbase_url = 'http://localhost:123456'\n", "llm.base_url must be an http:// or https:// address"),
        ("[llm]\nbase_url = 'http://[::1:4000'\n", "llm.base_url must be an http:// or https:// address"),
        ("[llm]\nbase_url = 'http://[v1.x]'\n", "llm.base_url must be an http:// or https:// address"),
        ("[embeddings]\nbase_url = 'http://:80/v1'\n", "embeddings.base_url must be an http:// or https:// address"),
        ("[draw]\nbase_url = 'http://a:x/v1'\n", "draw.base_url must be an http:// or https:// address"),
        ("[storage]\ndata_dir = '~nouser/x'\n", "storage.data_dir must be the path of a folder"),
        ('[storage]\ndata_dir = "a\\u0000b"\n', "storage.data_dir must be the path of a folder"),
        ("[llm]\napi_key_file = '~nouser/x'\n", "llm.api_key_file must be the path of a file"),
        ('[llm]\napi_key_file = "a\\u0000b"\n', "llm.api_key_file must be the path of a file"),
        ("llm = 3\n", "llm must be a section of its own, [llm]; it stands in [matrix]"),
        ("command_prefix = 'bot '\n", "matrix.command_prefix must be 1 to 16 characters"),
        ("command_prefix = '!d'\n", "matrix.command_prefix must be 1 to 16 characters"),
        ("ignore_users = '@a:b'\n", "matrix.ignore_users must be a list of user ids"),
        ("ignore_users = ['a:b']\n", "matrix.ignore_users must be a list of user ids"),
        ("admins = ['@juno*']\n", "matrix.admins must be a list of user ids"),
        ("admins = ['*']\n", "matrix.admins must be a list of user ids"),
        ("admins = ['juno']\n", "matrix.admins must be a list of user ids"),
        ("admins = ['@a:b', ' @juno:b']\n", "matrix.admins must be a list of user ids"),
        ("[memory]\nblacklist = ['@a:b', 'juno:b']\n", "memory.blacklist must be a list of user ids, room ids"),
        ("[memory]\nblacklist = ['@a:b c']\n", "memory.blacklist must be a list of user ids, room ids"),
        ("[memory]\nmax_per_usr = 3\n", "memory.max_per_usr is not a setting; did you mean max_per_user?"),
        ("[memry]\nenabled = true\n", "[memry] is not a section; did you mean memory?"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_allowed(write_config: WriteConfig, toml: str, line: str) -> None:
    path = write_config(toml)
    _, *lines = faults(path)
    assert len(lines) == 1
    assert lines[0].startswith(f"  {path}: {line}")


@pytest.mark.parametrize("depth", [400, 20_000])
def test_what_is_nested_too_deeply_is_one_fault(write_config: WriteConfig, depth: int) -> None:
    _, *lines = faults(write_config(), {"DAVENPORT_LLM__PRICES": "[" * depth + "]" * depth})
    assert len(lines) == 1
    assert lines[0].startswith("  DAVENPORT_LLM__PRICES: llm.prices must be a table by model")
    with pytest.raises(SettingsError, match="nested too deeply"):
        load(write_config(f"[llm]\nprices = {'[' * 20_000}\n"), {})


def test_a_user_name_in_the_homeservers_address_is_refused(write_config: WriteConfig) -> None:
    path = write_config(required='[matrix]\nhomeserver = "https://user:SECRET@a.org/"\nuser_id = "@b:a.org"\n')
    [_, line] = faults(path)
    assert line.startswith(f"  {path}: matrix.homeserver must be an http:// or https:// address without a user name")


def test_an_at_sign_after_the_host_is_no_user_name(write_config: WriteConfig) -> None:
    address = "https://host:8080/a@b?c=@d"
    assert load(write_config(f'[llm]\nbase_url = "{address}"\n'), {}).llm.base_url == address


def test_a_folder_that_links_to_itself_is_left_for_the_database_to_refuse(
    write_config: WriteConfig, tmp_path: Path
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert load(write_config('[storage]\ndata_dir = "loop"\n'), {}).storage.data_dir == tmp_path / "loop"


def test_a_key_where_a_section_belongs_is_refused(write_config: WriteConfig) -> None:
    path = write_config(required="memory = 3\n")
    assert f"  {path}: memory must be a section, [memory]" in faults(path)


@pytest.mark.parametrize(
    "name", ["DAVENPORT_MEMORY__MAX_PER_USR", "DAVENPORT_DEBUG", "davenport_x", "DAVENPORT_MEMORY"]
)
def test_an_unknown_variable_is_refused(write_config: WriteConfig, name: str) -> None:
    _, *lines = faults(write_config(), {name: "1"})
    assert len(lines) == 1
    assert lines[0].startswith(f"  {name}: no setting has this variable")


def test_a_fault_of_the_environment_names_the_variable(write_config: WriteConfig) -> None:
    _, *lines = faults(write_config(), {"DAVENPORT_MEMORY__MAX_PER_USER": "many"})
    assert lines == ["  DAVENPORT_MEMORY__MAX_PER_USER: memory.max_per_user must be a whole number from 1 to 100000"]


def test_all_faults_are_named_at_once_and_no_value_is(write_config: WriteConfig) -> None:
    path = write_config(
        '[llm]\napi_key = "sk-secret-1"\nmax_tokens = "sk-secret-2"\nkey = "sk-secret-3"\n[no]\na = "sk-secret-4"\n'
    )
    lines = faults(path, {"DAVENPORT_LLM__API": "sk-secret-5", "DAVENPORT_LLM__MAX_RETRIES": "sk-secret-6"})
    assert len(lines) == 6
    assert "secret" not in "\n".join(lines)
    assert "sesame" not in "\n".join(lines)


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"[matrix\n", "is not TOML"), (b"a = '\xff'", "is not UTF-8"), (b"a = 1\na = 2\n", "is not TOML")],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(content)
    with pytest.raises(SettingsError, match=message) as caught:
        load(path, {})
    assert str(path) in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"nowhere\.toml: there is no such file"):
        load(tmp_path / "nowhere.toml", {})
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path, {})


def test_relative_paths_start_at_the_file(
    write_config: WriteConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_config()
    monkeypatch.chdir("/")
    assert load(path, {}).storage.data_dir == tmp_path / "data"
    assert load(path, {"DAVENPORT_STORAGE__DATA_DIR": "/srv/d"}).storage.data_dir == Path("/srv/d")


@pytest.mark.parametrize(
    ("toml", "environ", "key"),
    [
        ("", {}, None),
        ("", {"ANTHROPIC_API_KEY": "from-environment"}, "from-environment"),
        ("", {"ANTHROPIC_API_KEY": ""}, None),
        ('[llm]\napi_key = ""\n', {"ANTHROPIC_API_KEY": "from-environment"}, "from-environment"),
        ('[llm]\napi_key = "from-file"\n', {"ANTHROPIC_API_KEY": "from-environment"}, "from-file"),
    ],
)
def test_the_api_key_may_come_from_its_usual_variable(
    write_config: WriteConfig, toml: str, environ: dict[str, str], key: str | None
) -> None:
    found = load(write_config(toml), environ).llm.api_key
    assert (found and found.get_secret_value()) == key


def test_secrets_are_never_printed_with_the_settings(write_config: WriteConfig) -> None:
    settings = load(write_config('[llm]\napi_key = "sk-secret"\n'), {})
    assert "sk-secret" not in repr(settings)
    assert "sesame" not in repr(settings)
    assert settings.secrets() == ("sesame-open", "sk-secret")


def source(path: Path, threshold: float | None) -> ConfiguredSettings:
    return ConfiguredSettings(load(path, {}), embedder_threshold=threshold)


def test_the_embedder_names_the_threshold_unless_one_is_set(write_config: WriteConfig) -> None:
    assert source(write_config(), 0.31).memory("!r:a").match_threshold == 0.31
    set_to = write_config("[memory]\nmatch_threshold = 0.5\n")
    assert source(set_to, 0.31).memory("!r:a").match_threshold == 0.5


def test_d13_without_an_embedder_nothing_decays(write_config: WriteConfig) -> None:
    assert source(write_config(), None).memory("!r:a").decay_enabled is False
    assert source(write_config(), 0.3).memory("!r:a").decay_enabled is True


def test_rooms_get_the_window_and_the_default_persona(write_config: WriteConfig) -> None:
    settings = source(write_config("[context]\nmax_messages = 4\n"), 0.3)
    assert settings.context("!r:a") == ContextSettings(max_messages=4)
    assert settings.persona("pirate") == Persona()


def test_settings_made_in_code_read_no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAVENPORT_MATRIX__PASSWORD", "other")
    monkeypatch.setenv("MATRIX", "{}")
    account = {"homeserver": "http://127.0.0.1:8008", "user_id": "@b:a.org", "password": "sesame-open"}
    assert Settings.model_validate({"matrix": account}).secrets() == ("sesame-open",)


def test_the_openai_embedder_needs_a_model(write_config: WriteConfig) -> None:
    with pytest.raises(SettingsError, match=r"embeddings\.model must be the name of a model; not empty for openai"):
        load(write_config('[embeddings]\nprovider = "openai"'), {})
    config = write_config('[embeddings]\nprovider = "openai"\nmodel = "m"\napi_key = "sk-embed"\ndimensions = 256')
    settings = load(config, {"DAVENPORT_EMBEDDINGS__TIMEOUT_SECONDS": "2.5"})
    given = settings.embeddings.client()
    assert (given.model, given.dimensions, given.timeout_seconds) == ("m", 256, 2.5)
    assert given.api_key.get_secret_value() == "sk-embed"
    assert "sk-embed" in settings.secrets()
