"""How results look: values in, text out.

Prose wraps at 80 columns; a command that a person may copy never does.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import textwrap
import unicodedata
from datetime import UTC, datetime

from salvor.cli.options import DEFAULT_STORE
from salvor.events.records import Wait
from salvor.runtime.outcome import Failed, OpenWrite, Parked
from salvor.runtime.resolve import NotDone, Resolution, ResolvedOutput
from salvor.values import JsonValue, canonical_json, parse_instant

WIDTH = 80
GONE = (
    "The store was in memory, and is gone with this process: nothing can go on with the run.\n"
    "With --store PATH it is kept."
)

_COMMAND = re.compile(r"`salvor (history|list|resolve|resume)\b")


def pretty(value: JsonValue) -> str:
    """JSON for people: indented, keys as they are recorded."""
    return printable(json.dumps(value, indent=2, ensure_ascii=False))


def printable(text: str) -> str:
    """The text without characters that steer a terminal; they are shown as escapes."""
    if text.isprintable():
        return text
    return "".join(
        char
        if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs")
        else char.encode("unicode_escape", "surrogatepass").decode("ascii")
        for char in text
    )


def paragraph(text: str) -> str:
    """Prose, wrapped."""
    return "\n".join(
        textwrap.fill(line, WIDTH, break_long_words=False, break_on_hyphens=False)
        for line in printable(text).splitlines()
    )


def sentence(text: str) -> str:
    """A sentence ends with a full stop."""
    text = printable(text).rstrip()
    return text if text.endswith((".", "!", "?")) else text + "."


def command(*words: str, store: str) -> str:
    """A command line that works as it stands."""
    where = [] if store == DEFAULT_STORE else ["--store", store]
    return " ".join(map(quoted, ["salvor", *where, *words]))


def quoted(word: str) -> str:
    """A word as a shell takes it; what cannot be printed is written as ``$'...'``."""
    if word.isprintable():
        return shlex.quote(word)
    return "$'" + "".join(map(_escaped, os.fsencode(word))) + "'"


def _escaped(byte: int) -> str:
    char = chr(byte)
    return char if " " <= char <= "~" and char not in "'\\" else f"\\{byte:03o}"


def in_memory(store: str) -> bool:
    """Whether a store ends with the process, so that no command can come back to it."""
    return store == "memory:"


def way_on(run_id: str, store: str) -> str:
    """The commands that show where a run stands, and go on with it."""
    if in_memory(store):
        return GONE
    return "\n".join(
        [
            "See where it stands, and go on:",
            f"  {command('history', run_id, store=store)}",
            f"  {command('resume', run_id, store=store)}",
        ]
    )


def at_store(text: str, store: str) -> str:
    """A sentence in which every command names the store that this one used."""
    where = command(store=store)
    return _COMMAND.sub(lambda found: f"`{where} {found[1]}", text)


def when(instant: str) -> str:
    """A recorded instant as ``YYYY-MM-DD HH:MM:SSZ``."""
    return f"{parse_instant(instant):%Y-%m-%d %H:%M:%S}Z"


def when_micros(micros: int | None) -> str:
    """Microseconds since the epoch as ``YYYY-MM-DD HH:MM:SSZ``."""
    if micros is None:
        return "-"
    return f"{datetime.fromtimestamp(micros // 1_000_000, UTC):%Y-%m-%d %H:%M:%S}Z"


def parked(result: Parked, store: str) -> str:
    """What a run waits for, and the command that goes on."""
    resume = command("resume", result.run_id, store=store)
    if result.waiting_for is not None:
        return _waiting(result.run_id, result.waiting_for, resume, store)
    if result.wake_at is not None:
        return _sleeping(result, store)
    if result.signal is not None:
        return _signal(result, store)
    if result.wants_approval:
        return _approval(result, store)
    if result.park_seq is None and result.schema is None:
        return paragraph(f"run {result.run_id} waits: {sentence(result.reason)}")
    return "\n".join(
        [
            paragraph(f"run {result.run_id} waits for an answer: {sentence(result.reason)}"),
            *_deadline(result),
            "",
            "The answer has to fit this schema:",
            textwrap.indent(pretty(result.schema), "  "),
            "",
            GONE
            if in_memory(store)
            else f"Answer, and the run goes on:\n  {resume} --input '{answer_form(result.schema)}'",
        ]
    )


def _sleeping(result: Parked, store: str) -> str:
    assert result.wake_at is not None
    lines = [paragraph(f"run {result.run_id} sleeps until {_moment(result.wake_at)}.")]
    if in_memory(store):
        return "\n".join([*lines, GONE])
    wake = command("wake", result.run_id, store=store)
    return "\n".join([*lines, "Then it goes on with:", f"  {wake}"])


def _signal(result: Parked, store: str) -> str:
    assert result.signal is not None
    signal = command("signal", result.run_id, result.signal, store=store)
    return "\n".join(
        [
            paragraph(f"run {result.run_id} waits for the signal {result.signal!r}."),
            *_deadline(result),
            "",
            GONE
            if in_memory(store)
            else f"Send it, and let the run go on:\n  {signal} --payload "
            f"'{answer_form(result.schema)}'\n  {command('wake', result.run_id, store=store)}",
        ]
    )


def _approval(result: Parked, store: str) -> str:
    assert result.call is not None
    call = result.call
    words = ("approvals", "approve", result.run_id, "--park", str(result.park_seq))
    return "\n".join(
        [
            paragraph(f"run {result.run_id} asks for approval of a call that it has not made:"),
            "",
            f"  tool       {call.tool}",
            f"  effect     {call.effect}",
            f"  key        {printable(call.idempotency_key or '-')}",
            f"  arguments  {printable(canonical_json(call.input))}",
            *_deadline(result),
            "",
            GONE
            if in_memory(store)
            else f"Say yes (or deny), and let the run go on:\n  {command(*words, store=store)}\n"
            f"  {command('wake', result.run_id, store=store)}",
        ]
    )


def _deadline(result: Parked) -> list[str]:
    return [] if result.deadline is None else [f"Until {_moment(result.deadline)}."]


def _moment(instant: datetime) -> str:
    return f"{instant.astimezone(UTC):%Y-%m-%d %H:%M:%SZ}"


def abandoned(run_id: str, reason: str | None, by: str | None) -> str:
    """That a run was ended, why, and by whom."""
    who = f" by {by}" if by else ""
    why = f": {reason}" if reason else ""
    return sentence(f"salvor: run {run_id} was abandoned{who}{why}")


def _waiting(run_id: str, wait: Wait, resume: str, store: str) -> str:
    return "\n".join(
        [
            paragraph(
                f"run {run_id} waits for run {wait.holder_run}, which holds the right to call "
                f"{wait.tool} with the key {wait.claim.key}. See what became of it:"
            ),
            f"  {command('history', wait.holder_run, store=store)}",
            "When it is settled, this run goes on with:",
            f"  {resume}",
        ]
    )


def answer_form(schema: JsonValue) -> str:
    """A form to fill in: the required fields of an answer, with what belongs there."""
    if not isinstance(schema, dict):
        return "JSON"
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        return _blank(schema)
    required = schema.get("required")
    names = required if isinstance(required, list) else list(properties)
    fields = (f"{json.dumps(name)}: {_blank(properties.get(str(name)))}" for name in names)
    return "{" + ", ".join(fields) + "}"


def _blank(schema: JsonValue) -> str:
    kind = schema.get("type") if isinstance(schema, dict) else None
    return f"<{kind}>" if isinstance(kind, str) else "<JSON>"


def open_write(result: OpenWrite, store: str) -> str:
    """The intent as evidence, and the commands that settle it."""
    evidence = [
        paragraph(
            f"run {result.run_id} stopped at event {result.seq}: a write may have "
            "happened, and salvor does not know. It is not made again until you say so."
        ),
        "",
        f"  tool       {result.tool}",
        f"  key        {printable(result.idempotency_key or '-')}",
        f"  arguments  {printable(canonical_json(result.arguments))}",
        f"  cause      {printable(result.cause)}",
        "",
    ]
    settled = GONE if in_memory(store) else _settling(result.run_id, store)
    return "\n".join([*evidence, settled])


def _settling(run_id: str, store: str) -> str:
    resolve = command("resolve", run_id, store=store)
    return "\n".join(
        [
            "Find out whether it happened, then say one of:",
            f"  {resolve} --output JSON",
            "      it happened, and this is its result",
            f"  {resolve} --failed --happened",
            "      it happened, but there is no good result; or --not-happened, --unknown",
            f"  {resolve} --not-done --worker-dead",
            "      it never happened and nobody is left who could still do it:",
            "      the call is made again",
            "",
            "and go on with:",
            f"  {command('resume', run_id, store=store)}",
        ]
    )


def open_write_error(result: OpenWrite) -> str:
    """The same in one sentence."""
    return (
        f"salvor: run {result.run_id} needs reconciliation: whether {result.tool} happened "
        "is unknown."
    )


def resolved(run_id: str, resolution: Resolution, store: str) -> str:
    """What was recorded, and the next command."""
    if isinstance(resolution, ResolvedOutput):
        said = "The result is recorded as that of the call."
    elif isinstance(resolution, NotDone):
        said = "It is recorded that the call never happened; it will be made again."
    else:
        said = "The call is recorded as failed."
    return f"{said} Go on with:\n  {command('resume', run_id, store=store)}"


def failed(result: Failed, store: str, place: str | None = None) -> str:
    """Why a run failed, where, and whether it can go on."""
    if result.final:
        return sentence(f"salvor: run {result.run_id} failed: {result.error}")
    at = f" ({place})" if place is not None else ""
    stopped = f"salvor: run {result.run_id} stopped at a fault in its workflow{at}: {result.error}"
    if in_memory(store):
        return f"{sentence(stopped)}\n{GONE}"
    return "\n".join(
        [
            sentence(stopped),
            "Nothing was recorded for it. Mend the code, then go on with:",
            f"  {command('resume', result.run_id, store=store)}",
        ]
    )
