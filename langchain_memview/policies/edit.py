"""Writes a calibration into the text of a policy file and leaves every other line."""

import re
from dataclasses import replace

from langchain_memview.core.parts import EmbeddingScore
from langchain_memview.errors import PolicyError
from langchain_memview.policies.load import policy_from_text

_SECTION = re.compile(r"^scorer:.*\n(?:[ \t]+.*\n)*", re.MULTILINE)
_SLOTS = re.compile(r"^slots:", re.MULTILINE)


def scorer_line(score: EmbeddingScore) -> str:
    """Return the `scorer` section of a policy file, on one line."""
    parts = [
        f'model: "{score.model}"',
        f"midpoint: {score.midpoint}",
        f"slope: {score.slope}",
    ]
    if score.relevance:
        parts.append(f"relevance: {score.relevance}")
    return f"scorer: {{{', '.join(parts)}}}\n"


def with_calibration(text: str, score: EmbeddingScore) -> str:
    """Return the policy's text with this calibration as its `scorer` section.

    Args:
        text: A policy in YAML that can be loaded.
        score: The calibration.

    Raises:
        PolicyError: The section is written in a way that cannot be replaced; nothing
            else than the scorer would have stayed as it is.
    """
    line = scorer_line(score)
    ended = text if text.endswith("\n") else text + "\n"
    if _SECTION.search(ended):
        changed = _SECTION.sub(lambda _: line, ended, count=1)
    else:
        changed = _SLOTS.sub(f"{line}slots:", ended, count=1)
    expected = replace(policy_from_text(text), scorer=score)
    if policy_from_text(changed) != expected:
        raise PolicyError([], f"write this into the policy yourself:\n{line}")
    return changed
