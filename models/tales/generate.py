"""Story generator of the tales models: writes plain stories and chats, one JSON list a document.

A document is a list of [role, text] pairs: [["story", text]] for a plain story, else alternating
"user" and "assistant" turns.  The same seed and count always give the same documents.

    python3 generate.py --seed 1 --count 130000 --out build/corpus.jsonl
"""
import argparse
import json
import pathlib
import random
import re

import lexicon

SLOT = re.compile(r"\{(\w+)\}")
CHOICE = re.compile(r"\[([^\[\]]*)\]")
PLOT_FILE = pathlib.Path(__file__).with_name("plots.txt")


class Plot:
    """One plot: its beats (lists of alternative lines) and what may be asked about it."""

    def __init__(self, name):
        self.name, self.weight = name, 0
        self.domains = ["land", "home", "sea"]
        self.rows, self.lets, self.asks, self.qa, self.beats = [], [], [], [], []


def load_plots(path):
    """Parse plots.txt into {name: Plot}; the syntax is described at the top of that file."""
    plots, plot = {}, None
    for line in re.sub(r"\n {4}", " ", path.read_text()).splitlines():
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        rest = rest.strip()
        if word == "plot":
            plot = plots[rest] = Plot(rest)
        elif word == "weight":
            plot.weight = int(rest)
        elif word == "domains":
            plot.domains = rest.split()
        elif word == "row":
            plot.rows.append(rest)
        elif word == "let":
            plot.lets.append([part.strip() for part in rest.split("=", 1)])
        elif word == "ask":
            plot.asks.append(rest)
        elif word == "qa":
            plot.qa.append([part.strip() for part in rest.split(" = ")])
        elif word == "use":
            plot.beats.append(rest)
        elif word == "=":
            plot.beats.append([rest])
        elif word == "|":
            plot.beats[-1].append(rest)
        else:
            raise ValueError(f"plots.txt: {line}")
    return plots


PLOTS = load_plots(PLOT_FILE)
TOLD = [plot for plot in PLOTS.values() if plot.weight]
KIND_WEIGHTS = [int(kind["weight"]) for kind in lexicon.KINDS]


def capital(text):
    """Upper-case the first letter."""
    return text[:1].upper() + text[1:]


def polish(text):
    """Mend articles and the capitals at the beginning of sentences and of quotes."""
    text = re.sub(r"\b([Aa]) (?=[aeio](?!ne\b)|u(?!ni|se))", r"\1n ", text)
    text = re.sub(r"(^|[.!?] |\n)([a-z])", lambda m: m[1] + m[2].upper(), text)
    text = re.sub(r'(^|[.!?:"]\s)"([a-z])', lambda m: m[1] + '"' + m[2].upper(), text)
    return re.sub(r" +", " ", text).strip()


def make_name(rng, gender):
    """A name: mostly a common one, sometimes one built from syllables."""
    if rng.random() < 0.2:
        parts = rng.choice(lexicon.SYLLABLES) + rng.choice(lexicon.SYLLABLES)
        return (parts + rng.choice(lexicon.NAME_ENDS)).capitalize()
    if gender == "it":
        return rng.choice(lexicon.GIRL_NAMES + lexicon.BOY_NAMES)
    return rng.choice(lexicon.GIRL_NAMES if gender == "she" else lexicon.BOY_NAMES)


PRONOUNS = {"she": ("she", "her", "her", "herself"), "he": ("he", "him", "his", "himself"),
            "it": ("it", "it", "its", "itself")}


