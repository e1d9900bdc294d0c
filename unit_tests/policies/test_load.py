"""A policy file becomes a `Policy`, or one error with everything that is wrong."""

import contextlib
import textwrap
import time
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from langchain_memview.core.budget import OnlineBudget, PreallocatedBudget
from langchain_memview.core.policy import (
    EmbeddingScore,
    Policy,
    ProtectedAttribute,
    ScoreWeights,
    Slot,
)
from langchain_memview.core.views import View
from langchain_memview.errors import PolicyError
from langchain_memview.policies import check_policy_file, load_policy, policy_from_text

EXAMPLE = Path(__file__).parents[2] / "examples/meal_policy.yaml"


def twin() -> Policy:
    return Policy(
        name="meal-planner",
        layout={
            1: "health",
            2: "food",
            3: "food",
            4: "finance",
            5: "finance",
            6: "work",
        },
        attributes={
            "type2_diabetes": ProtectedAttribute({1, 2, 3}, cap=2.0),
            "debt": ProtectedAttribute({3, 4, 5}, cap=2.0),
        },
        budget=OnlineBudget(3),
        slots=[
            Slot(
                "food",
                when=["dinner", "lunch", "breakfast", "snack", "meal", "cook", "dish"],
                views={
                    "generic": "Suggest broadly appealing dishes.",
                    "lower_sugar": View(
                        "Favour lower-sugar, higher-fibre dishes.",
                        cues=["carb", "sugar", "diabet"],
                    ),
                    "high_protein": View(
                        "Favour high-protein dishes.", cues=["protein", "gym"]
                    ),
                    "comfort": View(
                        "Favour familiar comfort dishes.",
                        cues=["comfort", "pasta", "dessert"],
                    ),
                },
            ),
            Slot(
                "finance",
                when=["affordable", "cheap", "budget", "grocery"],
                views={
                    "generic": "Assume an ordinary grocery budget.",
                    "strict_budget": View(
                        "Keep the meal very cheap.",
                        cues=["owes", "minimum", "loan", "cheap"],
                    ),
                    "premium": View(
                        "Premium ingredients are fine.",
                        cues=["bonus", "treats", "debt-free"],
                    ),
                },
            ),
            Slot(
                "health",
                when=["healthy", "energy", "feel"],
                views={
                    "generic": "Give general healthy-eating advice.",
                    "blood_sugar": View(
                        "Give blood-sugar-conscious advice.",
                        cues=["diabet", "metformin", "glucose"],
                    ),
                    "heart": View(
                        "Give heart-healthy advice.",
                        cues=["cholesterol", "blood pressure"],
                    ),
                },
            ),
            Slot(
                "work",
                when=["weeknight", "after work", "quick"],
                views={
                    "generic": "No timing constraint.",
                    "quick": View(
                        "Keep cooking under 25 minutes.", cues=["commute", "home at"]
                    ),
                },
            ),
        ],
    )


def test_the_example_equals_its_python_twin() -> None:
    policy = load_policy(EXAMPLE)
    assert policy == twin()
    assert policy.fingerprint == twin().fingerprint
    assert policy.lineage == twin().lineage


def test_every_optional_key_reaches_the_policy() -> None:
    text = textwrap.dedent("""
        version: 1
        name: shop
        attributes:
          debt: {positions: [money], cap: "2/3"}
          diet: {positions: [3], cap: 1}
        budget: {mode: preallocated, planned: {debt: 4, diet: 2}}
        scorer: {relevance: 0.4, compatibility: "0.4", specificity: 0.2}
        sensitivity: 1.0
        scope: audience
        when_full: oldest
        slots:
          money:
            capacity: 2
            read: [1]
            charge: [debt, diet]
            views: {generic: As usual., cheap: {say: Cheap.}}
          food:
            capacity: 1
            views: {generic: Any., light: {say: Light., cues: [salad]}}
        """)
    policy = policy_from_text(text)
    assert policy == Policy(
        name="shop",
        attributes={
            "debt": ProtectedAttribute([1, 2], Fraction(2, 3)),
            "diet": ProtectedAttribute(["food"], 1),
        },
        slots=[
            Slot(
                "money",
                views={"generic": "As usual.", "cheap": "Cheap."},
                read=[1],
                charge=["diet", "debt"],
            ),
            Slot("food", views={"generic": "Any.", "light": View("Light.", ["salad"])}),
        ],
        budget=PreallocatedBudget({"debt": 4, "diet": 2}),
        layout={1: "money", 2: "money", 3: "food"},
        scorer=ScoreWeights(),
        sensitivity=1,
        scope="audience",
        when_full="oldest",
    )
    assert policy.charge_set(policy.slots[0]) == ("debt", "diet")


