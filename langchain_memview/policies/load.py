"""From a policy file to a `Policy`, or to every problem of it with line and column."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typing_extensions import override

from langchain_memview.core.budget import (
    OnlineBudget,
    PreallocatedBudget,
    StandingBudget,
)
from langchain_memview.core.checks import check_policy
from langchain_memview.core.checks.plain import mistake, shown
from langchain_memview.core.epochs import OneEpoch, epochs_of
from langchain_memview.core.policy import (
    EmbeddingScore,
    Policy,
    ProtectedAttribute,
    ScoreWeights,
    Slot,
)
from langchain_memview.core.views import View
from langchain_memview.errors import PolicyError, Problem
from langchain_memview.policies.shape_problems import meant_path, shape_problems
from langchain_memview.policies.source import Source, parse

LARGEST_FILE = 1_000_000
"""Bytes; a policy is read by people, and a parser should not be kept busy for minutes."""

UNREADABLE = "MV108"
"""Code of the one problem that is about the file and not about what it says."""


@dataclass(frozen=True)
class Finding:
    """A problem and where it is in which file.

    Attributes:
        problem: What is wrong, and what to type.
        path: The file's name as it was given.
        line: Line, from 1; 0 for the file as a whole.
        col: Column, from 1; 0 for the file as a whole.
    """

    problem: Problem
    path: str
    line: int
    col: int

    @override
    def __str__(self) -> str:
        """Return `file:line:col level[CODE] text`, and the fix on a second line."""
        problem = self.problem
        where = f"{self.path}:{self.line}:{self.col}" if self.line else self.path
        line = f"{where} {problem.level}[{problem.code}] {problem.text}"
        return f"{line}\n  fix: {problem.fix}" if problem.fix else line


def load_policy(path: str | Path) -> Policy:
    """Return the policy that a YAML file describes.

    Args:
        path: The file, UTF-8, at most 1 MB.

    Raises:
        PolicyError: The file cannot be read or the policy cannot be used; lists every
            problem with line and column. Policies are public, so it may quote them.
    """
    text = _read(path)
    if isinstance(text, Finding):
        raise PolicyError([text.problem], str(text))
    return policy_from_text(text, str(path))


def policy_from_text(text: str, name: str = "policy.yaml") -> Policy:
    """Return the policy that a YAML text describes.

    Args:
        text: The policy in YAML.
        name: File name for messages.

    Raises:
        PolicyError: As in `load_policy`.
    """
    source = parse(text)
    findings = _findings(source, name)
    if any(finding.problem.level == "error" for finding in findings):
        report = "\n".join(str(finding) for finding in findings)
        raise PolicyError([finding.problem for finding in findings], report)
    return _policy(source.document)


def check_policy_file(path: str | Path) -> list[Finding]:
    """Return every finding about a policy file, in the order of its lines.

    Args:
        path: The file; if it cannot be read, that is the only finding.
    """
    text = _read(path)
    if isinstance(text, Finding):
        return [text]
    return _findings(parse(text), str(path))


def _read(path: str | Path) -> str | Finding:
    reason, fix = "", ""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
        # A byte order mark is what some editors call UTF-8.
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        reason, fix = (
            f"it is not UTF-8 text (byte {error.start + 1})",
            "save it as UTF-8",
        )
    except OSError as error:
        reason = (error.strerror or "it cannot be opened").lower()
    except ValueError:
        reason = "its name has a null character"
    else:
        if len(content) <= LARGEST_FILE:
            return text
        reason, fix = "it is larger than 1 MB", "a policy of 50 lines is a long one"
    text = f"the file cannot be read: {reason}"
    return Finding(mistake(UNREADABLE, (), text, fix), str(path), 0, 0)


def _findings(source: Source, name: str) -> list[Finding]:
    found = list(source.problems)
    found += [(p, source.position(p)) for p in _problems(source)]
    found.sort(key=lambda item: item[1])
    return [Finding(problem, name, line, col) for problem, (line, col) in found]


def _problems(source: Source) -> Iterator[Problem]:
    """Yield the problems of the document, one for each place and mistake."""
    document = {} if source.document is None else source.document
    if source.document is None and source.problems:
        return
    if not isinstance(document, Mapping):
        text = f"a policy must be a mapping, got {shown(document)}"
        yield mistake("MV101", (), text, "start with version: 1")
        return
    checked = check_policy(document)
    shape = list(shape_problems(document, source.places))
    misspelled = (p.path for p in shape if p.code == "MV104")
    meant = {meant_path(path, document) for path in misspelled} - set(source.places)
    for problem in checked:
        # A misspelled key is reported once, not as a missing one as well.
        prefixes = {problem.path[:n] for n in range(1, len(problem.path) + 1)}
        if meant.isdisjoint(prefixes):
            yield problem
    judged = {p.path for p in checked if p.level == "error"}
    yield from (p for p in shape if p.code == "MV104" or p.path not in judged)


def _policy(document: Mapping[str, Any]) -> Policy:
    budget, scorer = document["budget"], document.get("scorer")
    return Policy(
        name=document["name"],
        attributes={
            name: ProtectedAttribute(tuple(fields.get("positions", ())), fields["cap"])
            for name, fields in document["attributes"].items()
        },
        slots=[_slot(name, fields) for name, fields in document["slots"].items()],
        budget=_budget(budget),
        layout=document.get("layout"),
        scorer=None if scorer is None else _scorer(scorer),
        sensitivity=document.get("sensitivity"),
        scope=document.get("scope") or "subject",
        when_full=document.get("when_full") or "refuse",
    )


def _budget(
    fields: Mapping[str, Any],
) -> OnlineBudget | PreallocatedBudget | StandingBudget:
    match fields["mode"]:
        case "online":
            return OnlineBudget(fields["k"], fields.get("fallback", "generic"))
        case "preallocated":
            return PreallocatedBudget(
                fields["planned"], fields.get("fallback", "generic")
            )
    epochs = epochs_of(fields.get("epochs", "never"))
    return StandingBudget(
        epochs or OneEpoch(), fields.get("threshold", "0.5"), fields.get("top", 1)
    )


def _scorer(fields: Mapping[str, Any]) -> ScoreWeights | EmbeddingScore:
    return EmbeddingScore(**fields) if "model" in fields else ScoreWeights(**fields)


def _slot(name: str, fields: Mapping[str, Any]) -> Slot:
    return Slot(
        name,
        when=fields.get("when", ()),
        views={
            view: say if isinstance(say, str) else View(**say)
            for view, say in fields["views"].items()
        },
        capacity=fields.get("capacity"),
        read=fields.get("read"),
        charge=fields.get("charge", ()),
        facet=fields.get("facet", ""),
        about=fields.get("about", ""),
    )
