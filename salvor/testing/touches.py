"""What code touches outside of its process, as Python's audit events tell of it.

Seen are files, sockets, processes and SQLite databases that Python code opens. What C code does
by itself, and what another process does, is not.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

Kind: TypeAlias = Literal["file", "database", "socket", "process"]
State: TypeAlias = tuple[int, int, int] | None
Tell: TypeAlias = Callable[["Touch"], None]

_WRITING: Final = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NAMELESS: Final = getattr(os, "O_TMPFILE", 0)
_HERE: Final = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Touch:
    """One thing that was touched, told before it happens.

    Attributes:
        kind: What it is.
        did: What happens to it, in a few words.
        what: Its name, for people.
        paths: Each path and its state just before; `None` where nothing was there. No path
            at all where it is not known which file is meant.
        makes: Whether it can only make what was not there, and changes nothing that was.
    """

    kind: Kind
    did: str
    what: str
    paths: tuple[tuple[str, State], ...] = ()
    makes: bool = False


class Watch:
    """Tells of what is touched while it is switched on.

    An audit hook cannot be taken away again: use it in a process of its own.

    Args:
        tell: Called in the thread that touches, before it does.
    """

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._on = False
        sys.addaudithook(self._hear)

    def switch(self, on: bool) -> None:
        """Switch it on or off."""
        self._on = on

    def _hear(self, event: str, args: tuple[Any, ...]) -> None:
        if not self._on or event not in _EVENTS:
            return
        try:
            touch = _EVENTS[event](args)
        except (TypeError, ValueError):
            return  # no path, and the system call will say so
        if touch is not None:
            self._tell(touch)


def state_of(path: str) -> State:
    """What is at a path now: inode, size and time of change; `None` for nothing."""
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def wrote(touches: Iterable[Touch]) -> list[tuple[Touch, bool]]:
    """Each touch, and whether it left something changed; to be asked when all is over.

    What was not there before and is gone again (a temporary file) left nothing changed; a
    database did where its file, or the log beside it, is another one than before.
    """
    judged: list[tuple[Touch, bool]] = []
    before: dict[str, State] = {}
    for touch in touches:
        for path, state in touch.paths:
            before.setdefault(path, state)
        judged.append((touch, _changed(touch, before)))
    return judged


def _changed(touch: Touch, before: Mapping[str, State]) -> bool:
    if touch.kind == "database":
        return any(_grew(before[path], state_of(path)) for path, _ in touch.paths)
    if touch.kind != "file":
        return False
    if touch.makes:
        return any(state is None and state_of(path) is not None for path, state in touch.paths)
    known = [path for path, _ in touch.paths]
    return not known or any(before[path] or state_of(path) for path in known)


def _grew(before: State, after: State) -> bool:
    empty = after is None or after[1] == 0
    return before != after if before else not empty


Heard: TypeAlias = Callable[[tuple[Any, ...]], Touch | None]


def _opened(args: tuple[Any, ...]) -> Touch | None:
    path, mode, flags = args[:3]
    if isinstance(path, int) or not (flags or 0) & _WRITING:
        return None
    if _NAMELESS and flags & _NAMELESS == _NAMELESS:
        return None
    if os.path.isdir(path):
        return None  # whoever opens one so names the file inside by an event of its own
    # os.open gives no mode, and does not tell which directory a relative path starts from.
    named = _text(path)
    if mode is None and not os.path.isabs(named):
        return Touch(kind="file", did="opened for writing", what=named)
    return _file("opened for writing", (path, _HERE))


def _file(did: str, *places: tuple[Any, int], makes: bool = False) -> Touch | None:
    resolved = [_resolved(path, directory) for path, directory in places]
    if all(path is not None and path.startswith("/dev/") for path in resolved):
        return None
    names = [path or _text(place[0]) for path, place in zip(resolved, places, strict=True)]
    known = tuple((path, state_of(path)) for path in resolved if path is not None)
    return Touch(
        kind="file",
        did=did,
        what=" -> ".join(names),
        paths=known if len(known) == len(places) else (),
        makes=makes and bool(known),
    )


def _resolved(path: Any, directory: int) -> str | None:
    if isinstance(path, int):
        return _of_descriptor(path)
    named = _text(path)
    if os.path.isabs(named):
        return os.path.normpath(named)
    if directory == _HERE:
        return os.path.abspath(named)
    parent = _of_descriptor(directory)
    return None if parent is None else os.path.join(parent, named)


def _of_descriptor(number: int) -> str | None:
    try:
        return os.readlink(f"/proc/self/fd/{number}")
    except OSError:
        return None


def _text(path: Any) -> str:
    return os.fsdecode(path)


def _at(did: str, *, directory: int | None = None) -> Heard:
    """An event whose first argument is a path."""
    return lambda args: _file(did, (args[0], _HERE if directory is None else args[directory]))


def _made(did: str, path: int, directory: int) -> Heard:
    """An event that makes something new, or fails."""
    return lambda args: _file(did, (args[path], args[directory]), makes=True)


def _renamed(args: tuple[Any, ...]) -> Touch | None:
    return _file("renamed", (args[0], args[2]), (args[1], args[3]))


def _database(args: tuple[Any, ...]) -> Touch | None:
    named = _text(args[0])
    if named.startswith("file:"):
        named = named.removeprefix("file:").partition("?")[0]
    if named in ("", ":memory:"):
        return None
    path = os.path.abspath(named)
    beside = (path, f"{path}-wal")
    return Touch(
        kind="database",
        did="opened the database",
        what=path,
        paths=tuple((one, state_of(one)) for one in beside),
    )


def _socket(did: str) -> Heard:
    def heard(args: tuple[Any, ...]) -> Touch | None:
        address = args[1]
        if address is None:
            return None
        return Touch(kind="socket", did=did, what=_address(address))

    return heard


def _address(address: Any) -> str:
    if isinstance(address, tuple) and len(address) >= 2:
        host, port = address[:2]
        return f"[{host}]:{port}" if ":" in str(host) else f"{host}:{port}"
    return _text(address) if isinstance(address, str | bytes) else repr(address)


def _process(words: Callable[[tuple[Any, ...]], Any]) -> Heard:
    return lambda args: Touch(kind="process", did="started", what=_words(words(args)))


def _words(given: Any) -> str:
    if isinstance(given, str | bytes | os.PathLike):
        return _text(given)
    return " ".join(_text(word) for word in given)


_EVENTS: Final[Mapping[str, Heard]] = {
    "open": _opened,
    "os.remove": _at("removed", directory=1),
    "os.rmdir": _at("removed the directory", directory=1),
    "os.mkdir": _made("made the directory", 0, 2),
    "os.truncate": _at("truncated"),
    "os.chmod": _at("changed the mode of", directory=2),
    "os.chown": _at("changed the owner of", directory=3),
    "os.utime": _at("changed the times of", directory=3),
    "os.setxattr": _at("changed the attributes of"),
    "os.removexattr": _at("changed the attributes of"),
    "os.rename": _renamed,
    "os.link": _made("linked", 1, 3),
    "os.symlink": _made("linked", 1, 2),
    "sqlite3.connect": _database,
    "socket.connect": _socket("connected to"),
    "socket.bind": _socket("listened at"),
    "socket.sendto": _socket("sent to"),
    "socket.sendmsg": _socket("sent to"),
    "subprocess.Popen": _process(lambda args: args[1]),
    "os.system": _process(lambda args: args[0]),
    "os.exec": _process(lambda args: args[1]),
    "os.posix_spawn": _process(lambda args: args[1]),
    "os.spawn": _process(lambda args: args[2]),
    "os.fork": _process(lambda _: "a copy of the process (fork)"),
    "os.forkpty": _process(lambda _: "a copy of the process (fork)"),
    "os.kill": lambda args: Touch(kind="process", did="signalled", what=f"process {args[0]}"),
}
