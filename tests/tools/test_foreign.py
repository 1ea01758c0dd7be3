"""The real httpx and requests, against a local server that refuses, stalls and breaks."""

import socket
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
import requests

from salvor.tools.foreign import BUILT_IN, ForeignTable, Verdict, fault_of_name

NO, FINAL = Verdict("no"), Verdict("no", final=True)


class Handler(BaseHTTPRequestHandler):
    """Answers ``/status/N``; ``/break`` closes after half an answer, ``/stall`` never answers.

    ``/N/to/WHERE`` redirects.
    """

    stop = threading.Event()

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path.startswith("/status/"):
            self.send_response(int(self.path.rpartition("/")[2]))
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif "/to/" in self.path:
            status, _, where = self.path[1:].partition("/to")
            self.send_response(int(status))
            self.send_header("Location", where)
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path == "/stall":
            self.stop.wait(60)
        elif self.path == "/break":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf")
        self.close_connection = True

    do_GET = do_POST  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    Handler.stop.clear()
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_address[1]}"
    Handler.stop.set()
    httpd.shutdown()
    httpd.server_close()


@pytest.fixture
def closed() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


Post = Callable[[str], None]


def with_httpx(url: str) -> None:
    with httpx.Client(trust_env=False, timeout=0.2, follow_redirects=True) as client:
        client.post(url, content=b"x").raise_for_status()


def with_requests(url: str) -> None:
    with requests.Session() as session:
        session.trust_env = False
        session.post(url, data=b"x", timeout=0.2).raise_for_status()


CLIENTS = pytest.mark.parametrize("post", [with_httpx, with_requests])


def _failure(post: Post, url: str) -> Exception:
    try:
        post(url)
    except Exception as error:
        return error
    raise AssertionError("it did not fail")


@CLIENTS
def test_a2_a_refused_connection_did_nothing(post: Post, closed: str) -> None:
    assert BUILT_IN.verdict(_failure(post, closed)) == NO


@CLIENTS
def test_a2_a_name_that_does_not_resolve_did_nothing(post: Post) -> None:
    assert BUILT_IN.verdict(_failure(post, "http://nowhere.invalid/")) == NO


@CLIENTS
def test_a2_a_read_timeout_may_have_done_it(post: Post, server: str) -> None:
    assert BUILT_IN.verdict(_failure(post, f"{server}/stall")) is None


@CLIENTS
def test_a2_a_broken_connection_may_have_done_it(post: Post, server: str) -> None:
    assert BUILT_IN.verdict(_failure(post, f"{server}/break")) is None


@CLIENTS
@pytest.mark.parametrize("status", [400, 401, 403, 404, 410, 422])
def test_a2_a_client_error_did_nothing_and_is_final(post: Post, server: str, status: int) -> None:
    assert BUILT_IN.verdict(_failure(post, f"{server}/status/{status}")) == FINAL


@CLIENTS
@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503])
def test_a2_other_statuses_may_have_done_it(post: Post, server: str, status: int) -> None:
    assert BUILT_IN.verdict(_failure(post, f"{server}/status/{status}")) is None


def test_a2_a_connect_timeout_did_nothing() -> None:
    request = httpx.Request("POST", "http://127.0.0.1/")
    assert BUILT_IN.verdict(httpx.ConnectTimeout("slow", request=request)) == NO
    assert BUILT_IN.verdict(httpx.ReadTimeout("slow", request=request)) is None
    assert BUILT_IN.verdict(requests.ConnectTimeout("slow")) == NO
    assert BUILT_IN.verdict(requests.ReadTimeout("slow")) is None


def test_a2_builtin_errors_are_told_apart() -> None:
    assert BUILT_IN.verdict(ConnectionRefusedError("no")) == NO
    assert BUILT_IN.verdict(socket.gaierror(-2, "no name")) == NO
    for error in (ConnectionResetError(), BrokenPipeError(), TimeoutError(), ValueError()):
        assert BUILT_IN.verdict(error) is None


def test_an_error_of_the_same_name_from_elsewhere_says_nothing() -> None:
    class ConnectError(Exception):
        """Not httpx's."""

    assert BUILT_IN.verdict(ConnectError()) is None
    assert BUILT_IN.verdict(requests.ConnectionError("text alone")) is None
    assert BUILT_IN.verdict(requests.HTTPError("no response")) is None


