"""What identifies one turn of a graph: its question, its person and its operation.

The operation id is a hash of account, thread and the id of the last human message, so
that retries, resumes, replays and restarted subgraphs come back to the recorded
release. Where that message has no id, LangGraph's task id stands in: stable over
retries of the node, new after a replay, which then costs budget but never privacy.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AnyMessage, HumanMessage
from langgraph.config import get_config
from langgraph.runtime import Runtime

from langchain_memview.core.accounts import hashed
from langchain_memview.core.budget import StandingBudget
from langchain_memview.core.policy import Policy
from langchain_memview.core.transcript import AugmentedTranscript, AugmentedTurn
from langchain_memview.errors import SubjectError


@dataclass(frozen=True)
class GraphTurn:
    """The public inputs of one turn.

    Attributes:
        query: Text of the last human message; empty when there is none.
        subject: The person whose memory may be used.
        operation: Id of the operation.
        history: The questions before this one, as the state has them now. Only where
            epochs count turns: it is trimmed and summarized, so a retry may see another.
    """

    query: str
    subject: str
    operation: str
    history: AugmentedTranscript


def graph_turn(
    policy: Policy,
    messages: Sequence[AnyMessage],
    runtime: Runtime[Any],
    subject_field: str,
    audience: str,
) -> GraphTurn:
    """Return the turn of a running graph.

    Args:
        policy: The policy; another one makes another operation.
        messages: Messages of the state.
        runtime: LangGraph's runtime of the node.
        subject_field: Name of the context field that holds the subject.
        audience: The application that will see the answer.

    Raises:
        SubjectError: There is no subject, or a checkpointer without a `thread_id`.
    """
    subject = subject_of(runtime, subject_field)
    human = next((m for m in reversed(messages) if isinstance(m, HumanMessage)), None)
    query = human.text if human is not None else ""
    turn_id = (human.id if human is not None else None) or _task_id(runtime)
    operation = hashed(subject, policy.fingerprint, audience, _thread_id(), turn_id)
    return GraphTurn(query, subject, operation, _history(policy, messages, human))


def _history(
    policy: Policy, messages: Sequence[AnyMessage], human: HumanMessage | None
) -> AugmentedTranscript:
    if not isinstance(policy.budget, StandingBudget):
        return AugmentedTranscript()
    earlier = (m for m in messages if isinstance(m, HumanMessage) and m is not human)
    return AugmentedTranscript(tuple(AugmentedTurn(m.text) for m in earlier))


def subject_of(runtime: Runtime[Any], field: str) -> str:
    """Return the subject: the authenticated user of a server, else the context's field.

    A server's user wins over the context, because the client writes the context.

    Args:
        runtime: LangGraph's runtime of the node.
        field: Name of the context field that the builder of the graph chose.

    Raises:
        SubjectError: Neither gives a text that is not blank.
    """
    server = getattr(runtime, "server_info", None)
    user = getattr(server, "user", None)
    if user is not None:
        value = getattr(user, "identity", None)
        source = "the authenticated user of the server"
    else:
        context = runtime.context
        value = (
            context.get(field)
            if isinstance(context, Mapping)
            else getattr(context, field, None)
        )
        source = f"context field {field!r}"
    if not isinstance(value, str) or not value.strip():
        raise SubjectError(
            f"{source} names no subject; it decides whose memory is read and whose "
            "ledger is charged, so there is no default. Invoke the graph with "
            f"context={{{field!r}: ...}}, a text that is not blank."
        )
    return value


def _thread_id() -> str:
    configurable = get_config().get("configurable", {})
    thread = configurable.get("thread_id", "-")
    # Savers keep None and '' as if they were threads, which all such runs would share.
    if thread is None or isinstance(thread, bool) or not str(thread).strip():
        raise SubjectError(
            f"the run has the thread_id {thread!r}; all such runs would share one "
            "thread. Invoke the graph with "
            "config={'configurable': {'thread_id': ...}}."
        )
    return str(thread)


def _task_id(runtime: Runtime[Any]) -> str:
    info = runtime.execution_info
    if info is None or not info.task_id:
        raise SubjectError(
            "the turn has no human message with an id and no task id, so a retry could "
            "not be told from a new request."
        )
    return info.task_id
