"""Closed classes of words, which rules about prose go by; English unless said otherwise."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


ABBREVIATIONS = _set("dr mr mrs ms prof st jr sr fr rev gen col capt lt sgt hon no vs mt ft")
"""Words that a full stop shortens, instead of ending the sentence."""

ARTICLES = _set("the a an")

PARTICLES = _set("of de del della di da dos du des la le van von der zu zur el al bin ibn y the")
"""Small words inside names: University of Bern, Ludwig van Beethoven."""

PREPOSITIONS = _set(
    "about above across after against along among around as at before behind below beneath beside "
    "between beyond by despite during for from in inside into like near of off on onto outside "
    "over past per since through throughout to toward towards under until up upon via with within "
    "without than"
)

PLACING = _set("in of at from near by")
"""Prepositions that say enough by themselves: Hamlet by Shakespeare."""

AUXILIARIES = _set(
    "is are was were be been has have had does do did will would can could may might must shall "
    "should isn't wasn't aren't weren't hasn't haven't hadn't doesn't don't didn't won't wouldn't "
    "can't couldn't shouldn't"
)

COPULAS = _set("is are was were")

SINGULAR = _set("is was has does isn't wasn't hasn't doesn't")
"""Auxiliaries that a plural does not take."""

ADVERBS = _set(
    "also now still often never always already just only usually sometimes once soon later "
    "currently formerly recently finally first then not ever previously originally mostly mainly"
)
"""Words that may stand before the verb."""

PAST = _set(
    "became began bought broke brought built came caught chose did drank drew drove ate fell felt "
    "fought found flew forgot gave got grew heard held hid hit kept knew laid lay led left lent "
    "let lost made meant met paid put ran read rode said sang sat saw sent set shot showed sold "
    "spent spoke stood stole swam swore taught thought threw told took understood went woke won "
    "wore wrote wed beat bore bound bred cast cost dealt dug fed hung hurt sought shook spread "
    "struck swept wove bid slept sank"
)
"""Irregular forms of the past."""

CONJUNCTIONS = _set(
    "and or but nor that which who whom whose what when where why how while because since so if "
    "then although though unless whether until before after as than"
)
"""Words that begin another clause."""

BREAKERS = CONJUNCTIONS | _set(
    "i you he she it we they me him us them my your his her its our their there this these those"
)
"""Between two names they begin another clause, or bring in somebody else."""

SAYING = _set("said says thought thinks believed believes claimed claims hopes hoped feels felt")
"""What somebody does who says or thinks something."""

NEGATIONS = _set("no not never nobody none nothing nowhere neither nor cannot") | {
    word for word in AUXILIARIES if word.endswith("n't")
}
"""Words that deny what follows."""

DOUBTING = _set(
    "hardly scarcely barely rarely seldom perhaps maybe possibly probably presumably apparently "
    "seemingly allegedly reportedly supposedly purportedly"
)
"""Adverbs that leave open whether something is so."""

REPORTS = SAYING | _set(
    "say think believe claim hope feel tell tells told hear hears heard according "
    "doubt doubts doubted deny denies denied dispute disputes disputed suspect suspects suspected "
    "suppose supposes supposed supposing assume assumes assumed assuming imagine imagines imagined "
    "guess guesses guessed fear fears feared wish wishes wished expect expects expected predict "
    "predicts predicted suggest suggests suggested allege alleges alleged pretend pretends "
    "pretended dream dreams dreamed dreamt lied joked wonder wonders wondered insist insists "
    "insisted assert asserts asserted seem seems seemed appears appeared rumour rumours rumoured "
    "rumor rumors rumored belief allegation allegations myth legend possible impossible likely "
    "unlikely doubtful uncertain unclear unknown untrue false fake fictional"
)
"""Words before a clause that is what somebody says, thinks or doubts, and maybe not so."""

UNTRUE = _set("false untrue wrong fake fictional doubtful unlikely uncertain unclear unknown")
"""Words behind a clause that take it back."""

CLAUSAL = SAYING | _set("doubts doubted denies denied suspects suspected supposes assumes imagines")
"""Verbs before another clause: "John said Mary left" says nothing about John and Mary."""

SOME_ONE = _set("king sibling offspring darling")
"""Nouns that end as what somebody is doing."""

GIVING = _set(
    "gave gives sent sends lent lends offered offers showed shows handed hands brought brings "
    "sold sells told tells paid pays taught teaches"
)
"""Verbs with somebody and something behind them: "gave Mary keys to Acme"."""

CONDITIONS = _set("if whether unless lest")

IMPERATIVES = _set(
    "add ask attend avoid begin book bring buy call check choose click close come compare "
    "consider contact convince create delete describe do don't email explain feel find finish "
    "follow get give go have help imagine inform install introduce invite join keep know learn "
    "leave list listen look make meet message move notify open order pay phone pick place plan "
    "please prepare press put read remember remind remove reply run save say see select sell send "
    "set show sign start stay stop suppose take talk teach tell text think track travel trust try "
    "turn update use visit wait walk watch wish work write"
)
"""Verbs that begin an order, and a note about what to do."""

PRONOUNS = _set(
    "i you he she it we they this that these those there here what who whom whose which when "
    "where why how my your his her its our their me him us them mine yours ours theirs myself "
    "someone somebody something everyone everybody everything anyone anybody anything nobody "
    "nothing none one ones another others each both either neither all any some many much most "
    "few several such same other no every"
)

LEANING = _set(
    "he she it they his her hers its their theirs him them this that these those "
    "il elle ils elles celui-ci celle-ci ceux-ci celles-ci"
)
"""Words, French ones too, that begin a sentence about whom the one before names."""

_OPENERS = _set(
    "yesterday today tomorrow tonight meanwhile however therefore moreover furthermore thus hence "
    "otherwise instead still also again soon later earlier recently finally eventually currently "
    "previously afterwards afterward next first second third last then now once twice never "
    "always often sometimes usually perhaps maybe probably possibly certainly clearly indeed "
    "actually basically generally specifically especially fortunately unfortunately sadly luckily "
    "surprisingly interestingly apparently obviously additionally consequently nevertheless "
    "nonetheless besides likewise similarly originally initially ultimately suddenly immediately "
    "quickly slowly only just even almost nearly about not please yes no okay ok well oh hi hello "
    "hey dear thanks thank sorry welcome congratulations note let let's because although though "
    "while whereas unless whether if since until so and but or nor yet for as than according due "
    "given based compared born former early late two three four five six seven eight nine ten "
    "hundreds thousands millions people men women children students teachers scientists "
    "researchers engineers doctors users customers employees experts officials others folks guys "
    "kids parents friends everybody"
)

_OTHER_LANGUAGES = _set(
    # German
    "der die das ein eine einen im am in auf mit heute gestern morgen ich er sie es wir und aber "
    # French, Spanish, Italian, Portuguese
    "les un une il elle nous je et mais dans hier una en ayer hoy ella nosotros pero gli "
    "uno lo io noi ma nel nella ieri oggi o os as um uma ele ela nós em ontem hoje "
    # Russian, Ukrainian
    "в на и но а вчера сегодня завтра это он она они мы я у с по из за для как когда если вчора "
    "сьогодні це він вона "
    # Greek
    "ο η το οι τα και στο στη στην χθες σήμερα αυτός αυτή εμείς εγώ"
)

STARTERS = (
    ARTICLES
    | PREPOSITIONS
    | AUXILIARIES
    | PRONOUNS
    | ADVERBS
    | DOUBTING
    | _OPENERS
    | _OTHER_LANGUAGES
)
"""Words that begin a sentence with a capital and are no name."""

UNCOUNTED = _set(
    "water coffee tea milk beer wine bread rice food meat sugar salt money cash work time life "
    "music art love hate fear hope help luck news weather rain snow wind air fire light heat "
    "power energy health sleep school church college home dinner lunch breakfast supper traffic "
    "homework software hardware data code access support paper plastic wood gold silver iron "
    "steel oil gas wool cotton glass history science physics maths math nature space room sand "
    "dust sport football soccer tennis chess war peace death god god's heaven hell winter spring "
    "summer autumn fall half part page chapter section figure table step version sales team staff "
    "delivery research business industry commerce advice feedback progress breath speech truth "
    "trade debt labour labor luggage furniture equipment machinery clothing shopping attention "
    "demand supply everyday tradition religion philosophy poetry literature language memory "
    "storage output input smoke blood skin hair grass soil mud ice steam fuel petrol electricity "
    "unemployment inflation poverty crime justice freedom democracy parliament congress "
    "government management sunlight moonlight honey patience budget backend frontend mankind "
    "rumour rumor word legend gossip humanity society culture fashion beauty youth growth strength"
)
"""Nouns that stand without an article, and so look like a name before a verb."""

NOT_NAMES = _set(
    "i i'm i'll i've i'd ok am pm ps nb tv asap faq todo fyi aka etc ceo cto cfo hr imo imho btw "
    "lol tbh afaik"
)
"""Written with capitals anywhere, and no name."""

MONTHS = {
    name: number
    for number, names in enumerate(
        (
            "january jan",
            "february feb",
            "march mar",
            "april apr",
            "may",
            "june jun",
            "july jul",
            "august aug",
            "september sep sept",
            "october oct",
            "november nov",
            "december dec",
        ),
        start=1,
    )
    for name in names.split()
}
"""The number of each month, by its names."""

CALENDAR = frozenset(name for name in MONTHS if len(name) > 3 or name == "may") | _set(
    "monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun "
    "mondays tuesdays wednesdays thursdays fridays saturdays sundays easter christmas"
)
"""Written with a capital, and no name of somebody or something."""

YEAR_CUES = _set(
    "in since until till by from to before after during around about year early late mid spring "
    "summer autumn fall winter of between and circa"
)
"""Words after which four digits are a year."""
