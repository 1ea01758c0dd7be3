"""Replaying a recorded run against today's code: nothing is executed, nothing is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import anyio

from salvor.compose import open_runtime
from salvor.config import Config
from salvor.errors import SalvorError
from salvor.events.chain import GENESIS, row_hash
from salvor.events.codec import decode, encode
from salvor.events.log import read_log
from salvor.events.records import Append, Row, RunCopy, Stands
from salvor.events.store import Store
from salvor.events.vocabulary import TERMINAL, Envelope, Event, RunAbandoned
from salvor.plugins.loader import Plugins
from salvor.registry.registry import Registry
from salvor.runtime.outcome import Failed
from salvor.runtime.runtime import Runtime
from salvor.store_errors import Divergence, StoreError
from salvor.stores.connect import open_store
from salvor.stores.memory import MemoryStore
from salvor.testing.matrix_report import shown
from salvor.tools.around import Call, Failure, Guard, Next, Outcome
from salvor.values import parse_instant

AROUND = 3
"""Events that are shown before and after the one that diverges."""

Log = str | Path | Runtime


class EndOfRecord(StoreError):
    """The workflow came to the end of what is recorded."""

    code = "end_of_record"


class Recorded(MemoryStore):
    """A store that holds one recorded run, and takes no more of it.

    Attributes:
        asked: What the workflow would have recorded next.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked: Event | None = None

    async def append(self, append: Append) -> Stands | None:
        """Note what is asked for, and refuse it: what is not recorded is not done.

        Raises:
            EndOfRecord: always.
        """
        row = append.rows[0]
        if self.asked is None:
            self.asked = decode(row.envelope, run_id=append.fence.run_id, seq=row.seq).event
        raise EndOfRecord("the record ends here.")


async def _never(call: Call, following: Next) -> Outcome:
    """Stand before every body, of reads that run together too: none is executed."""
    return Failure(message="the record ends here.")


def assert_replays(
    workflow: Callable[..., Any],
    log: Log,
    run_id: str | None = None,
    *,
    registry: Registry | None = None,
) -> None:
    """Fail unless a recorded run replays against today's code.

    Every step is answered from the record and compared with it. No tool is called. A run that
    has not ended replays as far as it got.

    Args:
        workflow: Its function, as it is now.
        log: A file of JSON lines, an envelope each, as `save_log` writes them (its name ends
            in ``.jsonl``); a store, by path or URL. For a runtime there is
            `assert_replays_async`.
        run_id: Which run of the store; needed where it has more than one.
        registry: Tools that the workflow calls by name.

    Raises:
        AssertionError: the run diverges: the place, both sides, and the log around it.
    """
    __tracebackhide__ = True
    anyio.run(_assert, workflow, log, run_id, registry)


async def assert_replays_async(
    workflow: Callable[..., Any],
    log: Log,
    run_id: str | None = None,
    *,
    registry: Registry | None = None,
) -> None:
    """Like `assert_replays`, for tests that are async themselves; ``log`` may be a runtime."""
    __tracebackhide__ = True
    await _assert(workflow, log, run_id, registry)


async def save_log(log: Log, path: Path, run_id: str | None = None) -> None:
    """Write a run's log to a file that `assert_replays` takes: an envelope a line.

    Args:
        log: A runtime, or a store by path or URL.
        path: The file; its name should end in ``.jsonl``.
        run_id: Which run; needed where there is more than one.
    """
    texts = await _texts(log, run_id)
    await anyio.Path(path).write_text("".join(f"{text}\n" for text in texts), "utf-8")


async def _assert(
    workflow: Callable[..., Any], log: Log, run_id: str | None, registry: Registry | None
) -> None:
    __tracebackhide__ = True
    envelopes = _envelopes(await _texts(log, run_id))
    events = [envelope.event for envelope in envelopes]
    end = envelopes.pop().event if isinstance(events[-1], TERMINAL) else None
    store = Recorded()
    copy = _copy(envelopes)
    await store.adopt(copy)
    if registry is None:
        registry = log.registry if isinstance(log, Runtime) else Registry()
    opened = open_runtime(
        store,
        registry=registry,
        plugins=Plugins(middleware=(Guard("salvor.testing", _never),)),
        config=Config(),
    )
    async with opened as runtime:
        try:
            result = await runtime.resume(copy.run_id, workflow)
        except EndOfRecord:
            result = None
        except Divergence as error:
            _fail(str(error), events, error.position)
        except SalvorError as error:
            _fail(f"{type(error).__name__}: {error}", events, None)
    if isinstance(result, Failed) and not result.final:
        _fail(f"the workflow raised {result.error}", events, None)
    # An operator's end is no step of the workflow's.
    if end is not None and not isinstance(end, RunAbandoned) and store.asked != end:
        [recorded], asked = shown([end]), shown([store.asked] if store.asked else [])
        said = f"recorded is {recorded[2:]}, the code asks for {''.join(asked)[2:] or 'nothing'}."
        _fail(f"event {len(envelopes)} differs: {said}", events, len(envelopes))


async def _texts(log: Log, run_id: str | None) -> Sequence[str]:
    if isinstance(log, Runtime):
        return await _stored(log.store, run_id)
    if str(log).endswith(".jsonl"):
        text = await anyio.Path(log).read_text("utf-8")
        return [line for line in text.splitlines() if line.strip()]
    store = open_store(str(log))
    try:
        return await _stored(store, run_id)
    finally:
        await store.close()


async def _stored(store: Store, run_id: str | None) -> Sequence[str]:
    if run_id is None:
        runs = await store.runs(limit=2)
        if len(runs) != 1:
            held = "several runs" if runs else "no run"
            raise AssertionError(f"the store holds {held}: say which, run_id=...")
        run_id = runs[0].head.run_id
    envelopes, _ = await read_log(store, run_id)
    return [encode(envelope) for envelope in envelopes]


def _envelopes(texts: Sequence[str]) -> list[Envelope]:
    if not texts:
        raise AssertionError("the log is empty.")
    run_id = str(json.loads(texts[0])["run_id"])
    return [decode(text, run_id=run_id, seq=seq) for seq, text in enumerate(texts)]


def _copy(envelopes: Sequence[Envelope]) -> RunCopy:
    """A run as another store takes it over."""
    rows: list[Row] = []
    prev = GENESIS
    for envelope in envelopes:
        text = encode(envelope)
        prev = row_hash(prev, envelope.run_id, envelope.seq, text)
        micros = int(parse_instant(envelope.recorded_at).timestamp() * 1_000_000)
        rows.append(Row(seq=envelope.seq, recorded_at=micros, envelope=text, row_hash=prev))
    return RunCopy(run_id=envelopes[0].run_id, rows=tuple(rows), ended=False)


def _fail(problem: str, events: Sequence[Event], position: int | None) -> NoReturn:
    __tracebackhide__ = True
    lines = shown(events)
    if position is not None:
        lines = lines[max(0, position - AROUND) : position + AROUND + 1]
    listed = "\n".join(f"    {line}" for line in lines)
    raise AssertionError(f"the recorded run does not replay: {problem}\n  log:\n{listed}")
