"""Real distributions beside salvor: good ones, broken ones, and what the command says of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.plugins.distributions import Run, good, install, salvor, source_tree, unpack, wheel

BROKEN = {
    "acme-raising": 'raise ImportError("no module named acme_core")',
    "acme-exiting": "import sys; sys.exit(3)",
    "acme-misspelt": """
        import salvor

        @salvor.hookimpl
        def salvor_register_tool(plugin):
            pass
    """,
    "zz-conflicting": good("good_find"),
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Good, broken, equally named, conflicting and slow plugins, all installed by pip."""
    wheels = tmp_path_factory.mktemp("wheels")
    target = tmp_path_factory.mktemp("site")
    install(
        target,
        wheel(wheels, "acme-good", "1.2.3", good("good_find")),
        *(wheel(wheels, name, "0.1", source) for name, source in BROKEN.items()),
        wheel(wheels, "same-a", "1.0", good("same_a"), entry="fs"),
        wheel(wheels, "same-b", "1.0", good("same_b"), entry="fs"),
        wheel(wheels, "acme-slow", "1.0", "import time; time.sleep(0.25)\n" + _flat("slow_find")),
        wheel(wheels, "acme-needy", "1.0", "raise SystemError", requires=["salvor-py>=99"]),
    )
    return target


def _flat(tool: str) -> str:
    return "\n".join(line.removeprefix("    ") for line in good(tool).splitlines())


def rows(run: Run) -> dict[str, list[str]]:
    """The lines of `plugins list`, by distribution, of what the tests have installed."""
    assert run.returncode == 0, run.stderr
    lines = [line.split() for line in run.stdout.splitlines()[1:]]
    return {words[0]: words[1:] for words in lines if words[0] != "salvor-files"}


def test_the_version_is_told_whatever_is_installed(site: Path, tmp_path: Path) -> None:
    ended = salvor([site], "--version", cwd=tmp_path)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_good_plugins_work_beside_broken_ones(site: Path, tmp_path: Path) -> None:
    ended = salvor([site], "tools", "list", cwd=tmp_path)
    tools = [line.split()[0] for line in ended.stdout.splitlines()[1:]]

    assert ended.returncode == 0
    assert tools == ["good_find", "salvor_now", "same_a", "same_b", "slow_find"]


def test_a_tool_of_a_plugin_is_called(site: Path, tmp_path: Path) -> None:
    words = ("tools", "call", "good_find", "--input", '{"name": "x"}')
    ended = salvor([site], *words, cwd=tmp_path)

    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines()[1:] == ['"found x"']


def test_each_broken_plugin_is_one_line_with_its_cause(site: Path, tmp_path: Path) -> None:
    ended = salvor([site], "tools", "list", cwd=tmp_path)
    lines = ended.stderr.splitlines()

    assert "Traceback" not in ended.stderr
    assert [line.split(" is left out: ")[0].split(" of ")[1] for line in lines] == [
        "acme-exiting 0.1",
        "acme-misspelt 0.1",
        "acme-needy 1.0",
        "acme-raising 0.1",
        "zz-conflicting 0.1",
    ]
    assert lines[0].endswith("SystemExit: 3")
    assert lines[3].endswith("ImportError: no module named acme_core")
    assert "Did you mean salvor_register_tools?" in lines[1]
    assert "acme-needy 1.0 requires salvor-py>=99, and " in lines[2]
    assert "acme_good_plugin.py:4" in lines[4] and "zz_conflicting_plugin.py:4" in lines[4]
    assert lines[4].endswith("The first is of the plugin acme-good:main.")


def test_what_a_plugin_prints_while_it_is_loaded_is_no_result(tmp_path: Path) -> None:
    loud = f"print('loading')\n{_flat('loud_find')}"
    unpack(tmp_path / "site", wheel(tmp_path, "acme-loud", "1.0", loud))

    for words in (("tools", "schema", "loud_find"), ("plugins", "list"), ("doctor",)):
        ended = salvor([tmp_path / "site"], *words, cwd=tmp_path)
        assert ("loading" in ended.stderr, "loading" in ended.stdout) == (True, False)


