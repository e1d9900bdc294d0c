"""The English words and phrases by which `whose.bearing` judges a clause. All public.

A phrase is matched against words that are separated by single spaces and have at most
24 letters each; none reaches over more than a few words.
"""

import re


def _phrases(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that finds one of the phrases as whole words."""
    return re.compile(r"(?<![^ ])(?:" + "|".join(patterns) + r")(?![^ ])")


_GAP = r"(?: [^ ]+){0,2}"

# ---------------------------------------------------------------- language
ENGLISH = frozenset(
    {
        *("i", "my", "me", "we", "our", "the", "and", "is", "was", "are", "were", "of"),
        *("to", "with", "for", "have", "has", "had", "he", "she", "it", "that", "this"),
        *(
            "they",
            "you",
            "your",
            "not",
            "at",
            "from",
            "by",
            "her",
            "his",
            "on",
            "since",
        ),
        *("because", "an", "been"),
    }
)
FOREIGN = frozenset(
    {
        *("ich", "und", "der", "die", "das", "ist", "nicht", "mein", "meine", "mit"),
        *("ein", "eine", "zu", "den", "dem", "bin", "auf", "für", "im", "von"),
        *("el", "la", "los", "las", "un", "una", "que", "y", "en", "mi", "de", "con"),
        *("es", "soy", "por", "para", "del", "se", "estoy", "je", "le", "les", "et"),
        *("une", "des", "du", "mon", "ma", "est", "pour", "dans", "j'ai", "suis", "au"),
        *("il", "sur", "pas", "nie", "na", "się", "jestem", "od", "z", "w", "mam"),
        *("ve", "bir", "bu", "çok", "için", "che", "di", "non", "sono", "per", "ik"),
        *("het", "een", "van", "niet", "mijn", "jeg", "jag", "och", "att", "är", "og"),
        *("ikke", "não", "uma", "com"),
    }
)

# ---------------------------------------------------------------- denial
# What one would like to have: to be without it denies nothing.
_GOODS = (
    r"(?:jobs?|work|money|income|savings?|salary|wages?|pay|offers?|idea|choice|way|"
    r"cash|cent|insurance|employment|luck|wonder|time|food|sugar|sugary|bread|sweets|"
    r"cake|wine|alcohol|coffee|drinks|help|hope|notice|warning|control|more|one|longer|"
    r"problem|joke|matter|energy|appetite|interviews?|references?|reason|fault|option|"
    r"doctor|fun)"
)
_NOT_GOODS = rf"(?!{_GAP} {_GOODS}(?![^ ]))"
_NOT_STATE = r"(?! (?:sure|able|working|paid|enough|eating|sleeping|only|just))"
_BE = r"(?:am|are|is|was|were|be|been|i'm|we're|it's|that's)"
_DO_NOT = r"(?:(?:do|does|did|have|has|had|need)(?: not|n't))"
NEGATED = _phrases(
    rf"{_BE} not{_NOT_STATE}{_NOT_GOODS}",
    rf"(?:isn't|aren't|wasn't|weren't|ain't){_NOT_STATE}{_NOT_GOODS}",
    rf"{_DO_NOT}{_GAP} (?:lose|lost|owe|owed|miss|missed|borrow|inject|suffer|collect|"
    rf"cost|expect|be|been{_NOT_STATE})",
    rf"{_DO_NOT}{_GAP} (?:have|had|got|get|take|taken|need|want|use|carry){_NOT_GOODS}",
    r"(?:have|has|had|i've|we've) never",
    r"never (?:been|had|have|took|take|owed|owe|borrow|borrowed|missed|lost|left)",
    rf"(?:nobody|neither|none){_GAP}",
    rf"(?:no|not a|not a single){_NOT_GOODS} [^ ]+",
    r"ruled out|negative|is normal|(?:is|was|were|are) false|rather than|contrary to",
    r"nothing to do with|nothing outstanding|in error|an error|by mistake|in full",
)
NEGATED_FIRST = re.compile(rf"(?:not{_NOT_STATE}|never|no|without){_NOT_GOODS} ")

# ---------------------------------------------------------------- the past
_STATE = r"(?:be|have|owe|take|run|need|swell|get|inject|live|struggle|suffer)"
_LIFE = (
    r"(?:young|younger|little|a|an|in|at|expecting|carrying|pregnant|twelve|[0-9]+|"
    r"[^ ]+teen|twenty|thirty|forty|fifty)"
)
PAST = _phrases(
    rf"used to {_STATE}|no longer (?:{_STATE}|am|pregnant|diabetic|in)",
    r"(?:not|[^ ]+n't|never)(?: [^ ]+){0,3} any ?more",
    r"(?:years|decades|ages|summers|winters|long) (?:ago|back|since)",
    r"back (?:then|in the|in my|when)|there was a time|those days|for a while",
    r"in the (?:(?:early|mid|late) )?(?:seventies|eighties|nineties|[0-9]{2,4}s)",
    rf"when i was {_LIFE}|before i (?:turned|met|was)|as a student",
    r"(?:in )?my (?:twenties|thirties|forties|fifties)",
    r"(?:i was|was|had|i had) once|once (?:had|was|were|owed|lost)",
    r"(?:last|previous|first|second|third) pregnancy|was expecting|i was pregnant",
    # ends
    r"paid(?: [^ ]+){0,4} (?:off|back)|(?:i|we|finally|since) (?:cleared|settled)",
    r"cleared (?:my|our|all)|debt-free|debt free|last payment|slate clean|cured",
    r"(?:in|into) remission|reversed|disappeared|went away|gone the|behind (?:me|us)",
    r"(?:is|are|that's|finally|all) over|done (?:with|having)|at last|is history",
    r"came off|got out of|recovered|lifted|discharged|ended (?:in|last|when|years)",
    r"gave birth|delivered (?:in|last|my|our)|miscarried|the birth of",
    r"back at work|rehired|found(?: [^ ]+){0,2} (?:work|job|post|position)|ever since",
)
LASTING = _phrases(r"diagnos[^ ]*|still|yet|have had|i've had|haven't|hasn't")

# ---------------------------------------------------------------- not so yet
CONDITION = _phrases(
    r"unless|in case|suppose|supposing|if(?! anything)(?<!as if)(?<!even if)"
)
CONDITION_FIRST = re.compile(r"(?:should|were|could|wonder|wondering) ")
POSSIBLE = _phrases(
    r"maybe|perhaps|probably|whether|wonder|wondering|might",
    r"would(?! (?:really )?(?:like|appreciate))",
    r"(?:i|we|he|she|they)'d(?! (?:been|had|lost|got|like))",
    r"could (?:be|lose|get|go|become|reach|happen|end|face)",
    r"may (?:be|have|get|lose|take|put|well|end|become|go|need|reach|come|not)",
    r"some ?day|one day|eventually|at risk|risk of|trying for|hope to|hoping to",
    r"rumou?rs?|threatened to|imagine|dreamed|dreamt|nightmares?|thinking (?:of|about)",
    r"want to avoid|want children",
)
FEAR = _phrases(r"worry|worried|afraid|scared|fear|fearing|dread")
TO_COME = _phrases(
    r"will|might|may|could|would|[^ ]+'ll|ever|(?:of|about|fear|dread) [^ ]+ing"
)

# ---------------------------------------------------------------- somebody else
_KIN = (
    r"(?:father|mother|dad|mum|mom|parents?|brothers?|sisters?|siblings?|husband|wife|"
    r"spouse|partner|sons?|daughters?|kids?|child|children|uncles?|aunts?|auntie|"
    r"nephews?|nieces?|cousins?|grandad|granddad|grandpa|grandma|granny|nana|"
    r"grandmother|grandfather|grandparents|grandson|granddaughter|"
    r"(?:mother|father|brother|sister|son|daughter)s?-in-law|fianc[ée]e?|stepson|"
    r"stepmother|stepfather|stepdaughter|godson|goddaughter)"
)
_KNOWN = (
    r"(?:friends?|girlfriend|boyfriend|mate|roommate|flatmate|housemate|neighbou?rs?|"
    r"colleagues?|coworkers?|co-workers?|ex|ex-husband|ex-wife|landlord|couple|teacher|"
    r"coach|pupils?|students?|classmates?|team|kid|guy|man|woman|lady|men|women|people|"
    r"teammates?|buddy|pal|cat|dog)"
)
_ANY = rf"(?:{_KIN}|{_KNOWN})"
_ITS = (
    r"(?:my|our|his|her|their|the|a|an|two|three|some|half of the|half of my|"
    r"one of my|both of my|that)"
)
_NAMED = r"(?:dad|mum|mom|grandad|granddad|grandma|grandpa|granny|nana)"
OTHER = re.compile(
    rf"(?:{_ITS} (?:[^ ]+ ){{0,2}}?{_ANY}|{_NAMED}|(?:aunt|uncle|cousin) [^ ]+)(?= |$)"
)
OTHERS = re.compile(
    rf"(?:(?:{_ITS} )?(?:[^ ]+ ){{0,2}}?{_ANY}'s?|(?:aunt|uncle) [^ ]+'s) "
)
PERSON = _phrases(rf"{_ITS}(?: [^ ]+)?(?: [^ ]+)? {_ANY}|{_NAMED}")
PRONOUN = re.compile(r"(?:he|she|they|who|his|her|their|he's|she's|they're)(?= |$)")
WHO = re.compile(r"who ")
GROUP = _phrases(
    r"(?:people|women|men|patients|customers|clients|someone|somebody) "
    r"(?:in|who|with|that)",
    r"(?:photograph|help|teach|treat|coach|advise|counsel)(?: [^ ]+)? "
    r"(?:people|women|men|pupils?|patients|students|clients)",
)
MINE = _phrases(
    r"me|i|us|i'm|i've|i'd|myself",
    r"(?<!in )(?<!of )(?<!on )(?<!at )(?<!as )(?<!to )(?<!with )my",
)
ALSO = _phrases(
    r"(?:i|we)(?: [^ ]+){0,3} (?:too|also|as well)|so (?:do|am|have|was) i|me too",
    rf"{_ANY} and (?:i|me)|(?:i|me) and my {_KIN}",
)
