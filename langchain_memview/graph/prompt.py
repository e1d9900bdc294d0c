"""Released views as prompt text; this module cannot name raw memory.

The text is a function of the released views alone. It says how to answer and asks the
model not to guess why.
"""

from collections.abc import Mapping

from langchain_core.messages import SystemMessage

from langchain_memview.core.views import View

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
    if system is None:
        return SystemMessage(text)
    content = system.content
    if isinstance(content, str):
        return system.model_copy(update={"content": f"{content}\n\n{text}".strip()})
    block = {"type": "text", "text": text}
    return system.model_copy(update={"content": [*content, block]})
