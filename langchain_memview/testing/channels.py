"""No private text in any channel of a graph: a helper for the tests of any graph.

`assert_no_canary` runs a graph through every way in which LangGraph shows what it does
and searches all of it for texts that were planted in the memories. It is for the graphs
of users as well: plant a unique text in a memory, call it, and see that it passes, and
that a node which puts a memory into its state makes it fail.
"""

import warnings
from collections import defaultdict
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from typing import Any

from langchain_core.messages import BaseMessage
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import StreamMode

from langchain_memview.testing.left_behind import (
    aadd_saved,
    add_cached,
    add_parts,
    add_pickle,
    add_saved,
)
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
    more: Mapping[str, Callable[[], object]] | None = None,
) -> Mapping[str, int]:
    """Return the number of characters seen in each channel, none of them private.

    The graph runs once for every channel, each time in a thread of its own. Searched
    are all stream modes with subgraphs, event streams, output, state, history, the
    saver's checkpoints, pending writes and errors, its SQLite rows, node-cache entries,
    callbacks, traces, logs at DEBUG, the console with `set_debug(True)`,
    representations, pickles, and whatever can be reached from an exception.

    Args:
        graph: A compiled graph.
        input_: Its input.
        config: Its config; a `thread_id` gets a suffix for every run.
        canaries: Texts that must not be seen: memories, scores, probabilities. A
            number is also looked for in binary.
        context: The run's context.
        more: Channels that only the application knows, such as its metrics: name to a
            function that returns what they show after the runs.

    Raises:
        ValueError: There is no canary, or one is blank.
        AssertionError: A canary was seen; the message names the channels, and not
            what was seen.
    """
    channels, wanted = Channels(), _usable(canaries)
    with listening(channels) as callbacks:
        run = _runs(config, context, callbacks)
        for mode in MODES:
            parts = graph.stream(input_, stream_mode=mode, subgraphs=True, **next(run))
            _record(channels, f"stream {mode}", parts)
        with _experimental():
            events = graph.stream_events(input_, version="v3", **next(run))
            _record(channels, "events v3", events)
        last = next(run)
        _record(channels, "output", _once(graph.invoke, input_, last))
        if graph.checkpointer:
            state = graph.get_state(last["config"], subgraphs=True)
            channels.add("state", state)
            add_pickle(channels, state)
            channels.add("history", list(graph.get_state_history(last["config"])))
            add_saved(channels, graph.checkpointer)
        _add_rest(channels, graph, more or {})
    return _searched(channels, wanted)


async def aassert_no_canary(
    graph: Graph,
    input_: Any,
    config: Mapping[str, Any],
    canaries: Iterable[str],
    *,
    context: object = None,
    more: Mapping[str, Callable[[], object]] | None = None,
) -> Mapping[str, int]:
    """Return what `assert_no_canary` returns, for the asynchronous channels.

    Args:
        graph: A compiled graph.
        input_: Its input.
        config: Its config; a `thread_id` gets a suffix for every run.
        canaries: Texts that must not be seen.
        context: The run's context.
        more: Name to a function that returns what a further channel shows.

    Raises:
        ValueError: There is no canary, or one is blank.
        AssertionError: A canary was seen; the message names the channels.
    """
    channels, wanted = Channels(), _usable(canaries)
    with listening(channels) as callbacks:
        run = _runs(config, context, callbacks)
        for mode in MODES:
            parts = graph.astream(input_, stream_mode=mode, subgraphs=True, **next(run))
            await _arecord(channels, f"async stream {mode}", parts)
        events = graph.astream_events(input_, version="v2", **next(run))
        await _arecord(channels, "async events v2", events)
        with _experimental():
            later = await graph.astream_events(input_, version="v3", **next(run))
            await _arecord(channels, "async events v3", later)
        last = next(run)
        await _arecord(channels, "async output", _aonce(graph, input_, last))
        if graph.checkpointer:
            config_ = last["config"]
            state = await graph.aget_state(config_, subgraphs=True)
            channels.add("async state", state)
            add_pickle(channels, state)
            history = graph.aget_state_history(config_)
            await _arecord(channels, "async history", history)
            await aadd_saved(channels, graph.checkpointer)
        _add_rest(channels, graph, more or {})
    return _searched(channels, wanted)


def _usable(canaries: Iterable[str]) -> tuple[str, ...]:
    wanted = () if isinstance(canaries, str) else tuple(canaries)
    if not wanted or not all(canary.strip() for canary in wanted):
        raise ValueError(
            "canaries must be a list of texts that are not blank; without one, nothing "
            "would be looked for."
        )
    return wanted


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


def _record(channels: Channels, name: str, parts: Iterable[object]) -> None:
    messages: defaultdict[str, str] = defaultdict(str)
    try:
        for part in parts:
            _add_part(channels, name, part, messages)
    except Exception as error:  # noqa: BLE001 - an error is a channel as well
        _add_error(channels, error)
    channels.add(name, "\n".join(messages.values()))


async def _arecord(channels: Channels, name: str, parts: AsyncIterable[object]) -> None:
    messages: defaultdict[str, str] = defaultdict(str)
    try:
        async for part in parts:
            _add_part(channels, name, part, messages)
    except Exception as error:  # noqa: BLE001 - an error is a channel as well
        _add_error(channels, error)
    channels.add(name, "\n".join(messages.values()))


def _add_part(
    channels: Channels, name: str, part: object, messages: defaultdict[str, str]
) -> None:
    """Record a part of a stream; tokens are put together to whole messages as well."""
    channels.add(name, part)
    add_pickle(channels, part)
    match part:
        case (_, (BaseMessage() as token, _)):
            messages[token.id or ""] += token.text


def _add_error(channels: Channels, error: Exception) -> None:
    trace = error.__traceback__
    channels.add("exceptions", repr(error))
    # The frames of this module belong to nobody's graph.
    while trace is not None and trace.tb_frame.f_globals is globals():
        trace = trace.tb_next
    error.__traceback__ = trace
    channels.keep("exceptions", error)


def _add_rest(
    channels: Channels, graph: Graph, more: Mapping[str, Callable[[], object]]
) -> None:
    if graph.cache is not None:
        add_cached(channels, graph.cache)
    add_parts(channels, graph)
    for name, shown in more.items():
        channels.add(name, shown())


@contextmanager
def _experimental() -> Iterator[None]:
    """Allow the event stream that LangGraph still calls experimental."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*v3 streaming protocol.*")
        yield


def _searched(channels: Channels, canaries: tuple[str, ...]) -> Mapping[str, int]:
    if leaking := channels.leaking(canaries):
        raise AssertionError(f"private text was seen in: {', '.join(leaking)}")
    return {channel: len(text) for channel, text in sorted(channels.texts().items())}