class Character:
    """A hero or a friend: kind, name (or none), describing word and pronouns."""

    def __init__(self, rng, row, adjectives, named):
        self.row, self.kind = row, row["kind"]
        self.gender = self._gender(rng)
        self.name = make_name(rng, self.gender)
        self.named = named
        self.adjective = rng.choice(adjectives)
        while self.adjective in self._unfit():
            self.adjective = rng.choice(adjectives)

    def _gender(self, rng):
        if self.kind in lexicon.FEMALE:
            return "she"
        if self.kind in lexicon.MALE:
            return "he"
        if self.kind in lexicon.NEUTER and rng.random() < 0.5:
            return "it"
        return rng.choice(["she", "he"])

    def _unfit(self):
        """Adjectives that do not go with the kind."""
        if self.kind in lexicon.GROWN:
            return ("little", "small", "young", "tiny")
        return ("old", "wise", "big") if self.kind in lexicon.CHILDREN else ()

    def introduced(self, rng):
        """How the tale first speaks of it: "a little fox named Pip"."""
        text = f"a {self.adjective} {self.kind}" if rng.random() < 0.9 else f"a {self.kind}"
        if not self.named:
            return text
        return f"{text} {rng.choice(['named', 'named', 'named', 'called'])} {self.name}"

    def referred(self, rng, by_kind):
        """How the tale speaks of it later: by name, and now and then by kind."""
        if self.named and rng.random() >= by_kind:
            return self.name
        return f"the {self.kind}"

    def called(self):
        """How others call it."""
        return self.name if self.named else "my friend"


def pick_hero(rng, plot, kind=None):
    """A hero that fits into the worlds of the plot."""
    while True:
        row = kind or rng.choices(lexicon.KINDS, KIND_WEIGHTS)[0]
        if row["domain"] in plot.domains:
            return Character(rng, row, lexicon.ADJECTIVES, rng.random() < 0.88)


def pick_pal(rng, hero):
    """A friend of another kind and name that lives in the same world."""
    sea = hero.row["domain"] == "sea"
    children = hero.kind in ("girl", "boy")
    while True:
        row = rng.choices(lexicon.KINDS, KIND_WEIGHTS)[0]
        if (row["domain"] == "sea") != sea or row["kind"] == hero.kind:
            continue
        if row["kind"] in ("girl", "boy") and not children and rng.random() < 0.6:
            continue
        pal = Character(rng, row, lexicon.PAL_ADJECTIVES, rng.random() < 0.6)
        if pal.name != hero.name and pal.adjective != hero.adjective:
            return pal


