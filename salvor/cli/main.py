"""The `salvor` command: its verbs, and the one place where errors become sentences.

A verb's module is loaded when the verb is used, so `salvor --version` loads none.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any, cast

import click

from salvor.cli import output
from salvor.cli.options import DEFAULT_STORE, config_option, store_option, strict_option
from salvor.errors import SalvorError
from salvor.run_errors import RunInterrupted
from salvor.version import __version__

DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130

VERBS = {
    "run": ("salvor.cli.run:run", "Start a run of a workflow and drive it until it rests."),
    "resume": ("salvor.cli.resume:resume", "Go on with a run: after a crash, or with an answer."),
    "resolve": ("salvor.cli.resolve:resolve", "Say what became of a write left open."),
    "answer": ("salvor.cli.answer:answer", "Record the answer a run waits for."),
    "approvals": ("salvor.cli.approvals:approvals", "Say yes or no to calls that wait for it."),
    "signal": ("salvor.cli.signal:signal", "Send a run a signal."),
    "wake": ("salvor.cli.wake:wake", "Let runs go on whose time or signal has come."),
    "cancel": ("salvor.cli.cancel:cancel", "Ask for a run's end."),
    "abandon": ("salvor.cli.abandon:abandon", "End a run for good."),
    "claims": ("salvor.cli.claims:claims", "See the keys of calls, and what became of them."),
    "history": ("salvor.cli.history:history", "Print the events of a run."),
    "list": ("salvor.cli.runs:list_runs", "List the runs of the store."),
    "verify": ("salvor.cli.verify:verify", "Check every log and claim of the store."),
    "anchor": ("salvor.cli.verify:anchor", "Print what a store is now, to verify it against."),
    "store": ("salvor.cli.store:store", "Back up, restore, export, import, let go."),
    "tools": ("salvor.cli.tools:tools", "List tools, show one, check some, call one."),
    "plugins": ("salvor.cli.plugins:plugins", "See the installed packages of tools."),
    "new": ("salvor.cli.new:new", "Make a package of tools that passes its own tests."),
    "doctor": ("salvor.cli.doctor:doctor", "Look for what is wrong with this installation."),
    "demo": ("salvor.cli.demo:demo", "Pay claims while the payer is killed, each once."),
    "completions": ("salvor.cli.completions:completions", "Print a shell's completion script."),
}


class SystemFault(Exception):
    """Wraps an `OSError`, since click takes any broken pipe for that of standard output."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def _system_faults() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise SystemFault(error) from error


class Verbs(click.Group):
    """A group whose commands are imported when they are asked for."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        """Read the command line."""
        with _system_faults():
            return super().make_context(*args, **kwargs)

    def invoke(self, ctx: click.Context) -> Any:
        """Carry out the verb."""
        with _system_faults():
            return super().invoke(ctx)

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
    settings: dict[str, str] = {}
    code = _carried_out(None if argv is None else list(argv), settings)
    lost = output.flush()
    if lost is None or code != DONE:
        return code
    return _told(str(output.OutputLost(lost)), settings)


def _carried_out(args: list[str] | None, settings: dict[str, str]) -> int:
    try:
        code = cli.main(args=args, prog_name="salvor", standalone_mode=False, obj=settings)
        return code if isinstance(code, int) else DONE
    except click.exceptions.NoArgsIsHelpError as help_text:
        output.complain(help_text.format_message())
        return USAGE
    except click.ClickException as error:
        output.complain(f"salvor: {_usage(error)}")
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        return _told("interrupted.", settings, code=INTERRUPTED)
    except RunInterrupted as stop:
        return _told(str(stop), settings, code=INTERRUPTED)
    except SalvorError as error:
        return _told(str(error), settings)
    except SystemFault as fault:
        return _printed(fault.error, settings)
    except Exception as error:
        return _fault(error, settings)
    except BaseException as error:
        return _foreign(error, settings)


def _told(text: str, settings: dict[str, str], *, code: int = FAILED) -> int:
    from salvor.cli.render import at_store, sentence

    store = settings.get("store", DEFAULT_STORE)
    output.complain(f"salvor: {at_store(sentence(text), store)}")
    return code


def _usage(error: click.ClickException) -> str:
    message = " ".join(error.format_message().split())
    message = message if message.endswith((".", "?", "!")) else message + "."
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    path = ctx.command_path if ctx is not None else "salvor"
    return f"{message} `{path} --help` shows what is possible."


def _printed(error: OSError, settings: dict[str, str]) -> int:
    """What click could not print (help, a version) is no fault of ours."""
    frames = [frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)]
    if click.echo.__code__ not in frames:
        return _fault(error, settings)
    lost = output.silence(error)
    return DONE if lost is None else _told(str(output.OutputLost(lost)), settings)


def _fault(error: Exception, settings: dict[str, str]) -> int:
    from salvor.runtime.places import described

    _trace(error)
    return _told(
        f"a fault of salvor itself: {described(error)}. "
        "With SALVOR_DEBUG=1 in the environment it shows where.",
        settings,
    )


def _foreign(error: BaseException, settings: dict[str, str]) -> int:
    """What is no ordinary exception, such as `sys.exit` or a class of a library's own."""
    from salvor.runtime.places import described

    _trace(error)
    said = f"sys.exit({error.code!r})" if isinstance(error, SystemExit) else described(error)
    return _told(
        f"the code that ran ended the command with {said}. What was recorded is whole: "
        "`salvor list` shows the runs, `salvor resume RUN` goes on with one.",
        settings,
    )


def _trace(error: BaseException) -> None:
    if os.environ.get("SALVOR_DEBUG"):
        output.complain("".join(traceback.format_exception(error)).rstrip())
