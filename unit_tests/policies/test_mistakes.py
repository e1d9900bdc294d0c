"""The mistakes people make in a policy file, with the exact text that each one prints.

Every file has one mistake more, a cap of 9 in its last attribute, to show that a
mistake does not hide what else is wrong.
"""

from pathlib import Path

import pytest

from langchain_memview.errors import PolicyError
from langchain_memview.policies import check_policy_file, policy_from_text
from langchain_memview.policies.load import Finding

GOOD = (Path(__file__).parents[2] / "examples/meal_policy.yaml").read_text("utf-8")
SECOND = "  rent: {positions: [5], cap: 9}\n"
SECOND_TEXT = (
    "warning[MV305] cap 9 lets an observer's odds for 'rent' change 8,103-fold: a 10 in "
    "100 suspicion can become more than 99 in 100"
)

# Name, text in the good file, its replacement, and what is printed (without notes).
MISTAKES = [
    (
        "a repeated key",
        "  debt:           {",
        "  type2_diabetes: {",
        "policy.yaml:7:3 error[MV102] 'type2_diabetes' appears twice under attributes "
        "(first on line 6); YAML would silently keep the last one\n"
        "  fix: merge the two entries",
    ),
    (
        "a repeated section",
        "version: 1\n",
        "version: 1\nversion: 1\n",
        "policy.yaml:3:1 error[MV102] 'version' appears twice at the top level "
        "(first on line 2); YAML would silently keep the last one\n"
        "  fix: merge the two entries",
    ),
    (
        "a boolean as a name",
        "      heart:     ",
        "      off:       ",
        'policy.yaml:29:7 error[MV103] key off is read by YAML as the boolean False\n  fix: quote it: "off"',
    ),
    (
        "null as a name",
        "      heart:     ",
        "      null:      ",
        "policy.yaml:29:7 error[MV103] key null is read by YAML as the empty value\n"
        '  fix: quote it: "null"',
    ),
    (
        "a boolean as a cue",
        "cues: [protein, gym]",
        "cues: [protein, on]",
        "policy.yaml:16:72 error[MV103] value on is read by YAML as the boolean True\n"
        '  fix: quote it: "on"',
    ),
    (
        "null as a cue",
        "cues: [protein, gym]",
        "cues: [protein, ~]",
        "policy.yaml:16:72 error[MV103] value ~ is read by YAML as the empty value\n"
        '  fix: quote it: "~"',
    ),
    (
        "an unknown key",
        "budget: {mode: online, k: 3}",
        "budgte: {mode: online, k: 3}",
        "policy.yaml:9:1 error[MV104] unknown key 'budgte'\n"
        "  fix: did you mean 'budget'?",
    ),
    (
        "an unknown key that is like no other",
        "cap: 2.0}\n  debt",
        "cap: 2.0, notes: 7}\n  debt",
        "policy.yaml:6:52 error[MV104] unknown key 'notes'\n"
        "  fix: known keys are cap, positions",
    ),
    (
        "a misspelled key of a view",
        "{say: Favour high-protein",
        "{text: Favour high-protein",
        "policy.yaml:16:21 error[MV214] view 'food.high_protein' says nothing\n"
        "  fix: give it one sentence, or delete it\n"
        "policy.yaml:16:22 error[MV104] unknown key 'text'\n"
        "  fix: known keys are cues, say, support",
    ),
    (
        "a section left out",
        "budget: {mode: online, k: 3}          # each charged release costs min(cap)/k\n",
        "",
        "policy.yaml:1:1 error[MV105] missing section 'budget'\n"
        "  fix: add budget: {mode: online, k: 3}",
    ),
    (
        "a slot misspelled in the layout",
        "6: work}",
        "6: wrok}",
        "policy.yaml:4:66 error[MV106] position 6 belongs to slot 'wrok', which is not "
        "defined under slots\n  fix: did you mean 'work'?\n"
        "policy.yaml:30:3 warning[MV502] slot 'work' reads no position; it always "
        "returns its generic view",
    ),
    (
        "a text where a list belongs",
        "cues: [protein, gym]",
        "cues: protein",
        "policy.yaml:16:62 error[MV101] 'cues' must be a list, got 'protein'",
    ),
    (
        "a number where text belongs",
        "cues: [protein, gym]",
        "cues: [protein, 24]",
        "policy.yaml:16:72 error[MV101] item 2 of cues must be text, got 24\n"
        '  fix: quote it: "24"',
    ),
    (
        "no generic view",
        "      generic:       Assume an ordinary grocery budget.\n",
        "",
        "policy.yaml:20:5 error[MV201] slot 'finance' has no 'generic' view; it is what "
        "the app gets when a ledger is at its cap, so it must exist\n"
        "  fix: add   generic: <one neutral sentence>   as the first view",
    ),
    (
        "a placeholder",
        "say: Keep the meal very cheap.",
        'say: "Stay under {weekly_budget}."',
        "policy.yaml:22:22 error[MV202] view 'finance.strict_budget' contains a "
        "placeholder: a view must be the same text for every user (contract C1)\n"
        "  fix: write it as a fixed instruction; put user facts in memory, not in views",
    ),
    (
        "an attribute that protects nothing",
        "{positions: [3, 4, 5], cap: 2.0}",
        "{positions: [], cap: 2.0}",
        "policy.yaml:7:31 error[MV302] attribute 'debt' protects no positions, so "
        "nothing would ever be charged to it",
    ),
    (
        "a single view",
        "      quick:   {say: Keep cooking under 25 minutes., cues: [commute, home at]}\n",
        "",
        "policy.yaml:30:3 warning[MV206] slot 'work' has a single view, so nothing is "
        "selected; it is released free of charge",
    ),
    (
        "a view that states a fact",
        '"Favour lower-sugar, higher-fibre dishes."',
        '"The user has type-2 diabetes."',
        "policy.yaml:15:21 warning[MV203] view 'food.lower_sugar' states the protected "
        "attribute 'type2_diabetes' as a fact (\"The user has …\")\n"
        "  fix: say how to answer, not what is true, e.g. \"Give blood-sugar-conscious "
        'advice."',
    ),
    (
        "reading by similarity",
        "    when: [healthy, energy, feel]\n",
        "    when: [healthy, energy, feel]\n    read: semantic\n",
        "policy.yaml:26:11 error[MV204] slot 'health' chooses memories by content "
        "similarity; which memories are read then depends on their content and the "
        "guarantee does not cover it (contract C4)\n"
        "  fix: read fixed positions (the default), or register a private retriever and "
        "declare its cost",
    ),
    (
        "an incomplete charge set",
        "  food:\n",
        "  food:\n    charge: [debt]\n",
        "policy.yaml:12:13 error[MV205] slot 'food' reads positions of debt, "
        "type2_diabetes but charges only debt; leaving out type2_diabetes makes its "
        "ledger wrong (contract C2)\n"
        "  fix: delete 'charge:' (the right set is derived) or add the missing attributes",
    ),
    (
        "two views of one text",
        "say: Favour high-protein dishes.",
        "say: Suggest broadly appealing dishes.",
        "policy.yaml:16:21 warning[MV207] views 'food.generic' and 'food.high_protein' "
        "say the same\n"
        "  fix: delete one: a selection between equal texts costs and says nothing",
    ),
    (
        "a cue of an omitted group",
        "cues: [commute, home at]",
        "cues: [commute, metformin]",
        "policy.yaml:34:70 warning[MV208] cue 'metformin' of slot 'work' points at "
        "type2_diabetes, which protects none of the positions [6] that the slot reads; "
        "if they can hint at it, it leaks uncharged (contract C2)\n"
        "  fix: add the positions to type2_diabetes, or drop the cue",
    ),
    (
        "a position outside the layout",
        "[3, 4, 5]",
        "[3, 4, 7]",
        "policy.yaml:7:38 error[MV301] attribute 'debt' protects position 7, but the "
        "layout has positions 1 to 6",
    ),
    (
        "no cap",
        "{positions: [3, 4, 5], cap: 2.0}",
        "{positions: [3, 4, 5]}",
        "policy.yaml:7:3 error[MV303] attribute 'debt' has no cap; a cap is the whole "
        "guarantee\n  fix: start with cap: 2.0 (an observer's odds can change at most "
        "7.4-fold)",
    ),
    (
        "a cap of zero",
        "[3, 4, 5], cap: 2.0",
        "[3, 4, 5], cap: 0",
        "policy.yaml:7:47 error[MV304] cap of 'debt' is 0: it must be positive\n"
        "  fix: to release nothing about it, remove the slots that read its positions",
    ),
    (
        "a cap in words",
        "[1, 2, 3], cap: 2.0",
        "[1, 2, 3], cap: two",
        "policy.yaml:6:47 error[MV304] cap of 'type2_diabetes' must be a number, got "
        "'two'",
    ),
    (
        "a large cap",
        "[3, 4, 5], cap: 2.0",
        "[3, 4, 5], cap: 8",
        "policy.yaml:7:47 warning[MV305] cap 8 lets an observer's odds for 'debt' change "
        "2,981-fold: a 10 in 100 suspicion can become more than 99 in 100\n"
        "  fix: caps of 1 to 4 keep it between 23 and 86 in 100",
    ),
    (
        "a sensitivity below the bound of the paper's scorer",
        "slots:",
        "scorer: {relevance: 0.4, compatibility: 0.4, specificity: 0.2}\n"
        "sensitivity: 0.3\nslots:",
        "policy.yaml:11:14 error[MV401] sensitivity 0.3 is below the bound 0.6 of this "
        "scorer (compatibility 0.4 + specificity 0.2), so each release would cost more "
        "than its ε\n  fix: remove it (derived), or set it to 0.6 or more",
    ),
    (
        "a budget of no whole number",
        "k: 3}",
        "k: 2.5}",
        "policy.yaml:9:27 error[MV404] k must be a whole number of at least 1, got 2.5\n"
        "  fix: k: 3 lets each attribute be charged three times",
    ),
    (
        "a budget mode that does not exist",
        "mode: online",
        "mode: daily",
        "policy.yaml:9:16 error[MV405] budget mode 'daily' is not known\n"
        "  fix: use online, preallocated or standing",
    ),
    (
        "no planned count",
        "{mode: online, k: 3}",
        "{mode: preallocated, planned: {debt: 4, rent: 4}}",
        "policy.yaml:9:30 error[MV406] attribute 'type2_diabetes' has no planned number "
        "of charges\n  fix: add type2_diabetes: <how often its slots are expected to be "
        "charged>   under planned",
    ),
    (
        "a slot without positions",
        "    when: [weeknight, after work, quick]\n",
        "    read: []\n",
        "policy.yaml:30:3 warning[MV502] slot 'work' reads no position; it always "
        "returns its generic view",
    ),
]  # fmt: skip


