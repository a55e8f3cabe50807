"""Words that say nothing of what a question is about, by language.

They are left out of questions, never of what is indexed. Beside articles, pronouns and
prepositions there are the words that make a sentence a question, and auxiliaries: a text that
answers "when did Mara move" has neither "when" nor "did". Words are as the tokenizer gives
them: small, without accents, and with straight apostrophes.
"""

ENGLISH = """
a an the this that these those such some any each every either neither both all another other
i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
she her hers herself it its itself they them their theirs themselves
someone somebody something anyone anybody anything everyone everybody everything
what which who whom whose when where why how whatever whichever whoever whenever wherever however
am is are was were be been being isn't aren't wasn't weren't ain't
do does did doing done don't doesn't didn't
have has had having haven't hasn't hadn't
can could can't cannot couldn't shall should shan't shouldn't will would won't wouldn't
may might must mightn't mustn't ought need needn't
i'm you're he's she's it's we're they're i've you've we've they've i'd you'd he'd she'd we'd they'd
i'll you'll he'll she'll it'll we'll they'll that's there's here's what's who's where's when's why's
how's who'd what'd where'd when'd why'd how'd that'd there'd who've who'll what'll that'll there'll
what're who're where're how're could've should've would've might've must've let's let
and or but nor if then else so because although though unless until while whereas whether than as
of at by for with without about against between among into onto through throughout during before
after above below to from up down in out on off over under upon within toward towards across along
around behind beside besides beyond near via per
again once here there now just only also too very even ever still yet not no
tell please know
"""

GERMAN = """
der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner
dieser diese dieses diesen diesem jener jene jenes jeder jede jedes alle alles
ich mich mir mein meine meinen meinem meiner du dich dir dein deine er ihn ihm sein seine seinen
seinem seiner sie ihr ihre ihren ihrem ihrer es wir uns unser unsere euch euer man sich selbst
was wer wen wem wessen wann wo woher wohin wie warum wieso weshalb welche welcher welches welchen
welchem wieviel wieviele womit wofur worin woran woruber
bin bist ist sind seid war warst waren wart sein gewesen wird werden wurde wurden werde wirst worden
habe hast hat haben habt hatte hatten gehabt kann kannst konnen konnte konnten darf durfen durfte
muss mussen musste mussten soll sollen sollte sollten will wollen wollte wollten mag mogen mochte
und oder aber denn doch wenn dann als ob weil dass obwohl wahrend bis nachdem bevor
in im ins an am ans auf aus bei beim mit von vom zu zum zur nach vor uber unter durch fur gegen ohne
um seit neben zwischen hinter trotz wegen
nicht nur auch noch schon sehr mehr so da hier dort jetzt immer wieder etwa eben
"""

FRENCH = """
le la les l un une des du de d au aux ce cet cette ces cela ca celui celle ceux celles
je j me m moi mon ma mes tu te t toi ton ta tes il elle on lui se s soi son sa ses nous notre nos
vous votre vos ils elles leur leurs y en
que qu qui quoi dont ou quand comment pourquoi combien quel quelle quels quelles lequel laquelle
lesquels lesquelles
suis es est sommes etes sont etais etait etions etaient ete etre sera seront serait fut furent soit
ai as a avons avez ont avais avait avions avaient eu avoir aura auront aurait
fais fait faisons font faisait faire peux peut peuvent pouvait pouvoir dois doit doivent devait
devoir veux veut veulent voulait vouloir
et ou mais donc or ni car si comme lorsque puisque tandis parce afin
dans sur sous avec sans pour par entre vers chez contre depuis pendant avant apres jusque jusqu
ne n pas plus moins tres aussi encore deja bien la ici ainsi alors c'est n'est d'un d'une qu'est
qu'il qu'elle
"""

SPANISH = """
el la los las lo un una unos unas este esta esto estos estas ese esa eso esos esas aquel aquella
aquellos aquellas
yo me mi mis mio mia tu te ti tus tuyo el ella ello le les se si su sus suyo nosotros nos nuestro
nuestra nuestros nuestras vosotros os vuestro vuestra ellos ellas usted ustedes
que quien quienes cual cuales cuando donde adonde como cuanto cuanta cuantos cuantas cuyo cuya
porque
soy eres es somos sois son era eras eramos eran fui fue fuimos fueron sido ser sera seran seria
estoy esta estamos estan estaba estaban estuvo estado estar
he has ha hemos han habia habian hubo habido haber hay
tengo tiene tienen tenia tenian tuvo tener puede pueden podia poder debe deben debia deber
hace hacen hacia hizo hacer
y e o u pero sino ni pues aunque mientras
de del a al en con sin por para entre hacia hasta desde sobre bajo contra segun durante antes
despues tras
no si muy mas menos tambien ya aun solo asi aqui alli ahora entonces
"""

STOP_WORDS: dict[str, frozenset[str]] = {
    "english": frozenset(ENGLISH.split()),
    "french": frozenset(FRENCH.split()),
    "german": frozenset(GERMAN.split()),
    "spanish": frozenset(SPANISH.split()),
}
