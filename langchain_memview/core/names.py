"""Names and memories that can be stored: texts, and names that say something."""

from langchain_memview.errors import PositionError, SubjectError

RESERVED = "memview:"
"""What the operation ids of the package itself begin with."""

EVERYTHING = "*"
"""Name of the attribute whose group is the whole memory, if a policy has one."""


def named(what: str, value: object) -> str:
    """Return the value if it is a text that says something.

    Args:
        what: What the value is, for the error: subject, audience or operation.
        value: Anything.

    Raises:
        SubjectError: It is missing, blank or no text that can be stored.
    """
    if not isinstance(value, str) or not value.strip():
        raise SubjectError(
            f"{what} must be a text that is not blank; it decides whose memory is read "
            "and whose ledger is charged, so there is no default."
        )
    if not _is_unicode(value):
        raise SubjectError(
            f"{what} holds half of a surrogate pair, which no database can keep apart "
            "from others; decode it before it is used."
        )
    return value


def storable(memory: object) -> str:
    """Return the memory if it is a text that a backend can store.

    Raises:
        PositionError: It is none. The memory is not in the message.
    """
    if not isinstance(memory, str) or not _is_unicode(memory):
        raise PositionError(
            "a memory must be a text, without halves of surrogate pairs; nothing was "
            "written."
        )
    return memory


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
