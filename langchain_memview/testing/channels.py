"""No private text in any channel of a graph: a helper for the tests of any graph.

`assert_no_canary` runs a graph through every way in which LangGraph shows what it does
and searches all of it for texts that were planted in the memories. It is for the graphs
of users as well: plant a unique text in a memory, call it, and see that it passes, and
that a node which puts a memory into its state makes it fail.
"""

import json
import sqlite3
import warnings
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StreamMode

from langchain_memview.testing.canary import private_text_in
from langchain_memview.testing.listening import Channels, listening

MODES: tuple[StreamMode, ...] = (
    "values",
    "updates",
    "messages",
    "custom",
    "debug",
    "tasks",
    "checkpoints",
)

Graph = CompiledStateGraph[Any, Any, Any, Any]


def assert_no_canary(
    graph: Graph,
    input_: Any,
    config: Mapping[str, Any],
    canaries: Iterable[str],
    *,
    context: object = None,
) -> Mapping[str, int]:
    """Return the number of characters seen in each channel, none of them private.

    The graph runs once for every channel, each time in a thread of its own. Searched
    are all stream modes with subgraphs, event streams, output, state, history, saver
    rows with pending writes, callbacks, traces, logs at DEBUG, the console with
    `set_debug(True)`, representations, and whatever can be reached from an exception.

    Args:
        graph: A compiled graph.
        input_: Its input.
        config: Its config; a `thread_id` gets a suffix for every run.
        canaries: Texts that must not be seen: memories, scores, probabilities.
        context: The run's context.

    Raises:
        AssertionError: A canary was seen; the message names the channels, and not
            what was seen.
    """
    channels, wanted = Channels(), tuple(canaries)
    with listening(channels) as callbacks:
        run = _runs(config, context, callbacks)
        for mode in MODES:
            parts = graph.stream(input_, stream_mode=mode, subgraphs=True, **next(run))
            _record(channels, f"stream {mode}", parts, wanted)
        with _experimental():
            events = graph.stream_events(input_, version="v3", **next(run))
            _record(channels, "events v3", events, wanted)
        last = next(run)
        _record(channels, "output", _once(graph.invoke, input_, last), wanted)
        if graph.checkpointer:
            channels.add("state", graph.get_state(last["config"], subgraphs=True))
            channels.add("history", list(graph.get_state_history(last["config"])))
            _add_saver(channels, graph.checkpointer)
    channels.add("representations", (repr(graph), repr(graph.get_graph())))
    return _searched(channels, wanted)


async def aassert_no_canary(
    graph: Graph,
    input_: Any,
    config: Mapping[str, Any],
    canaries: Iterable[str],
    *,
    context: object = None,
) -> Mapping[str, int]:
    """Return what `assert_no_canary` returns, for the asynchronous channels.

    Args:
        graph: A compiled graph.
        input_: Its input.
        config: Its config; a `thread_id` gets a suffix for every run.
        canaries: Texts that must not be seen.
        context: The run's context.

    Raises:
        AssertionError: A canary was seen; the message names the channels.
    """
    channels, wanted = Channels(), tuple(canaries)
    with listening(channels) as callbacks:
        run = _runs(config, context, callbacks)
        for mode in MODES:
            parts = graph.astream(input_, stream_mode=mode, subgraphs=True, **next(run))
            await _arecord(channels, f"async stream {mode}", parts, wanted)
        events = graph.astream_events(input_, version="v2", **next(run))
        await _arecord(channels, "async events v2", events, wanted)
        with _experimental():
            later = await graph.astream_events(input_, version="v3", **next(run))
            await _arecord(channels, "async events v3", later, wanted)
        last = next(run)
        await _arecord(channels, "async output", _aonce(graph, input_, last), wanted)
        if graph.checkpointer:
            config_ = last["config"]
            state = await graph.aget_state(config_, subgraphs=True)
            channels.add("async state", state)
            history = graph.aget_state_history(config_)
            await _arecord(channels, "async history", history, wanted)
    return _searched(channels, wanted)


def _runs(
    config: Mapping[str, Any], context: object, callbacks: object
) -> Iterator[dict[str, Any]]:
    """Yield the arguments of one run after the other, each in its own thread."""
    for number in count():
        configurable = dict(config.get("configurable", {}))
        if "thread_id" in configurable:
            configurable["thread_id"] = f"{configurable['thread_id']}-{number}"
        yield {
            "config": {
                **config,
                "configurable": configurable,
                "callbacks": [callbacks],
            },
            "context": context,
        }


def _once(
    call: Callable[..., object], input_: object, arguments: dict[str, Any]
) -> Iterator[object]:
    yield call(input_, **arguments)


async def _aonce(
    graph: Graph, input_: object, arguments: dict[str, Any]
) -> AsyncIterable[object]:
    yield await graph.ainvoke(input_, **arguments)


def _record(
    channels: Channels, name: str, parts: Iterable[object], canaries: tuple[str, ...]
) -> None:
    try:
        for part in parts:
            channels.add(name, part)
    except Exception as error:  # noqa: BLE001 - an error is a channel as well
        _add_error(channels, error, canaries)


async def _arecord(
    channels: Channels,
    name: str,
    parts: AsyncIterable[object],
    canaries: tuple[str, ...],
) -> None:
    try:
        async for part in parts:
            channels.add(name, part)
    except Exception as error:  # noqa: BLE001 - an error is a channel as well
        _add_error(channels, error, canaries)


def _add_error(channels: Channels, error: Exception, canaries: tuple[str, ...]) -> None:
    trace = error.__traceback__
    channels.add("exceptions", repr(error))
    # The frames of this module hold the canaries themselves.
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    error.__traceback__ = trace
    if private_text_in(error, canaries):
        # The place is known; the text itself need not be kept to fail the search.
        channels.add("exceptions", canaries[0])


def _add_saver(channels: Channels, saver: Any) -> None:
    """Record every checkpoint with its pending writes, and a database's raw rows."""
    channels.add("saver", list(saver.list(None)))
    connection = getattr(saver, "conn", None)
    if isinstance(connection, sqlite3.Connection):
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        for (table,) in tables.fetchall():
            rows = connection.execute(f'SELECT * FROM "{table}"')  # noqa: S608 - its own
            for row in rows:
                for value in row:
                    channels.add("saver rows", value)


@contextmanager
def _experimental() -> Iterator[None]:
    """Allow the event stream that LangGraph still calls experimental."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*v3 streaming protocol.*")
        yield


def _searched(channels: Channels, canaries: tuple[str, ...]) -> Mapping[str, int]:
    escaped = {json.dumps(canary)[1:-1] for canary in canaries}
    wanted = escaped.union(canaries)
    texts = channels.texts()
    leaking = sorted(
        channel
        for channel, text in texts.items()
        if any(canary in text for canary in wanted)
    )
    if leaking:
        raise AssertionError(f"private text was seen in: {', '.join(leaking)}")
    return {channel: len(text) for channel, text in sorted(texts.items())}