def findings(
    tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch
) -> list[Finding]:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(text, "utf-8")
    return check_policy_file("policy.yaml")


@pytest.mark.parametrize(
    ("old", "new", "printed"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_a_mistake_is_printed_with_its_place_and_hides_no_other(
    tmp_path: Path, old: str, new: str, printed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # One attribute more, below the two of the example.
    good = GOOD.replace("\nbudget: {", f"\n{SECOND}budget: {{")
    assert good.count(old) == 1
    found = findings(tmp_path, good.replace(old, new), monkeypatch)
    texts = [str(f) for f in found if f.problem.level != "note"]
    others = [text for text in texts if SECOND_TEXT in text]
    assert len(others) == 1
    assert "\n".join(text for text in texts if text not in others) == printed


def test_yaml_that_does_not_parse_is_one_problem_with_the_likely_fix() -> None:
    text = GOOD.replace("generic: No timing constraint.", "generic: No: constraint.")
    with pytest.raises(PolicyError) as caught:
        policy_from_text(text)
    assert str(caught.value) == (
        "policy.yaml:32:18 error[MV100] not valid YAML: mapping values are not allowed "
        "here\n  fix: a view text with a colon or a leading quote needs quotes around it"
    )


def test_a_placeholder_without_quotes_in_braces_is_no_yaml_in_the_first_place() -> None:
    text = GOOD.replace("say: Keep the meal very cheap.", "say: Under {weekly_budget}")
    with pytest.raises(PolicyError, match=r"policy\.yaml:21:34 error\[MV100\]"):
        policy_from_text(text)


def test_a_misspelled_section_is_one_problem_and_not_a_missing_one_as_well() -> None:
    with pytest.raises(PolicyError) as caught:
        policy_from_text(GOOD.replace("attributes:", "atributes:"))
    assert str(caught.value) == (
        "policy.yaml:5:1 error[MV104] unknown key 'atributes'\n"
        "  fix: did you mean 'attributes'?"
    )


def test_the_notes_of_the_example_are_the_four_of_the_guide(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fix = "  fix: fewer views, a smaller k or a larger cap make selections more useful"
    assert [str(f) for f in findings(tmp_path, GOOD, monkeypatch)] == [
        "policy.yaml:10:3 note[MV501] slot 'food': the best of its 4 views is picked 32 "
        f"in 100 times at ε=0.67 (chance is 25)\n{fix}",
        "policy.yaml:17:3 note[MV501] slot 'finance': the best of its 3 views is picked "
        f"41 in 100 times at ε=0.67 (chance is 33)\n{fix}",
        "policy.yaml:23:3 note[MV501] slot 'health': the best of its 3 views is picked "
        f"41 in 100 times at ε=0.67 (chance is 33)\n{fix}",
        "policy.yaml:29:3 note[MV503] slot 'work' reads positions [6], which no "
        "attribute protects: its best view is released as is, uncharged\n"
        "  fix: add the positions to an attribute if they can hint at it",
    ]