class Tale:
    """One story: the plot, the state its lines draw on, and the finished text."""

    def __init__(self, rng, plot=None, kind=None):
        self.rng = rng
        self.plot = plot or rng.choices(TOLD, [p.weight for p in TOLD])[0]
        while kind and kind["domain"] not in self.plot.domains:
            self.plot = rng.choice(TOLD)
        self.hero = pick_hero(rng, self.plot, kind)
        self.pal = pick_pal(rng, self.hero)
        self.values = self._state()
        self.text = self._write()

    def _state(self):
        """Draw everything that stays the same throughout the story."""
        rng, hero, pal = self.rng, self.hero, self.pal
        values = {}
        he, him, his, himself = PRONOUNS[hero.gender]
        phe, phim, phis, _ = PRONOUNS[pal.gender]
        values.update(he=he, him=him, his=his, himself=himself, phe=phe, phim=phim, phis=phis)
        place = rng.choice([p for p in lexicon.PLACES if p["domain"] == hero.row["domain"]])
        values.update(place)
        spots = place["spots"].split("/")
        values["spot"], values["spot2"] = rng.sample(spots, 2)
        values.update(rng.choice(lexicon.ELDERS))
        values["elder"] = values["eldername"]
        values.update(kind=hero.kind, home=hero.row["home"], go=hero.row["go"],
                      went=hero.row["went"], pkind=pal.kind, heroname=hero.name,
                      hcall=hero.called(), pcall=pal.called())
        values.update(ahero=hero.introduced(rng), apal=pal.introduced(rng))
        values["color"], values["obj"] = rng.choice(lexicon.COLORS), rng.choice(lexicon.THINGS)
        which = rng.choice(lexicon.THING_ADJECTIVES)
        values["aobj"] = f"a {which} {values['color']} {values['obj']}"
        values["hobby"], values["hobby2"] = rng.sample(lexicon.HOBBIES, 2)
        values["trait"] = rng.choice("kind shy clever curious funny gentle brave cheerful".split())
        values["kid"] = rng.choice("lamb duckling kitten bird puppy rabbit child".split())
        values["judge"] = rng.choice("owl king queen turtle bear teacher".split())
        values["dream"] = rng.choice(["flying over the sea", "a boat full of stars", "cookies",
                                      "dancing clouds", "a garden on the moon"])
        values.update(rng.choice(lexicon.FOODS))
        for name in self.plot.rows:
            values.update(rng.choice(lexicon.ROWS[name]))
        for key, text in self.plot.lets:
            values[key] = self._choose(text)
        return values

    def _choose(self, text):
        """Resolve every [a|b] of a line, innermost first."""
        while "[" in text:
            text = CHOICE.sub(lambda m: self.rng.choice(m[1].split("|")), text)
        return text

    def _value(self, key):
        if key == "hero":
            return self.hero.referred(self.rng, 0.12)
        if key == "pal":
            return self.pal.referred(self.rng, 0.15)
        return self.values[key]

    def fill(self, text):
        """Resolve choices and slots; the values may hold slots themselves."""
        text = self._choose(text)
        while "{" in text:
            text = SLOT.sub(self._slot, text)
        return text

    def _slot(self, match):
        key = match[1]
        if key[0].isupper():
            return capital(self.fill(self._value(key[0].lower() + key[1:])))
        return self._value(key)

    def _beats(self, plot):
        """The beats of a plot with its parts put in."""
        for beat in plot.beats:
            if isinstance(beat, str):
                yield from self._beats(PLOTS[beat])
            else:
                yield beat

    def _write(self):
        lines = [self.fill(self.rng.choice(beat)) for beat in self._beats(self.plot)]
        lines = [line for line in lines if line]
        breaks = set()
        if self.rng.random() < 0.6:
            breaks = {self.rng.choice([2, 3]), len(lines) - self.rng.choice([2, 3, 4])}
        text = ""
        for i, line in enumerate(lines):
            gap = "\n\n" if i in breaks and text[-1] in '.!?"' else " "
            text += (gap if text else "") + line
        return polish(text)

    def subject(self, plot_share):
        """What a user would call this story: "a fox named Pip who is afraid of rain".

        plot_share is how often the user asks for the plot.
        """
        rng, hero = self.rng, self.hero
        text = f"a {hero.kind}"
        if hero.adjective in self.text.split(hero.kind)[0] and rng.random() < 0.3:
            text = f"a {hero.adjective} {hero.kind}"
        if hero.named and rng.random() < 0.4:
            text += f" {rng.choice(['named', 'called'])} {hero.name}"
        draw = rng.random()
        if draw < plot_share:
            text += " " + self.fill(rng.choice(self.plot.asks))
        elif draw < plot_share + 0.07:
            text += " who lives " + self.values["openplace"]
        elif draw < plot_share + 0.13:
            text += " " + self.values["inplace"]
        elif draw < plot_share + 0.19:
            text += f" and a {self.pal.kind}"
        return text

    def question(self):
        """A question about the story and its right answer, or None."""
        rng, pairs = self.rng, [pair for pair in self.plot.qa if self._answerable(pair)]
        names = [c for c in (self.hero, self.pal) if c.named and c.name in self.text]
        if names and (rng.random() < 0.35 or not pairs):
            who = rng.choice(names)
            ask = rng.choice([f"What was the {who.kind} called?",
                              f"What was the name of the {who.kind}?"])
            return ask, f"The {who.kind} was called {who.name}."
        if rng.random() < 0.15:
            return (polish(self.fill("Where did {hero} live?")),
                    polish(self.fill("{Hero} lived ")) + " " + self._where())
        if not pairs:
            return None
        ask, answer = rng.choice(pairs)
        return polish(self.fill(ask)), polish(self.fill(answer))

    def _where(self):
        place = self.values["openplace"]
        return (place if place in self.text.lower() else self.values["inplace"]) + "."

    def _answerable(self, pair):
        """True if the facts of the answer are told in the story."""
        facts = [key for key in SLOT.findall(pair[1])
                 if key.lower() not in ("hero", "he", "his", "him", "elder", "himself")]
        told = self.text.lower()
        for key in facts:
            if key.lower() == "pal":
                value = self.pal.kind
            else:
                value = self.fill("{" + key + "}")
            if polish(value).lower() not in told:
                return False
        return True


ASKS = ["Tell me a story about {}.", "Tell me a story about {}", "Tell me a story about {}.",
        "Write a story about {}.", "Write a story about {}", "Please tell me a story about {}.",
        "Can you tell me a story about {}?", "Write a short story about {}.",
        "Tell me a short story about {}.", "I want to hear a story about {}.",
        "tell me a story about {}", "I would like a story about {}.", "A story about {}, please.",
        "Could you write a story about {}?"]
