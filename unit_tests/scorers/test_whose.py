"""`bearing`: whose a memory is, and whether it is so now, by its words."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from langchain_memview.bench.sentences import HARD_KINDS, part, sentences
from langchain_memview.scorers import whose_words
from langchain_memview.scorers.whose import bearing

BESIDE = 0.5
"""Least value of a clause to which a rule applies beside one to which none does."""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "🤰",
        "I owe nine thousand on two cards.",
        "Owes 9,000 on two credit cards.",
        "Takes metformin every morning.",
        "The user was laid off in May.",
        "My wife and I are expecting our first baby.",
        "My husband and I owe the bank a fortune.",
        "My brother owes money and I do too.",
        "My sister is diabetic, me too.",
        "My boss told me not to come back.",
        "My sister drives me to dialysis.",
        "I don't have a job.",
        "No money left, no income either.",
        "Not sure how to pay the loan.",
        "Diagnosed with type 2 many years ago.",
        "I am afraid.",
        "I would like to pay it back in May.",
        "I am sick of bills, if anything.",
        "Ich habe keine Arbeit, no money, nicht mehr.",
        "No llego a fin de mes con mi salario.",
        "I can’t pay the rent.",
    ],
)
def test_what_is_the_users_own_and_current_counts_in_full(text):
    assert bearing(text) == 1.0


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("My brother was laid off.", 0.3),
        ("Mum takes insulin.", 0.3),
        ("Aunt Polly's loan is overdue.", 0.3),
        ("My neighbour's daughter is pregnant.", 0.3),
        ("The user's mother has diabetes.", 0.3),
        ("I know a man, he is in debt.", 0.6),
        ("I counsel young women.", 0.3),
        ("I am not diabetic.", 0.25),
        ("I’m not diabetic.", 0.25),
        ("Not pregnant, only tired.", BESIDE),
        ("I have never owed a cent.", 0.25),
        ("We haven't lost our jobs.", 0.25),
        ("No debts.", 0.25),
        ("The doctor ruled out diabetes.", 0.25),
        ("I used to be in debt.", 0.35),
        ("We paid every loan off.", 0.35),
        ("I was pregnant when I was twenty.", 0.35),
        ("I gave birth in June.", 0.35),
        ("If I lose my job, we move.", 0.4),
        ("Should I get pregnant, we move.", 0.4),
        ("I might be pregnant.", 0.4),
        ("I worry that they will sack me.", 0.4),
        ("I am scared of losing my job.", 0.4),
    ],
)
def test_what_is_somebody_elses_over_denied_or_feared_counts_less(text, most):
    assert 0.25 <= bearing(text) <= most


def test_a_clause_is_judged_by_itself():
    alone = bearing("I am not diabetic.")
    beside = bearing("I am not diabetic, the cat is asleep upstairs and I owe money.")
    assert alone < beside < 1


@given(st.text())
def test_any_text_has_one_value_in_bounds(text):
    assert 0.25 <= bearing(text) <= 1
    assert bearing(text) == bearing(text)


_PIECES = st.sampled_from(
    [
        *("i", "my", "brother", "sister's", "he", "who", "not", "no", "never", "don't"),
        *(
            "have",
            "debt",
            "used to",
            "be",
            "if",
            "afraid",
            "of",
            "losing",
            "and",
            "but",
        ),
        *(",", ".", "job", "years ago", "too", "paid", "off", "’", "é", "\n", "the"),
    ]
)


@given(st.lists(_PIECES, max_size=25).map(" ".join))
def test_any_words_of_the_rules_have_a_value_in_bounds(text):
    assert 0.25 <= bearing(text) <= 1


@given(st.text(alphabet="abc .,", max_size=40))
def test_white_space_and_case_do_not_matter(text):
    assert bearing(text.upper().replace(" ", "  ")) == bearing(text)


@pytest.mark.parametrize(
    "piece",
    [
        *("x", "not ", "no no a ", "and ", ",", "a'", "a-", "my a b ", "paid a a a "),
        *("don't a b ", "my sister who ", "worry of ", "'s my friend's ", "\n", "İ "),
        *("used to no longer i was ", "half of the a ", "n't a b c ", "I owe. "),
    ],
)
def test_a_hostile_text_takes_time_in_proportion_to_its_length(piece):
    def seconds(size):
        text = piece * (size // len(piece))
        start = time.process_time()
        assert 0.25 <= bearing(text) <= 1
        return time.process_time() - start

    seconds(1_000)
    # A quadratic rule would take hours; 1 MB takes about a second.
    assert seconds(1_000_000) < 15


def test_no_phrase_is_unbounded():
    for name, pattern in vars(whose_words).items():
        if hasattr(pattern, "pattern"):
            assert not any(loop in pattern.pattern for loop in (")*", ")+", ".*")), name


def test_it_tells_evidence_from_hard_negatives_of_the_half_to_tune_on():
    own = [s for s in sentences() if part(s) == "dev"]
    evidence = [bearing(s.text) == 1 for s in own if s.kind == "evidence"]
    hard = [bearing(s.text) < 1 for s in own if s.kind in HARD_KINDS]
    assert sum(evidence) / len(evidence) >= 0.95
    assert sum(hard) / len(hard) >= 0.8