def test_a_plugin_that_takes_the_name_of_a_built_in_is_the_one_left_out(tmp_path: Path) -> None:
    unpack(tmp_path / "site", wheel(tmp_path, "acme-first", "1.0", good("salvor_now")))

    found = rows(salvor([tmp_path / "site"], "plugins", "list", cwd=tmp_path))
    tools = salvor([tmp_path / "site"], "tools", "list", cwd=tmp_path)

    assert {name: words[4] for name, words in found.items()} == {
        "salvor-py": "loaded",
        "acme-first": "failed",
    }
    assert ["salvor_now", "read", "-", "salvor.builtin"] in [
        line.split()[:4] for line in tools.stdout.splitlines()
    ]
    [line] = tools.stderr.splitlines()
    assert "acme-first 1.0 is left out" in line
    assert "builtin.py:" in line and "acme_first_plugin.py:" in line


def test_the_list_shows_what_came_of_each(site: Path, tmp_path: Path) -> None:
    found = rows(salvor([site], "plugins", "list", cwd=tmp_path))

    assert {name: words[4] for name, words in found.items()} == {
        "acme-exiting": "failed",
        "acme-good": "loaded",
        "acme-misspelt": "failed",
        "acme-needy": "failed",
        "acme-raising": "failed",
        "acme-slow": "loaded",
        "salvor-py": "loaded",
        "same-a": "loaded",
        "same-b": "loaded",
        "zz-conflicting": "failed",
    }
    assert found["acme-good"][:4] == ["1.2.3", "main", "=", "acme_good_plugin"]
    assert float(found["acme-slow"][6]) >= 0.25


def test_the_list_without_loading_imports_nothing(site: Path, tmp_path: Path) -> None:
    ended = salvor([site], "plugins", "list", "--no-load", cwd=tmp_path)

    assert ended.stderr == ""
    assert {words[4] for words in rows(ended).values()} == {"found"}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flags", "environ"),
    [(["--strict-plugins"], {}), ([], {"SALVOR_STRICT_PLUGINS": "1"})],
)
def test_strict_loading_stops_at_the_first(
    flags: list[str], environ: dict[str, str], site: Path, tmp_path: Path
) -> None:
    ended = salvor([site], *flags, "tools", "list", cwd=tmp_path, **environ)

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr.startswith("salvor: the plugin acme-exiting (main) 0.1 failed: SystemExit")


def test_the_environment_chooses_and_blocked_ones_are_not_imported(
    site: Path, tmp_path: Path
) -> None:
    one = salvor([site], "tools", "list", cwd=tmp_path, SALVOR_PLUGINS="acme-good,salvor-py")
    none = salvor([site], "tools", "list", cwd=tmp_path, SALVOR_PLUGINS="")
    missing = salvor([site], "tools", "list", cwd=tmp_path, SALVOR_PLUGINS="acme-god")

    assert [line.split()[0] for line in one.stdout.splitlines()[1:]] == ["good_find", "salvor_now"]
    assert (one.stderr, none.stdout) == ("", "There are no tools there.\n")
    assert missing.returncode == 1
    assert "Did you mean 'acme-good'?" in missing.stderr


def test_verbs_that_only_look_at_the_store_load_no_plugin(site: Path, tmp_path: Path) -> None:
    words = ("tools", "call", "salvor_now")
    salvor([site], *words, cwd=tmp_path, SALVOR_PLUGINS="salvor-py")

    ended = salvor([site], "list", cwd=tmp_path)

    assert (ended.returncode, ended.stderr) == (0, "")


def test_the_doctor_names_what_is_broken(site: Path, tmp_path: Path) -> None:
    ended = salvor([site], "doctor", cwd=tmp_path)

    assert (ended.returncode, ended.stderr) == (1, "")
    errors = [line for line in ended.stdout.splitlines() if line.startswith("error")]
    assert [line.split()[1] for line in errors] == [
        "acme-needy",
        "acme-exiting",
        "acme-misspelt",
        "acme-needy",
        "acme-raising",
        "zz-conflicting",
    ]


