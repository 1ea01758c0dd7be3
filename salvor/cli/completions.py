"""`salvor completions`: the script that teaches a shell to complete the command."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from salvor.cli import output


@click.command()
@click.argument("shell", type=click.Choice(["bash", "fish", "zsh"]))
@click.pass_context
def completions(ctx: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    For bash: eval "$(salvor completions bash)" in ~/.bashrc; likewise for zsh. For fish:
    salvor completions fish > ~/.config/fish/completions/salvor.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    output.say(kind(ctx.find_root().command, {}, "salvor", "_SALVOR_COMPLETE").source())
