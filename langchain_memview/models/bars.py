"""Progress bars of other libraries: for terminals, and nowhere else."""

import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from io import StringIO


def bars_on_terminals() -> AbstractContextManager[object]:
    """Return a context in which bars are drawn on a terminal and dropped elsewhere.

    transformers draws some of its bars without asking whether anybody looks.
    """
    return nullcontext() if sys.stderr.isatty() else redirect_stderr(StringIO())
