"""Ana, an invented person: 28 memories at the fixed positions of the meal planner.

This is the raw memory of the demo. Nothing may print, log or return these texts; tests
look for their words in everything that leaves the trusted interface.
"""

from types import MappingProxyType

from langchain_memview.memview import MemView

ANA = "ana"
"""The subject whose memory it is."""

MEMORIES = MappingProxyType(
    {
        # health
        1: "Doctor Okafor confirmed my type-2 diabetes in 2019; I swallow metformin "
        "twice daily.",
        2: "My HbA1c was 8.1 in January, so I prick my finger for a glucose reading "
        "each morning.",
        3: "Rice pudding at Carmela's wedding pushed my blood sugar past 240.",
        4: "I swim forty lengths on Mondays because jogging hurts my left knee.",
        5: "We saw a heartbeat on the ultrasound: I am fourteen weeks pregnant.",
        6: "The midwife, Mrs Adeyemi, prescribed folic acid and wants me lying on my "
        "side.",
        # food
        7: "Since the diagnosis I count carbs and pour sparkling water where juice "
        "used to be.",
        8: "Diabetic biscuits became unaffordable with collectors ringing, so I eat "
        "the sugar-free crackers from the discounter.",
        9: "Grandma's goulash from Szeged is my childhood in a bowl.",
        10: "Coriander leaves taste like soap to me.",
        11: "I could live on chanterelles in autumn.",
        12: "I drink my tea black, very strong, from the chipped blue mug.",
        # finance
        13: "I owe 31,400 dollars on four credit cards and barely manage the minimum.",
        14: "The loan from Castellan Credit is overdue; a bailiff came in November.",
        15: "My debt counsellor, Ms Whitlock, lets me spend 45 dollars weekly at the "
        "supermarket.",
        16: "I pawned grandma's bracelet to pay the interest.",
        17: "I file my receipts in a biscuit tin, sorted by shop.",
        # work
        18: "The cannery let me go in March, together with the entire night crew.",
        19: "I am unemployed and posted eleven applications this fortnight.",
        20: "My unemployment allowance stops in October.",
        21: "Since spring I sit at home refreshing the vacancies page until noon.",
        # schedule
        22: "Choir rehearsal ends at nine on Tuesdays and I come back hungry.",
        23: "On Sunday afternoons I fill the freezer with labelled tubs.",
        24: "My nephew Ruben has fencing lessons on Wednesdays and I drive him.",
        25: "I like to stir one huge batch while the radio plays the opera matinee.",
        # household
        26: "Our stove has only two burners and the left one sputters.",
        27: "Tomas is painting the nursery pale yellow before the frost.",
        28: "The Lindqvists lent us a crib and a pram with a squeaky wheel.",
    }
)
"""Position to what is remembered there. Private."""


def remember_ana(memview: MemView) -> None:
    """Write Ana's memories to their positions; writing them again changes nothing.

    Args:
        memview: The trusted interface over the backend that shall hold them.
    """
    for position, text in MEMORIES.items():
        memview.remember(ANA, text, position=position)
