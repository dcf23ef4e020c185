import pytest

from replication.config.file.providers import anchored, providers_in, resolve_all
from replication.errors import ConfigError

PACKAGE = "org.apache.kafka.common.config.provider."


def given(kind="File", params=None, **props):
    return {
        "config.providers": "p",
        "config.providers.p.class": f"{PACKAGE}{kind}ConfigProvider",
        **{f"config.providers.p.param.{key}": value for key, value in (params or {}).items()},
        **props,
    }


def test_a_file_gives_its_keys_several_times_in_one_value(tmp_path):
    file = tmp_path / "s.properties"
    file.write_text("user=me\npw=h\\u0075sh\n")
    text = "u=${p:FILE:user};p=${p:FILE:pw}".replace("FILE", str(file))
    assert resolve_all(given(x=text)) == {"x": "u=me;p=hush"}


def test_the_environment_gives_its_variables(monkeypatch):
    monkeypatch.setenv("MY_PW", "hush")
    assert resolve_all(given("EnvVar", x="${p:MY_PW}")) == {"x": "hush"}
    limited = given("EnvVar", {"allowlist.pattern": "OTHER.*"}, x="${p:MY_PW}")
    with pytest.raises(ConfigError, match=r"\$\{p:MY_PW\}: the environment has no variable MY_PW"):
        resolve_all(limited)


def test_a_directory_gives_its_files(tmp_path):
    (tmp_path / "pw").write_text("hush")
    assert resolve_all(given("Directory", x="${p:" + f"{tmp_path}:pw" + "}")) == {"x": "hush"}
    with pytest.raises(ConfigError, match="no readable file none"):
        resolve_all(given("Directory", x="${p:" + f"{tmp_path}:none" + "}"))


def test_a_placeholder_outside_the_allowed_paths_is_refused(tmp_path):
    file = tmp_path / "s.properties"
    file.write_text("pw=hush")
    props = given(params={"allowed.paths": str(tmp_path / "other")}, x=f"${{p:{file}:pw}}")
    with pytest.raises(ConfigError, match=r"allowed\.paths forbids it"):
        resolve_all(props)


def test_an_unknown_provider_and_other_braces_are_left_as_they_are():
    text = "${other:a:b} ${source}.$1 ${clusters.A}"
    assert resolve_all(given(x=text)) == {"x": text}


def test_what_a_value_stands_for_is_not_resolved_again(monkeypatch):
    monkeypatch.setenv("ONE", "${p:TWO}")
    monkeypatch.setenv("TWO", "2")
    assert resolve_all(given("EnvVar", x="${p:ONE}")) == {"x": "${p:TWO}"}


def test_a_provider_class_that_is_not_known_is_refused():
    with pytest.raises(ConfigError, match=r"config\.providers\.p\.class: .* is not supported"):
        providers_in(given("Vault"))
    with pytest.raises(ConfigError, match=r"config\.providers\.p\.class is not set"):
        providers_in({"config.providers": "p"})


def test_a_relative_path_is_made_absolute(tmp_path):
    providers = providers_in(given())
    assert anchored("${p:s.properties:pw}", providers, tmp_path) == (
        f"${{p:{tmp_path}/s.properties:pw}}"
    )
    assert anchored("${p:/s.properties:pw}", providers, tmp_path) == "${p:/s.properties:pw}"
