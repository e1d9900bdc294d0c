"""Every item of the paper has exactly one home, and the README's table says which.

A module claims its items in the first paragraph of its docstring. The table in the
README is generated from those claims: `python unit_tests/test_paper_map.py` writes it.
"""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "langchain_memview"
START, END = "<!-- paper map: generated -->", "<!-- end of paper map -->"

ITEMS = (
    [f"Eq. ({number})" for number in range(1, 10)]
    + [f"C{number}" for number in range(1, 7)]
    + [
        "Algorithm 1",
        "Definition 1",
        "Lemma 1",
        "Theorem 1",
        "Corollary 1",
        "Proposition 1",
        "B.4",
    ]
)


def claims(docstring: str) -> set[str]:
    """Return the items that the first paragraph of a docstring names."""
    first = docstring.split("\n\n")[0]
    found = set(re.findall(r"\bC[1-6]\b|\bB\.4\b", first))
    found |= set(
        re.findall(
            r"\b(?:Algorithm|Definition|Lemma|Theorem|Corollary|Proposition) 1\b", first
        )
    )
    for equations in re.findall(r"\bEqs?\. ((?:\(\d\)(?:, | and )?)+)", first):
        found |= {f"Eq. ({number})" for number in re.findall(r"\d", equations)}
    return found


def homes() -> dict[str, list[str]]:
    """Return item to the modules that claim it."""
    found: dict[str, list[str]] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        docstring = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        for item in claims(docstring):
            found.setdefault(item, []).append(path.relative_to(PACKAGE).as_posix())
    return found


def table() -> str:
    """Return the paper map as a Markdown table."""
    found = homes()
    rows = [f"| {item} | `{found[item][0]}` |" for item in ITEMS]
    return "\n".join(["| paper | module |", "|---|---|", *rows])


def test_every_item_of_the_paper_has_exactly_one_home():
    found = homes()
    assert {item: modules for item, modules in found.items() if len(modules) > 1} == {}
    assert set(ITEMS) - set(found) == set()
    assert set(found) - set(ITEMS) == set()


def test_the_claims_are_read_as_they_are_written():
    line = "Bounds: Theorem 1, Eqs. (3), (8) and (9), B.4.\n\nAlso C5."
    assert claims(line) == {"Theorem 1", "Eq. (3)", "Eq. (8)", "Eq. (9)", "B.4"}


def test_the_readme_holds_the_generated_table():
    readme = (ROOT / "README.md").read_text("utf-8")
    held = readme.split(START)[1].split(END)[0].strip()
    assert held == table(), "run: python unit_tests/test_paper_map.py"


if __name__ == "__main__":
    text = (ROOT / "README.md").read_text("utf-8")
    head, rest = text.split(START)
    tail = rest.split(END)[1]
    new = f"{head}{START}\n\n{table()}\n\n{END}{tail}"
    (ROOT / "README.md").write_text(new, "utf-8")
