"""Words of dates and the numbers they stand for."""


def numbered(names: str, start: int = 1) -> dict[str, int]:
    """Number names that stand in order; those with a slash between them are the same."""
    return {
        name: number
        for number, same in enumerate(names.split(), start=start)
        for name in same.split("/")
    }


def any_of(words: dict[str, int]) -> str:
    """Return a pattern of words, the longest first."""
    return "|".join(sorted(words, key=len, reverse=True))


MONTHS = numbered(
    """
    january/jan/januar/janvier/enero february/feb/februar/fevrier/février/febrero
    march/mar/marz/märz/mars/marzo april/apr/avril/abril may/mai/mayo june/jun/juni/juin/junio
    july/jul/juli/juillet/julio august/aug/aout/août/agosto
    september/sep/sept/septembre/septiembre october/oct/oktober/octobre/octubre
    november/nov/novembre/noviembre december/dec/dezember/decembre/décembre/diciembre
    """
)
WEEKDAYS = numbered("monday tuesday wednesday thursday friday saturday sunday", 0)
SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
NUMBERS = numbered(
    "a/an/one two/couple three/few four five six seven eight nine ten eleven twelve"
) | {"fifteen": 15, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "hundred": 100}
QUARTERS = numbered("first second third fourth")
CENTURIES = numbered(
    "eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth "
    "nineteenth twentieth twenty-first",
    11,
)
