"""Released views as prompt text; this module cannot name raw memory.

The text is a function of the released views alone. It says how to answer and asks the
model not to guess why.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage, SystemMessage

from langchain_memview.core.views import View
from langchain_memview.errors import WiringError

Placement = Literal["system", "user"]
"""Where the views stand: in the system message, or at the end of the user's last one.

Small local models hardly follow what a system message says."""

Message = TypeVar("Message", bound=BaseMessage)

_HEAD = "How to answer this user (general guidance, not facts about the user):"
_NO_VIEWS = "No personal guidance applies to this request; answer in general terms."


def views_text(views: Mapping[str, View]) -> str:
    """Return the prompt text for the released views, one line per slot.

    Args:
        views: Slot to released view; none gives a fixed neutral sentence.
    """
    if not views:
        return _NO_VIEWS
    return "\n".join([_HEAD, *(f"- {view.say}" for view in views.values())])


def with_views(
    system: SystemMessage | None, views: Mapping[str, View]
) -> SystemMessage:
    """Return the system message with the views' text after what it said.

    A message whose content is a text stays one, because chat templates of local models
    often accept nothing else; a list of content blocks gets one more block.

    Args:
        system: The system message so far, or None.
        views: Slot to released view.
    """
    text = views_text(views)
    return SystemMessage(text) if system is None else _with_text(system, text)


def placed(
    system: SystemMessage | None,
    messages: Sequence[AnyMessage],
    views: Mapping[str, View],
    placement: Placement,
) -> tuple[SystemMessage | None, list[AnyMessage]]:
    """Return system message and messages for the model, with the views in one of them.

    The messages that are given stay as they are. Without a message of the user the
    views are in the system message.

    Args:
        system: The system message so far, or None.
        messages: The conversation.
        views: Slot to released view.
        placement: Where the views go.
    """
    last = max(
        (i for i, message in enumerate(messages) if isinstance(message, HumanMessage)),
        default=None,
    )
    if placement == "system" or last is None:
        return with_views(system, views), list(messages)
    shown = list(messages)
    shown[last] = _with_text(messages[last], views_text(views))
    return system, shown


def known_placement(placement: str) -> Placement:
    """Return the placement if it is one.

    Raises:
        WiringError: It is none.
    """
    known: dict[str, Placement] = {"system": "system", "user": "user"}
    if placement in known:
        return known[placement]
    raise WiringError(f"placement is 'system' or 'user', not {placement!r}.")


def _with_text(message: Message, text: str) -> Message:
    content = message.content
    if isinstance(content, str):
        return message.model_copy(update={"content": f"{content}\n\n{text}".strip()})
    block = {"type": "text", "text": text}
    return message.model_copy(update={"content": [*content, block]})
