"""Listening at every channel of a running graph: logs, console, callbacks, traces.

What is recorded is text by channel, so that a test can search it, and can see that a
channel was not empty. The trace collector is a small HTTP server on the loopback
interface to which LangSmith's own client sends what it would send to its service.
"""

import io
import logging
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import get_debug, set_debug
from langsmith import Client, tracing_context
from typing_extensions import override

_LOOPBACK = "127.0.0.1"
_EVENTS = (
    "on_llm_start",
    "on_chat_model_start",
    "on_llm_new_token",
    "on_llm_end",
    "on_llm_error",
    "on_chain_start",
    "on_chain_end",
    "on_chain_error",
    "on_tool_start",
    "on_tool_end",
    "on_tool_error",
    "on_retriever_start",
    "on_retriever_end",
    "on_retriever_error",
    "on_text",
    "on_retry",
    "on_custom_event",
    "on_agent_action",
    "on_agent_finish",
)


class Channels:
    """Texts by the channel in which they were seen."""

    def __init__(self) -> None:
        self._texts: defaultdict[str, list[str]] = defaultdict(list)
        self._lock = threading.Lock()

    def add(self, channel: str, seen: object) -> None:
        """Record what was seen in a channel."""
        if isinstance(seen, bytes | bytearray | memoryview):
            text = bytes(seen).decode("utf-8", "replace")
        else:
            text = seen if isinstance(seen, str) else repr(seen)
        with self._lock:
            self._texts[channel].append(text)

    def texts(self) -> dict[str, str]:
        """Return channel to everything that was seen in it."""
        with self._lock:
            return {channel: "\n".join(seen) for channel, seen in self._texts.items()}


class _Callbacks(BaseCallbackHandler):
    """Records the arguments of every callback."""

    raise_error = True

    def __init__(self, channels: Channels) -> None:
        self._channels = channels
        for event in _EVENTS:
            setattr(self, event, self._recorder(event))

    def _recorder(self, event: str) -> Any:
        def record(*args: object, **kwargs: object) -> None:
            self._channels.add("callbacks", (event, args, kwargs))

        return record


class _Logs(logging.Handler):
    def __init__(self, channels: Channels) -> None:
        super().__init__(logging.DEBUG)
        self._channels = channels
        self.setFormatter(logging.Formatter("%(name)s %(message)s"))

    @override
    def emit(self, record: logging.LogRecord) -> None:
        self._channels.add("logs", (self.format(record), record.args))


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
    logging.getLogger().addHandler(handler)
    for logger in loggers:
        logger.setLevel(logging.DEBUG if logger.name == "root" else logging.NOTSET)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
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
