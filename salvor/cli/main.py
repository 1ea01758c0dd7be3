"""The `salvor` command: its verbs, and the one place where errors become sentences.

A verb's module is loaded when the verb is used, so `salvor --version` loads none.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib import import_module
from typing import cast

import click

from salvor.cli import output
from salvor.cli.options import DEFAULT_STORE, config_option, store_option, strict_option
from salvor.errors import RunInterrupted, SalvorError
from salvor.version import __version__

FAILED, USAGE, INTERRUPTED = 1, 2, 130

VERBS = {
    "run": ("salvor.cli.run:run", "Start a run of a workflow and drive it until it rests."),
    "resume": ("salvor.cli.resume:resume", "Go on with a run: after a crash, or with an answer."),
    "resolve": ("salvor.cli.resolve:resolve", "Say what became of a write left open."),
    "history": ("salvor.cli.history:history", "Print the events of a run."),
    "list": ("salvor.cli.runs:list_runs", "List the runs of the store."),
    "tools": ("salvor.cli.tools:tools", "List tools, show one, call one."),
    "plugins": ("salvor.cli.plugins:plugins", "See the installed packages of tools."),
    "doctor": ("salvor.cli.doctor:doctor", "Look for what is wrong with this installation."),
    "demo": ("salvor.cli.demo:demo", "Pay claims while the payer is killed, each once."),
    "completions": ("salvor.cli.completions:completions", "Print a shell's completion script."),
}


class Verbs(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order in which people need them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load one verb."""
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name][0].partition(":")
        return cast("click.Command", getattr(import_module(module), name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, which has to load none of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(verb, summary) for verb, (_, summary) in VERBS.items()])


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="salvor", message="%(prog)s %(version)s")
@store_option
@config_option
@strict_option
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Durable runs of tools that touch the world.

    Every call is written down before it happens. After a crash `salvor resume` goes on, and
    what may have happened without a trace waits for your word.
    """
    ctx.ensure_object(dict).setdefault("store", os.environ.get("SALVOR_STORE") or DEFAULT_STORE)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code: 0, 1 failed, 2 usage, 130 interrupted."""
    output.prepare()
    try:
        args = None if argv is None else list(argv)
        code = cli.main(args=args, prog_name="salvor", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.NoArgsIsHelpError as help_text:
        output.complain(help_text.format_message())
        return USAGE
    except click.ClickException as error:
        output.complain(f"salvor: {_usage(error)}")
        return USAGE
    except (RunInterrupted, KeyboardInterrupt, click.Abort) as stop:
        said = str(stop) if isinstance(stop, RunInterrupted) else "interrupted."
        output.complain(f"salvor: {said}")
        return INTERRUPTED
    except SalvorError as error:
        output.complain(f"salvor: {error}")
        return FAILED
    except Exception as error:
        return _fault(error)
    except BaseException as error:  # sys.exit() in a workflow, or what no library should raise
        return _foreign(error)
    finally:
        output.flush()


def _usage(error: click.ClickException) -> str:
    message = error.format_message().strip()
    message = message if message.endswith((".", "?", "!")) else message + "."
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    path = ctx.command_path if ctx is not None else "salvor"
    return f"{message} `{path} --help` shows what is possible."


def _foreign(error: BaseException) -> int:
    if isinstance(error, GeneratorExit):
        raise error
    said = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else _described(error)
    output.complain(
        f"salvor: the code that ran ended it with {said}, which is no ordinary error. What was "
        "recorded is whole: `salvor list` shows the run, and `salvor resume RUN` goes on."
    )
    return FAILED


def _described(error: BaseException) -> str:
    text = str(error).rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _fault(error: Exception) -> int:
    if os.environ.get("SALVOR_DEBUG"):
        raise error
    output.complain(
        f"salvor: a fault of salvor itself: {_described(error)}. "
        "With SALVOR_DEBUG=1 in the environment it shows where."
    )
    return FAILED