@CLIENTS
def test_a1_a_client_error_behind_a_redirect_to_another_method_says_nothing_of_the_first(
    post: Post, server: str
) -> None:
    seen = BUILT_IN.verdict(_failure(post, f"{server}/303/to/status/404"))
    moved = BUILT_IN.verdict(_failure(post, f"{server}/308/to/status/404"))

    assert seen == Verdict("unknown", final=True)
    assert moved == FINAL


def _fallback(first: Callable[[], None], second: Callable[[], None]) -> Exception:
    try:
        try:
            first()
        except Exception:
            second()
    except Exception as error:
        return error
    raise AssertionError("it did not fail")


@CLIENTS
@pytest.mark.parametrize("other", [with_httpx, with_requests])
def test_a1_what_failed_while_another_failure_was_handled_says_nothing_of_the_other(
    post: Post, other: Post, server: str, closed: str
) -> None:
    stalled = _fallback(lambda: other(f"{server}/stall"), lambda: post(closed))
    refused = _fallback(lambda: other(f"{server}/status/500"), lambda: post(f"{server}/status/404"))
    nobody = _fallback(lambda: other(closed), lambda: post(closed))
    twice = _fallback(lambda: other(f"{server}/status/404"), lambda: post(closed))

    assert BUILT_IN.verdict(stalled) == Verdict("unknown")
    assert BUILT_IN.verdict(refused) == Verdict("unknown", final=True)
    assert [BUILT_IN.verdict(error) for error in (nobody, twice)] == [NO, NO]


def _raising(error: Exception) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (ConnectionResetError(), Verdict("unknown")),
        (TimeoutError(), Verdict("unknown")),
        (ExceptionGroup("tasks", [ValueError(), BrokenPipeError()]), Verdict("unknown")),
        (HTTPException(), Verdict("unknown")),
        (ConnectionRefusedError(), NO),
        (KeyError("not cached"), NO),
        (FileNotFoundError(), NO),
    ],
)
def test_a1_the_same_holds_for_connections_of_python_itself(
    first: Exception, said: Verdict
) -> None:
    error = _fallback(_raising(first), _raising(ConnectionRefusedError()))

    assert BUILT_IN.verdict(error) == said


def test_a_chain_of_exceptions_that_bites_its_tail_is_walked_once() -> None:
    error, other = ConnectionRefusedError(), KeyError()
    error.__context__, other.__context__ = other, error

    assert BUILT_IN.verdict(error) == NO


class AcmeError(Exception):
    """Of a library."""


class Refused(AcmeError):
    """Nothing was done."""


class Lost(Refused):
    """Nobody knows."""


class Unheard(ConnectionRefusedError):
    """A connection that was refused, after something was sent."""


HERE = AcmeError.__module__.partition(".")[0]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AcmeError(), None),
        (Refused(), FINAL),
        (Lost(), None),
        (Unheard(), None),
        (ConnectionRefusedError(), NO),
    ],
)
def test_what_is_added_counts_by_the_most_derived_class_and_before_what_is_built_in(
    error: Exception, said: Verdict | None
) -> None:
    table = ForeignTable(
        {
            f"{HERE}.Refused": FINAL,
            f"{HERE}.Lost": Verdict("unknown"),
            f"{HERE}.Unheard": Verdict("unknown"),
        }
    )

    assert table.verdict(error) == said


def test_what_is_added_speaks_for_what_it_wraps_and_of_requests_before() -> None:
    table = ForeignTable({f"{HERE}.Refused": FINAL, f"{HERE}.Lost": Verdict("unknown")})
    refuse = _raising(ConnectionRefusedError())

    assert table.verdict(_fallback(_raising(ConnectionResetError()), _raising(Refused()))) == FINAL
    assert table.verdict(_fallback(_raising(Refused()), refuse)) == NO
    assert table.verdict(_fallback(_raising(Lost()), refuse)) == Verdict("unknown")
    assert table.verdict(_fallback(_raising(AcmeError()), refuse)) == NO


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("acme.Refused", None),
        ("_acme._Refused", None),
        ("Refused", "top-level package and a class"),
        ("acme.errors.Refused", "top-level package and a class"),
        ("acme.Refused\n", "top-level package and a class"),
        (5, "top-level package and a class"),
        ("builtins.Exception", "Python itself"),
        ("httpx.ConnectError", "in the table already"),
        ("requests.ConnectionError", "in the table already"),
    ],
)
def test_only_names_that_can_be_meant_are_added(name: object, fault: str | None) -> None:
    found = fault_of_name(name)

    assert found == fault or (fault is not None and fault in str(found))