def test_the_error_holds_every_problem_and_its_message_is_the_report() -> None:
    text = (
        EXAMPLE.read_text("utf-8").replace("6: work", "6: wrok").replace("2.0", "two")
    )
    with pytest.raises(PolicyError) as caught:
        policy_from_text(text, "meals.yaml")
    error = caught.value
    codes = [problem.code for problem in error.problems if problem.level == "error"]
    assert codes == ["MV106", "MV304", "MV304"]
    lines = str(error).splitlines()
    assert lines[0].startswith("meals.yaml:4:66 error[MV106] ")
    assert lines[1] == "  fix: did you mean 'work'?"


# ---------------------------------------------------------------- files that are no text


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "no such file or directory"),
        (b"name: \xff", "it is not UTF-8 text (byte 7)\n  fix: save it as UTF-8"),
        (
            b"#" * 1_000_001,
            "it is larger than 1 MB\n  fix: a policy of 50 lines is a long one",
        ),
    ],
)
def test_an_unreadable_file_is_one_clear_problem(
    tmp_path: Path, content: bytes | None, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    if content is not None:
        Path("policy.yaml").write_bytes(content)
    text = f"policy.yaml error[MV108] the file cannot be read: {reason}"
    assert [str(f) for f in check_policy_file("policy.yaml")] == [text]
    with pytest.raises(PolicyError) as caught:
        load_policy("policy.yaml")
    assert str(caught.value) == text


def test_a_folder_and_a_name_that_no_file_has_are_problems_too(tmp_path: Path) -> None:
    for path in (tmp_path, "a\0b"):
        (finding,) = check_policy_file(path)
        assert finding.problem.code == "MV108"


def test_a_byte_order_mark_and_windows_line_ends_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "policy.yaml"
    text = EXAMPLE.read_text("utf-8").replace("\n", "\r\n")
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_policy(path) == twin()


# ------------------------------------------------------------------- text that is no policy


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("", "policy.yaml:1:1 error[MV105] missing section 'version'"),
        ("- 1", "policy.yaml:1:1 error[MV101] a policy must be a mapping, got [1]"),
        (
            "just text",
            "policy.yaml:1:1 error[MV101] a policy must be a mapping, got 'just",
        ),
        (
            "a: 1\n---\nb: 2",
            "policy.yaml:2:1 error[MV100] not valid YAML: but found anot",
        ),
        ("a:\n\tb: 1", "policy.yaml:2:1 error[MV100] not valid YAML: found character"),
        ("a: \x07", "policy.yaml:1:4 error[MV100] not valid YAML: a control character"),
        ("a: b\n\nc\x07: d", "policy.yaml:3:2 error[MV100] not valid YAML: a control"),
        (
            "a: &x 1\nb: *x",
            "policy.yaml:2:4 error[MV107] an alias (*name) hides a value",
        ),
        ("a: &x [*x]", "policy.yaml:1:8 error[MV107] an alias (*name) hides a value"),
        ("name: !!binary aGk=", "the tag '!!binary' has no place in a policy"),
        ("name: !!set {a, b}", "the tag '!!set' has no place in a policy"),
        ("name: !!python/object/apply:os.system [id]", "has no place in a policy"),
        ("? [a, b]\n: c", "policy.yaml:1:3 error[MV101] a list or mapping is no name"),
        ("<<: {version: 1}", "policy.yaml:1:1 error[MV104] unknown key '<<'"),
        (
            "? &x\n: 1",
            "policy.yaml:1:3 error[MV103] key  is read by YAML as the empty val",
        ),
    ],
)
def test_text_that_is_no_policy_is_refused_in_words(text: str, first: str) -> None:
    with pytest.raises(PolicyError) as caught:
        policy_from_text(text)
    assert first in str(caught.value)