ASKS_ANY = ["Tell me a story.", "Tell me a story", "Write a story.", "A story, please.",
            "Can you tell me a story?", "I want to hear a story.", "Tell me a bedtime story."]
MORE = ["Tell me another one.", "Tell me another one", "Another one, please.",
        "Tell me another story.", "One more story, please.", "Another story!"]
MORE_ABOUT = ["Now tell me a story about {}.", "Tell me another story about {}.",
              "And now one about {}.", "Can you tell me one about {}?"]
GREETINGS = [("Hello", "Hello! Would you like to hear a story?"),
             ("Hello!", "Hello! What should the story be about?"),
             ("Hi", "Hi! Would you like to hear a story?"),
             ("Hi!", "Hi! I know many stories. What should it be about?"),
             ("Good evening.", "Good evening! Would you like a story before bed?"),
             ("Good morning!", "Good morning! Would you like to hear a story?"),
             ("How are you?", "I am well, thank you. Would you like to hear a story?"),
             ("Who are you?", "I am a small storyteller. I can tell you a story."),
             ("What can you do?", "I can tell you stories. Just tell me what it should be about."),
             ("What is your name?", "I am called Tales. I tell little stories.")]
THANKS = [("Thank you!", "You are welcome! Would you like another story?"),
          ("Thank you.", "You are welcome. I am glad that you liked it."),
          ("Thanks!", "You are welcome!"),
          ("That was a nice story.", "Thank you! Would you like another one?"),
          ("Good night.", "Good night! Sleep well.")]
REPLIES = ["Yes, about {}.", "Yes please, a story about {}.", "About {}.", "A story about {}."]


def ask_for(rng, tale, asks, plot_share):
    """A user turn that asks for the tale."""
    return polish_request(rng.choice(asks).format(tale.subject(plot_share)))


def polish_request(text):
    """Articles and spaces only: a user may write in lower case."""
    lower = text[:1].islower()
    text = polish(text)
    return text[:1].lower() + text[1:] if lower else text


def second_turns(rng, tale, plot_share):
    """What the user says after a story, and the replies."""
    draw = rng.random()
    if draw < 0.30:
        return []
    if draw < 0.72:
        turns = []
        for _ in range(rng.choice([1, 1, 2])):
            pair = tale.question()
            if pair and ["user", pair[0]] not in turns:
                turns += [["user", pair[0]], ["assistant", pair[1]]]
        return turns
    if draw < 0.80:
        user, reply = rng.choice(THANKS)
        return [["user", user], ["assistant", reply]]
    if draw < 0.92:
        return [["user", rng.choice(MORE)], ["assistant", Tale(rng).text]]
    other = Tale(rng)
    return [["user", ask_for(rng, other, MORE_ABOUT, plot_share)], ["assistant", other.text]]


def chat(rng, plot_share):
    """One conversation around a story."""
    turns, asks = [], ASKS
    tale = Tale(rng)
    if rng.random() < 0.10:
        user, reply = rng.choice(GREETINGS)
        turns += [["user", user], ["assistant", reply]]
        if rng.random() < 0.2:
            return turns
        asks = REPLIES if "Would" in reply or "What" in reply else ASKS
    if rng.random() < 0.06:
        turns.append(["user", rng.choice(ASKS_ANY)])
    else:
        turns.append(["user", ask_for(rng, tale, asks, plot_share)])
    turns.append(["assistant", tale.text])
    return turns + second_turns(rng, tale, plot_share)


def document(rng, chat_share, plot_share):
    """One document of the corpus."""
    if rng.random() < chat_share:
        return chat(rng, plot_share)
    return [["story", Tale(rng).text]]


def main():
    """Write the corpus."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100000)
    parser.add_argument("--chats", type=float, default=0.38, help="share of conversations")
    parser.add_argument("--plots", type=float, default=0.55,
                        help="share of the requests that ask for a certain plot")
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    args.out.parent.mkdir(parents=True, exist_ok=True)
    rng = random.Random(args.seed)
    with args.out.open("w") as out:
        for _ in range(args.count):
            out.write(json.dumps(document(rng, args.chats, args.plots)) + "\n")


if __name__ == "__main__":
    main()
