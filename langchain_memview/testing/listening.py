"""Listening at every channel of a running graph: logs, console, callbacks, traces.

What is recorded is text by channel, so that a test can search it, and can see that a
channel was not empty. The trace collector is a small HTTP server on the loopback
interface to which LangSmith's own client sends what it would send to its service.
"""

import io
import json
import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from struct import pack
from typing import Any

from langchain_core.globals import get_debug, set_debug
from langgraph.callbacks import GraphCallbackHandler
from langsmith import Client, tracing_context
from typing_extensions import override

from langchain_memview.testing.canary import private_text_in

_LOOPBACK = "127.0.0.1"
# Whatever the installed versions tell a handler, events that are new included.
_EVENTS = [name for name in dir(GraphCallbackHandler) if name.startswith("on_")]


class Channels:
    """Texts and exceptions by the channel in which they were seen."""

    def __init__(self) -> None:
        self._texts: defaultdict[str, list[str]] = defaultdict(list)
        self._errors: list[tuple[str, BaseException]] = []
        self._lock = threading.Lock()

    def add(self, channel: str, seen: object) -> None:
        """Record what was seen in a channel."""
        if isinstance(seen, bytes | bytearray | memoryview):
            # Both: text is UTF-8, and a number in binary is no text at all.
            text = f"{bytes(seen).decode('utf-8', 'replace')} {_latin(bytes(seen))}"
        else:
            text = seen if isinstance(seen, str) else repr(seen)
        with self._lock:
            self._texts[channel].append(text)

    def keep(self, channel: str, error: BaseException) -> None:
        """Record an exception, of which more can be read than its text."""
        with self._lock:
            self._errors.append((channel, error))

    def leaking(self, canaries: tuple[str, ...]) -> list[str]:
        """Return the channels in which a canary was seen, sorted.

        Args:
            canaries: Private texts; a number, such as `0.125`, is found in binary too.
        """
        wanted = {form for canary in canaries for form in _forms(canary)}
        found = {
            channel
            for channel, text in self.texts().items()
            if any(form in text for form in wanted)
        }
        with self._lock:
            errors = tuple(self._errors)
        # An error passes many places; each channel needs to be searched only until hit.
        for channel, error in errors:
            if channel not in found and private_text_in(error, canaries):
                found.add(channel)
        return sorted(found)

    def texts(self) -> dict[str, str]:
        """Return channel to everything that was seen in it."""
        with self._lock:
            return {channel: "\n".join(seen) for channel, seen in self._texts.items()}


def _forms(canary: str) -> set[str]:
    """Return how a text looks as it is, in JSON, in a representation, in binary."""
    forms = {
        canary,
        json.dumps(canary)[1:-1],
        json.dumps(canary, ensure_ascii=False)[1:-1],
        repr(canary)[1:-1],
    }
    try:
        number = float(canary)
    except ValueError:
        return forms
    # Whole numbers are mostly zero bytes, which any file holds.
    return forms if number.is_integer() else forms | {_latin(pack(">d", number))}


def _latin(data: bytes) -> str:
    return data.decode("latin-1")


class _Callbacks(GraphCallbackHandler):
    """Records the arguments of every callback."""

    raise_error = True

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        for event in _EVENTS:
            setattr(self, event, self._recorder(event))

    def _recorder(self, event: str) -> Any:
        def record(*args: object, **kwargs: object) -> None:
            self._channels.add("callbacks", (event, args, kwargs))
            for value in args:
                if isinstance(value, BaseException):
                    self._channels.keep("callbacks", value)

        return record


class _Logs(logging.Handler):
    def __init__(self, channels: Channels) -> None:
        super().__init__(logging.DEBUG)
        self._channels = channels
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    @override
    def emit(self, record: logging.LogRecord) -> None:
        # The attributes of a record hold its arguments and what `extra` added.
        self._channels.add("logs", (self.format(record), vars(record)))
        if record.exc_info and record.exc_info[1]:
            self._channels.keep("logs", record.exc_info[1])


@contextmanager
def listening(channels: Channels) -> Iterator[_Callbacks]:
    """Record logs, console and traces for the length of a `with` block.

    Yields a callback handler that records callbacks when it is put into a run's config.

    Args:
        channels: Where the texts are recorded.
    """
    with ExitStack() as stack:
        stack.enter_context(_logs_at_debug(channels))
        stack.enter_context(_console(channels))
        stack.enter_context(_traces(channels))
        yield _Callbacks(channels)


@contextmanager
def _logs_at_debug(channels: Channels) -> Iterator[None]:
    loggers = [
        logging.getLogger(name) for name in ("", *logging.root.manager.loggerDict)
    ]
    before = [(logger, logger.level) for logger in loggers]
    handler = _Logs(channels)
    # A logger that passes nothing on is heard itself.
    heard = [
        logger for logger in loggers if logger.name == "root" or not logger.propagate
    ]
    for logger in loggers:
        logger.setLevel(logging.DEBUG if logger in heard else logging.NOTSET)
    for logger in heard:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in heard:
            logger.removeHandler(handler)
        for logger, level in before:
            logger.setLevel(level)


@contextmanager
def _console(channels: Channels) -> Iterator[None]:
    out, err = io.StringIO(), io.StringIO()
    debug = get_debug()
    set_debug(True)
    try:
        with redirect_stdout(out), redirect_stderr(err):
            yield
    finally:
        set_debug(debug)
        channels.add("console with set_debug", out.getvalue() + err.getvalue())


@contextmanager
def _traces(channels: Channels) -> Iterator[None]:
    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            channels.add("traces", body)
            self._answer()

        do_PATCH = do_POST  # noqa: N815 - the name is http.server's

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")

        @override
        def log_message(self, format: str, *args: object) -> None:
            """Keep the console quiet."""

    server = ThreadingHTTPServer((_LOOPBACK, 0), Collector)
    worker = threading.Thread(target=server.serve_forever, daemon=True)
    worker.start()
    client = Client(
        api_url=f"http://{_LOOPBACK}:{server.server_port}",
        api_key="loopback",
        # One plain JSON body per run: a batch is sent later and may be compressed.
        auto_batch_tracing=False,
    )
    try:
        with tracing_context(enabled=True, client=client, project_name="canary"):
            yield
    finally:
        client.cleanup()
        server.shutdown()
        server.server_close()
        worker.join()