def test_dates_are_text_and_numbers_too_long_for_python_stay_text() -> None:
    text = EXAMPLE.read_text("utf-8").replace("[carb, sugar, diabet]", "[2019-01-01]")
    assert policy_from_text(text).slots[0].vocabulary["lower_sugar"].cues == (
        "2019-01-01",
    )
    with pytest.raises(PolicyError, match="k must be a whole number"):
        policy_from_text(text.replace("k: 3", "k: " + "9" * 5000))


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        (
            "k: 3}",
            "k: 3, planned: {debt: 1}}",
            "'planned'\n  fix: known keys are fallback, k, mode",
        ),
        ("slots:", "scorer: {relevanc: 1}\nslots:", "fix: did you mean 'relevance'?"),
        ("online, k: 3", "preallocated, plan: {}", "fix: did you mean 'planned'?"),
        ("  food:", "  food:\n    wen: [a]", "'wen'\n  fix: did you mean 'when'?"),
    ],
)
def test_an_unknown_key_is_compared_with_the_keys_of_its_place(
    old: str, new: str, text: str
) -> None:
    with pytest.raises(PolicyError) as caught:
        policy_from_text(EXAMPLE.read_text("utf-8").replace(old, new))
    assert text in str(caught.value)


def test_a_word_that_yaml_reads_as_a_boolean_is_reported_once_where_it_is_wrong() -> (
    None
):
    text = EXAMPLE.read_text("utf-8").replace("cap: 2.0}\n  debt", "cap: yes}\n  debt")
    with pytest.raises(
        PolicyError, match=r"MV304\] cap .* must be a number, got 'yes'\n"
    ):
        policy_from_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[" * 500_000,
        "{" * 500_000,
        "".join(f"{' ' * i}a:\n" for i in range(1000)),
        "a: [" + "x, " * 300_000 + "]",
        "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(100)),
        "x" * 1_000_000,
        "a: '" + "x" * 999_000 + "'",
        "k" * 999_000 + ": 1",
    ],
    ids=["lists", "mappings", "indented", "long", "aliases", "word", "text", "key"],
)
def test_a_hostile_file_is_refused_within_seconds(text: str) -> None:
    start = time.perf_counter()
    with pytest.raises(PolicyError, match="error"):
        policy_from_text(text)
    assert time.perf_counter() - start < 10


PIECES = st.sampled_from(
    [
        "attributes:", "slots:", "version: 1", "layout:", "budget:", "positions", "cap",
        "views", "generic", "cues", "{", "}", "[", "]", ":", ",", "\n", "\n  ", "\n    ",
        " ", "- ", "off", "~", "1", "2.5", '"', "'", "#", "&a", "*a", "!!str", "|", "é",
        "\x00", "\t", "---", "? ", "1: food",
    ]
)  # fmt: skip


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=80))
def test_any_text_gives_a_policy_or_a_policy_error(text: str) -> None:
    with pytest.raises(PolicyError):
        policy_from_text(text)


@given(st.data())
def test_the_example_with_any_value_replaced_is_a_policy_or_a_policy_error(
    data: st.DataObject,
) -> None:
    document = yaml.safe_load(EXAMPLE.read_text("utf-8"))
    place = document
    while True:
        keys = list(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            break
        place = place[key]
    leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
    place[key] = data.draw(
        st.recursive(
            leaf,
            lambda inner: (
                st.lists(inner, max_size=3) | st.dictionaries(leaf, inner, max_size=3)
            ),
            max_leaves=5,
        )
    )
    with contextlib.suppress(PolicyError):
        policy_from_text(yaml.safe_dump(document, allow_unicode=True))


def test_an_embedding_policy_is_equal_in_yaml_and_in_python() -> None:
    text = """
version: 1
name: notes
attributes: {debt: {positions: [money], cap: 2}}
budget: {mode: online, k: 3}
scorer: {model: minilm, midpoint: 0.41, slope: 12.5, relevance: 0.2}
slots:
  money:
    about: What things cost.
    when: [pay]
    capacity: 3
    views:
      generic: Assume an ordinary budget.
      cheap: {say: Keep it cheap., support: The user owes money.}
"""
    policy = policy_from_text(text)
    assert policy == Policy(
        "notes",
        {"debt": ProtectedAttribute(["money"], cap=2)},
        [
            Slot(
                "money",
                about="What things cost.",
                when=["pay"],
                capacity=3,
                views={
                    "generic": "Assume an ordinary budget.",
                    "cheap": View("Keep it cheap.", support="The user owes money."),
                },
            )
        ],
        OnlineBudget(3),
        scorer=EmbeddingScore("minilm", "0.41", "12.5", "0.2"),
    )
    assert policy_from_text(text.replace("owes", "has")).fingerprint != (
        policy.fingerprint
    )
    with pytest.raises(PolicyError, match="did you mean 'midpoint'"):
        policy_from_text(text.replace("midpoint", "midpiont"))