def test_the_doctor_names_another_distribution_on_our_package(tmp_path: Path) -> None:
    foreign = wheel(tmp_path, "salvor", "0.10.0", "", entry="", module="salvor_client")
    unpack(tmp_path / "site", foreign)

    ended = salvor([tmp_path / "site"], "doctor", cwd=tmp_path)

    assert ended.returncode == 1
    [line] = [line for line in ended.stdout.splitlines() if line.startswith("error")]
    assert "the distribution salvor 0.10.0 in " in line
    assert "is another project with the same package" in line


def test_an_editable_one_is_loaded_before_the_installed_one_that_it_shadows(
    tmp_path: Path,
) -> None:
    site, checkout = tmp_path / "site", tmp_path / "checkout"
    unpack(site, wheel(tmp_path, "acme-good", "1.0", good("installed_find")))
    source_tree(checkout, "acme-good", "1.1", good("editable_find"))

    ended = salvor([checkout, site], "plugins", "list", cwd=tmp_path)
    tools = salvor([checkout, site], "tools", "list", cwd=tmp_path)
    doctor = salvor([checkout, site], "doctor", cwd=tmp_path)

    lines = [line.split() for line in ended.stdout.splitlines() if "acme" in line]
    assert [(words[1], words[5]) for words in lines] == [("1.1", "loaded"), ("1.0", "shadowed")]
    assert "editable_find" in tools.stdout and "installed_find" not in tools.stdout
    assert (tools.stderr, doctor.returncode) == ("", 0)
    assert f"installed twice: 1.1 in {checkout} stands before 1.0 in {site}" in doctor.stdout


def test_an_editable_one_that_is_listed_twice_loads_once_and_silently(tmp_path: Path) -> None:
    site, checkout = tmp_path / "site", tmp_path / "checkout"
    unpack(site, wheel(tmp_path, "acme-good", "1.0", good("good_find")))
    source_tree(checkout, "acme-good", "1.0", good("good_find"))

    ended = salvor([checkout, site, site], "plugins", "list", cwd=tmp_path)

    assert ended.stderr == ""
    assert ended.stdout.count("acme-good") == 1


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("[salvor]\nmain = broken_plugin:nothing\n", "AttributeError"),
        ("[salvor]\nmain = not a module\n", "names 'not a module', and has to name MODULE"),
        ("[salvor]\nmain =\n", "names '', and has to name MODULE"),
    ],
)
def test_an_entry_point_that_names_nothing_is_one_broken_plugin(
    tmp_path: Path, text: str, cause: str
) -> None:
    site = tmp_path / "site"
    unpack(site, wheel(tmp_path, "acme-good", "1.0", good("good_find")))
    unpack(site, wheel(tmp_path, "broken", "2.0", good("never_found")))
    (site / "broken-2.0.dist-info/entry_points.txt").write_text(text)

    tools = salvor([site], "tools", "list", cwd=tmp_path)
    found = rows(salvor([site], "plugins", "list", cwd=tmp_path))

    assert "good_find" in tools.stdout and "never_found" not in tools.stdout
    [line] = tools.stderr.splitlines()
    assert " of broken 2.0 is left out: " in line and cause in line
    assert (found["acme-good"][4], found["broken"][0]) == ("loaded", "2.0")


@pytest.mark.parametrize("order", [["same-a", "same-b"], ["same-b", "same-a"]])
def test_equal_entry_point_names_do_not_depend_on_the_order_of_directories(
    order: list[str], tmp_path: Path
) -> None:
    places = []
    for name in order:
        places.append(tmp_path / f"site-{name}")
        source = good(name.replace("-", "_"))
        unpack(places[-1], wheel(tmp_path, name, "1.0", source, entry="fs"))

    ended = salvor(places, "plugins", "list", cwd=tmp_path)

    found = {name: words[4] for name, words in rows(ended).items() if name != "salvor-py"}
    assert list(found.items()) == [("same-a", "loaded"), ("same-b", "loaded")]
