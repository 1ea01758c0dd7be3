"""`salvor.toml`: what it may say, and every fault with its line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from salvor.config import (
    Config,
    RetrySettings,
    ToolSettings,
    find_config,
    load_config,
    parse_config,
)
from salvor.errors import ConfigError

WHOLE = """\
[tools]
modules = ["billing.tools", "./desk.py"]

[tools."gh_create_issue"]
effect = "write"
key = ["owner", "repo"]
claim_scope = "issues"
timeout = "1.5m"
retry = { attempts = 2, backoff = 1 }

[tools.find]
key = "id"

[plugins]
allow = ["acme-ledger"]
block = ["files"]

[plugins.Acme_Ledger]
token = "secret"
"""


def faults(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(text)
    assert str(caught.value).startswith("salvor.toml: ")
    return list(caught.value.faults)


def test_a_whole_file_is_read() -> None:
    found = parse_config(WHOLE)

    assert found.modules == ("billing.tools", "./desk.py")
    assert found.tools["gh_create_issue"] == ToolSettings(
        effect="write",
        key=("owner", "repo"),
        claim_scope="issues",
        timeout=90.0,
        retry=RetrySettings(attempts=2, backoff=1.0),
    )
    assert found.tools["find"].key == "id"
    assert (found.allow_plugins, found.block_plugins) == (("acme-ledger",), ("files",))
    assert found.plugins == {"acme-ledger": {"token": "secret"}}
    assert found.lines == {"gh_create_issue": 4, "find": 11}


def test_an_empty_file_says_nothing() -> None:
    found = parse_config("")

    assert found == Config()
    assert found.allow_plugins is None
    assert parse_config("[plugins]\nallow = []").allow_plugins == ()


def test_what_was_read_does_not_change() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        parse_config("").modules = ("a",)


def test_a_tool_may_have_the_name_of_an_option() -> None:
    found = parse_config('[tools.modules]\neffect = "read"\n[plugins.allow]\nx = 1')

    assert found.tools["modules"].effect == "read"
    assert found.modules == ()
    assert found.plugins == {"allow": {"x": 1}}


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("0.5", 0.5), ('"200ms"', 0.2), ('"2h"', 7200), ('"3s"', 3)]
)
def test_a_time_is_seconds_or_says_its_unit(text: str, seconds: float) -> None:
    assert parse_config(f"[tools.a]\ntimeout = {text}").tools["a"].timeout == seconds


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("[tool.a]", "line 1: tool: there is no such key. Did you mean 'tools'?"),
        ("x = 1", "line 1: x: there is no such key. There are: tools, plugins, approvals."),
        ("tools = 1", "line 1: tools: it has to be a table, got 1."),
        (
            '[tools]\nmodule = ["a"]',
            "line 2: tools.module: there is no such key. Did you mean 'modules'?",
        ),
        (
            '[tools]\n\nmodules = "a"',
            "line 3: tools.modules: it has to be a list of texts, got 'a'.",
        ),
        ("[tools]\nmodules = [1]", "line 2: tools.modules: it has to be a list of texts, got [1]."),
        (
            '[tools."a.b"]\nefect = "read"',
            "line 2: tools.\"a.b\".efect: there is no such key. Did you mean 'effect'?",
        ),
        (
            '[tools.a]\neffect = "reads"',
            "line 2: tools.a.effect: it has to be 'read', 'idempotent' or 'write', got 'reads'.",
        ),
        (
            "[tools.a]\nkey = 3",
            "line 2: tools.a.key: it has to be the name of a field, or a list of them, got 3.",
        ),
        (
            '[tools.a]\nkey = ["b", 3]',
            "line 2: tools.a.key: it has to be the name of a field, or a list of them, "
            "got ['b', 3].",
        ),
        (
            "[tools.a]\nclaim_scope = 3",
            "line 2: tools.a.claim_scope: it has to be a valid string, got 3.",
        ),
        (
            '[tools.a]\ntimeout = "soon"',
            'line 2: tools.a.timeout: it has to be a number of seconds, or text such as "30s", '
            '"1.5m" or "200ms", got \'soon\'.',
        ),
        (
            "[tools.a]\ntimeout = true",
            'line 2: tools.a.timeout: it has to be a number of seconds, or text such as "30s", '
            '"1.5m" or "200ms", got True.',
        ),
        (
            "[tools.a]\ntimeout = 0",
            "line 2: tools.a.timeout: it has to be greater than 0, got 0.",
        ),
        (
            "[tools.a]\nretry = { attempt = 2 }",
            "line 2: tools.a.retry.attempt: there is no such key. Did you mean 'attempts'?",
        ),
        (
            "[tools.a.retry]\nattempts = 0",
            "line 2: tools.a.retry.attempts: it has to be greater than or equal to 1, got 0.",
        ),
        (
            "[tools.a.retry]\nattempts = true",
            "line 2: tools.a.retry.attempts: it has to be a valid integer, got True.",
        ),
        (
            "[tools.a]\nretry = 3",
            "line 2: tools.a.retry: it has to be a valid dictionary or instance of "
            "RetrySettings, got 3.",
        ),
        (
            '[plugins]\nalow = ["a"]',
            "line 2: plugins.alow: there is no such key. Did you mean 'allow'?",
        ),
        (
            "[plugins.a_b]\n[plugins.a-b]",
            "line 2: plugins.a-b: it is the same distribution as 'a-b' before.",
        ),
    ],
)
def test_a_fault_names_its_line_its_key_and_what_would_do(text: str, fault: str) -> None:
    assert faults(text) == [fault]


def test_every_fault_is_told_at_once() -> None:
    text = '[tools.a]\neffect = "x"\n[tools.b]\nkeys = "y"\n[plugin]\n'

    assert [fault.split(":")[0] for fault in faults(text)] == ["line 5", "line 2", "line 4"]


@pytest.mark.parametrize("text", ["[tools", "a = ", "[a]\n[a]", "a = 1\na = 2", "x" * 200])
def test_what_is_no_toml_is_refused_in_one_sentence(text: str) -> None:
    [fault] = faults(text)

    assert fault.startswith("it is no TOML: ")
    assert "line 1" in fault or "line 2" in fault or "end of document" in fault


def test_lines_are_right_beside_texts_over_several_lines_and_dotted_keys() -> None:
    text = (
        '# [tools.a]\n[plugins.x]\nnote = """\n[tools]\na.efect = "no"\n"""\nlist = [\n'
        '  "a=b",\n]\n[tools]\na.efect = "read"\n'
    )

    assert faults(text)[0].startswith("line 11: tools.a.efect: ")


def test_a_line_that_cannot_be_told_is_that_of_the_table_around_it() -> None:
    text = 'tools = { a = { efect = "read" } }'

    assert faults(text)[0].startswith("line 1: tools.a.efect: ")


def test_a_secret_of_a_plugin_is_in_no_message() -> None:
    text = '[plugins.a]\ntoken = "hush"\n[plugins]\nblok = "hush"\n'

    assert "hush" not in str(faults(text.replace("[plugins]", "[plugin]")))


def test_a_file_is_found_by_name_by_the_environment_and_beside_us(
    tmp_path: Path,
) -> None:
    def found(*, named: str | None = None, variable: str | None = None) -> Config:
        environ = {} if variable is None else {"SALVOR_CONFIG": variable}
        return find_config(named, environ=environ, folder=tmp_path)

    assert found() == Config()
    for name in ("salvor.toml", "other.toml", "named.toml"):
        (tmp_path / name).write_text(f'[tools]\nmodules = ["{name}"]\n')

    other, named = str(tmp_path / "other.toml"), str(tmp_path / "named.toml")
    assert found().modules == ("salvor.toml",)
    assert found(variable=other).modules == ("other.toml",)
    assert found(named=named, variable=other).modules == ("named.toml",)
    assert found(variable="") == Config()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (None, "it cannot be read: No such file or directory."),
        (b"a = '\xff'", "it is not UTF-8: byte 5 cannot be read."),
        (b"#" * (1024 * 1024 + 1), "it is larger than 1,048,576 bytes."),
    ],
)
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, content: Any, fault: str) -> None:
    path = tmp_path / "salvor.toml"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(ConfigError) as caught:
        load_config(path)

    assert str(caught.value) == f"{path}: {fault}"


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "salvor.toml"
    path.write_bytes(b'\xef\xbb\xbf[tools]\nmodules = ["a"]\n')

    assert load_config(path).modules == ("a",)
