"""`salvor claims`: keys, who has them, and an operator's word on them."""

from __future__ import annotations

from typing import Literal

import click

from salvor.cli import output, render
from salvor.cli.load import importable
from salvor.cli.options import Json, Words, by_option, store_option
from salvor.cli.render_history import late_lines
from salvor.cli.render_tables import table
from salvor.cli.session import existing, looking, with_runtime
from salvor.events.claims import Claim, ClaimState
from salvor.runtime.resolve import ResolvedFailure, ResolvedOutput
from salvor.runtime.runtime import Runtime
from salvor.values import JsonValue

STATES: tuple[ClaimState, ...] = ("held", "committed", "failed", "released")

scope_argument = click.argument("scope")
key_argument = click.argument("key")
namespace_option = click.option(
    "--namespace", metavar="TEXT", help="The operator's namespace; `default` by default."
)
reason_option = click.option("--reason", type=Words(), required=True, help="Why; it is kept.")
evidence_option = click.option("--evidence", metavar="TEXT", help="What shows it; it is kept.")


@click.group()
def claims() -> None:
    """See the keys of calls, and say what became of one."""


@claims.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only claims in this state.")
@click.option(
    "--limit", type=click.IntRange(min=1), default=100, show_default=True, help="At most so many."
)
@store_option
@click.pass_obj
def list_claims(obj: dict[str, str], state: ClaimState | None, limit: int) -> int:
    """List claims by scope and key."""

    async def work(runtime: Runtime) -> int:
        found = await runtime.claims.list(state=state, limit=limit)
        if not found:
            output.say("There are no claims." if state is None else f"No claim is {state}.")
            return 0
        made = table("SCOPE", "KEY", "STATE", "HAPPENED", "RUN ID", "EVENT", "GENERATION")
        for claim in found:
            made.add_row(
                claim.id.scope,
                render.printable(claim.id.key),
                claim.state,
                _happened(claim),
                claim.run_id,
                str(claim.intent_seq),
                str(claim.generation),
            )
        output.show(made)
        return 0

    return looking(obj["store"], work)


def _happened(claim: Claim) -> str:
    return {"committed": "yes", "failed": claim.extent or "-", "released": "no"}.get(
        claim.state, "-"
    )


@claims.command()
@scope_argument
@key_argument
@namespace_option
@store_option
@click.pass_obj
def show(obj: dict[str, str], scope: str, key: str, namespace: str | None) -> int:
    """Show the claim on KEY of SCOPE, and what was said of it."""

    async def work(runtime: Runtime) -> int:
        claim = await runtime.claims.show(runtime.claims.id(scope, key, namespace))
        for name, value in (
            ("namespace", claim.id.namespace),
            ("scope", claim.id.scope),
            ("key", render.printable(claim.id.key)),
            ("state", claim.state),
            ("happened", _happened(claim)),
            ("effect", claim.effect),
            ("run", f"{claim.run_id} (event {claim.intent_seq})"),
            ("generation", str(claim.generation)),
        ):
            output.say(f"{name:<12}{value}")
        for row in await runtime.claims.log():
            if row.entry.id == claim.id:
                evidence = f" ({row.entry.evidence})" if row.entry.evidence else ""
                output.say(
                    f"{row.entry.at:%Y-%m-%d %H:%M:%SZ}  {row.entry.by} {row.entry.verb}d it, "
                    f"{row.state_before} to {row.state_after}: "
                    + render.printable(f"{row.entry.reason}{evidence}")
                )
        for line in late_lines(await runtime.claims.late(claim)):
            output.say(line)
        return 0

    return looking(obj["store"], work)


@claims.command()
@scope_argument
@key_argument
@namespace_option
@reason_option
@evidence_option
@click.option(
    "--worker-dead",
    is_flag=True,
    help="Nobody is left who could still do it; needed while its call is open.",
)
@by_option
@store_option
@click.pass_obj
def release(
    obj: dict[str, str],
    scope: str,
    key: str,
    namespace: str | None,
    reason: str,
    evidence: str | None,
    worker_dead: bool,
    by: str,
) -> int:
    """Say that the call of KEY never happened: the next one that comes is made."""
    importable()

    async def work(runtime: Runtime) -> int:
        claim_id = runtime.claims.id(scope, key, namespace)
        await runtime.claims.release(
            claim_id, reason=reason, by=by, evidence=evidence, worker_dead=worker_dead
        )
        output.say("The claim is released.")
        return 0

    return with_runtime(existing(obj["store"]), work)


@claims.command()
@scope_argument
@key_argument
@namespace_option
@click.option("--output", "result", type=Json(), help="It happened, and this is its result.")
@click.option("--failed", is_flag=True, help="It failed; say also what it did all the same:")
@click.option("--happened", "extent", flag_value="yes", help="... it happened.")
@click.option("--unknown", "extent", flag_value="unknown", help="... nobody knows.")
@reason_option
@evidence_option
@by_option
@store_option
@click.pass_context
def settle(
    ctx: click.Context,
    scope: str,
    key: str,
    namespace: str | None,
    result: JsonValue,
    failed: bool,
    extent: Literal["yes", "unknown"] | None,
    reason: str,
    evidence: str | None,
    by: str,
) -> int:
    """Say what the call of KEY came to: later callers get that.

    Exactly one of --output and --failed.
    """
    happened = ctx.get_parameter_source("result") is not click.core.ParameterSource.DEFAULT
    if happened == failed or failed != (extent is not None):
        raise click.UsageError("say --output, or --failed with --happened or --unknown.")
    resolution: ResolvedOutput | ResolvedFailure = (
        ResolvedOutput(result) if extent is None else ResolvedFailure(extent)
    )
    importable()

    async def work(runtime: Runtime) -> int:
        claim_id = runtime.claims.id(scope, key, namespace)
        claim = await runtime.claims.settle(
            claim_id, resolution, reason=reason, by=by, evidence=evidence
        )
        output.say(f"The claim is {claim.state}.")
        return 0

    return with_runtime(existing(ctx.obj["store"]), work)
