"""Any Python text as PostgreSQL text, and back: reversible, so names never meet.

PostgreSQL stores neither NUL nor halves of surrogate pairs. Both are escaped, and so is
the backslash that escapes them; every other text is stored as it is.
"""

import re

_ESCAPED = re.compile(r"\\(?:u([0-9a-f]{4})|(.))", re.DOTALL)


def stored(text: str) -> str:
    """Return the text as it is stored."""
    escaped = text.replace("\\", "\\\\").replace("\x00", "\\0")
    return escaped.encode("utf-8", "backslashreplace").decode()


def restored(text: str) -> str:
    """Return the text that was stored."""
    if "\\" not in text:
        return text
    return _ESCAPED.sub(_character, text)


def _character(match: re.Match[str]) -> str:
    if match[1]:
        return chr(int(match[1], 16))
    return "\x00" if match[2] == "0" else match[2]
