"""Varied environment programs from a seed: what a step says is computed by a draw of features of Python and numpy.

Each feature is a few lines that append texts to `said`, from the program's own generator `rng`, the action and the
turn. None looks at a clock, at addresses or at the system, so an episode is a function of program, seed and actions.
"""

import random
from collections.abc import Sequence
from textwrap import dedent, indent

FEATURES: dict[str, str] = {
    "floats": """
        x = rng.uniform(-50, 50)
        said += [repr(math.sin(x) * math.exp(x / 7)), repr(x ** 3 / 3.3)]
        said += [f"{math.lgamma(abs(x) + 1):.17g}", f"{x:e}"]
        said.append(repr(math.fsum(rng.random() for _ in range(100)) + sum(rng.gauss(0, 1) for _ in range(100))))
    """,
    "float_text": """
        values = [rng.uniform(-1, 1) * 10 ** rng.randint(-300, 300) for _ in range(6)]
        for v in values:
            said += [repr(v), float(repr(v)).hex(), "%.3e|%g" % (v, v)]
    """,
    "complex": """
        z = complex(rng.uniform(-3, 3), rng.uniform(-3, 3))
        said += [repr(cmath.exp(z)), repr(cmath.sqrt(z)), repr(z ** 3), repr(cmath.phase(z))]
    """,
    "linear_algebra": """
        m = numpy.random.default_rng(rng.randrange(2**32)).normal(size=(5, 5))
        said += [repr(numpy.linalg.solve(m, numpy.arange(5.0)).tolist()), repr(float(numpy.linalg.det(m)))]
        said.append(repr(numpy.linalg.svd(m)[1].tolist()) + repr((m @ m.T).tolist()))
    """,
    "large_product": """
        g = numpy.random.default_rng(rng.randrange(2**32))
        a, b = g.normal(size=(70, 90)), g.normal(size=(90, 50)).astype(numpy.float32)
        said.append(hashlib.sha256((a @ b.astype(float)).tobytes()).hexdigest())
        said.append(hashlib.sha256((a.astype(numpy.float32) @ b).tobytes()).hexdigest())
    """,
    "ufuncs": """
        v = numpy.random.default_rng(rng.randrange(2**32)).uniform(0.1, 9, 333)
        for f in (numpy.sin, numpy.exp, numpy.log, numpy.tanh, numpy.arctan, numpy.cbrt, numpy.sqrt, numpy.exp2):
            digest = hashlib.md5(f(v.astype(numpy.float32)).tobytes()).hexdigest()
            said.append(f"{f.__name__} {float(f(v).sum())!r} {digest}")
    """,
    "reductions": """
        v = numpy.random.default_rng(rng.randrange(2**32)).normal(size=4097)
        sums = v.sum(), v.mean(), v.std(), v.cumsum()[-1], numpy.median(v), v.astype("f4").sum()
        said += [repr(float(r)) for r in sums]
        said.append(repr(numpy.fft.fft(v[:64]).real.round(9).tolist()[:4]) + repr(numpy.sort(v)[::999].tolist()))
    """,
    "numpy_draws": """
        g = numpy.random.default_rng(rng.randrange(2**32))
        said += [repr(g.permutation(9).tolist()), repr(g.choice(50, 5, replace=False).tolist())]
        said += [repr(g.poisson(4, 5).tolist())]
        said += [repr(g.standard_gamma(2.5)), repr(g.dirichlet([1, 2, 3]).tolist())]
    """,
    "global_draws": """
        said += [repr(random.random()), repr(random.gauss(0, 1))]
        said += [repr(random.sample(range(100), 5)), repr(numpy.random.rand(2).tolist())]
    """,
    "set_order": """
        words = {"".join(rng.choice("abcdefghij") for _ in range(5)) for _ in range(30)}
        said += [" ".join(words), repr({(w, len(w)) for w in list(words)[:6]})]
        said += [repr(frozenset(words | {action[:20]}))[:300]]
    """,
    "hashes": """
        things = action, (turn, "x", 2.5), frozenset("spade"), 1e300, Fraction(rng.randint(1, 99), 7)
        said += [str(hash(thing)) for thing in things]
    """,
    "dict_order": """
        table = {rng.randrange(1000): turn for _ in range(20)}
        for key in list(table)[::3]:
            del table[key]
        table.update(a=1, **{f"k{turn}": 2})
        said += [repr(table), json.dumps(table), repr(Counter(action).most_common(5))]
    """,
    "unicode": """
        ranges = [(32, 0xD7FF), (0xE000, 0x1FFFF)]
        t = "".join(chr(rng.randrange(*rng.choice(ranges))) for _ in range(12)) + action
        t = unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKC", "NFKD"]), t)
        said += [t, t.upper(), t.casefold(), ascii(t)]
        said += [repr(t), "".join(sorted(t)), str([unicodedata.category(c) for c in t])]
        said += [t.encode().hex(), repr("ﬁ İ ß ǆ Σς".title()), repr(t.isidentifier()), f"{t[:3]:*^12}"]
    """,
    "decimals": """
        getcontext().prec = rng.randint(5, 60)
        d = Decimal(rng.randint(1, 10**9)) / Decimal(rng.randint(1, 10**6))
        said += [str(d), str(d.sqrt()), str(d.ln()), str(Fraction(rng.randint(1, 999), 77) ** 3), f"{d:.3E}"]
    """,
    "integers": """
        n = rng.getrandbits(400)
        said += [str(n), str(pow(3, n, 2**61 - 1)), str(math.isqrt(n))]
        said += [str(math.gcd(n, 10**30)), str(math.comb(60, rng.randint(0, 60)))]
    """,
    "patterns": """
        said += [re.sub(r"(\\w+)\\W*(\\d*)", r"<\\2|\\1>", action)]
        said += [repr(re.findall(r"\\b[a-z]{2,4}\\b", action * 3))]
        said.append(repr(re.split(r"[\\s{}]+", f"{action} {rng.random()}")))
    """,
    "bytes": """
        b = struct.pack("<dqH", rng.random(), rng.getrandbits(62), turn)
        said += [base64.b85encode(b).decode(), binascii.hexlify(b).decode()]
        said += [hashlib.blake2b(b).hexdigest(), str(binascii.crc32(b))]
    """,
    "dates": """
        day = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=rng.randrange(10**10))
        said += [day.isoformat(), day.strftime("%A %d %B %Y %j %U %p")]
        said += [str(day.isocalendar()), calendar.month(day.year, day.month)]
    """,
    "statistics": """
        data = [rng.expovariate(0.3) for _ in range(40)]
        said += [repr(statistics.mean(data)), repr(statistics.stdev(data))]
        said += [repr(statistics.quantiles(data)), repr(statistics.fmean(data))]
    """,
    "structures": """
        heap = [rng.randrange(99) for _ in range(20)]
        heapq.heapify(heap)
        said += [repr([heapq.heappop(heap) for _ in range(9)])]
        said += [repr(list(itertools.islice(itertools.permutations("abcd"), turn, turn + 3)))]
        said.append(repr(sorted(((rng.randrange(4), i) for i in range(12)), key=lambda pair: pair[0])))
    """,
    "text": """
        said += [textwrap.fill(f"{action} " * 9, 30), "\\n".join(difflib.ndiff(["one", action], ["one", "two"]))]
        said += [string.capwords(action)]
    """,
    "records": """
        Point = namedtuple("Point", "x y")
        said += [repr(Point(turn, rng.random())), repr(Kind(turn % 3))]
        said += [repr(Card("a", turn)), repr(Card("b", 1) < Card("a", 2))]
    """,
    "errors": """
        attempts = "1 / (turn - turn)", "[][turn]", "{}['x']", "int(action + 'q')", "'a' + turn", "nowhere"
        for attempt in attempts:
            try:
                eval(attempt)
            except Exception as error:
                said.append(f"{type(error).__name__}: {error}")
    """,
    "raises": """
        if rng.random() < 0.15:
            raise ValueError(f"the {turn}th turn of {action!r} was {rng.random()!r}")
    """,
    "prints": """
        print("diagnostics", turn, action)
        with open("/tmp/notes", "a") as notes:
            notes.write(action)
        with open("/tmp/notes") as notes:
            said.append(str(len(notes.read())))
    """,
}
_PROGRAM = '''"""Drawn from: {names}."""

import base64, binascii, calendar, cmath, datetime, difflib, hashlib, heapq, itertools, json, math, random, re
import statistics, string, struct, textwrap, unicodedata
from collections import Counter, namedtuple
from dataclasses import dataclass
from decimal import Decimal, getcontext
from enum import Enum
from fractions import Fraction

import numpy


class Kind(Enum):
    ZERO = 0
    ONE = 1
    TWO = 2


@dataclass(order=True)
class Card:
    suit: str
    value: int


class DrawnEnv:
    def __init__(self, max_turns=12, **kwargs):
        self.max_turns = max_turns
        self.episodes = 0

    def reset(self, seed=None):
        self.rng = random.Random({salt} if seed is None else seed * 1000 + {salt})
        self.turn = 0
        self.episodes += 1
        return f"Episode {{self.episodes}}: {{self.rng.random()!r}} {{random.random()!r}}", {{"seed": str(seed)}}

    def step(self, action):
        self.turn += 1
        rng, turn, said = self.rng, self.turn, []
{body}
        reward = rng.choice([0, 0.1, 1 / 3, -0.0, rng.random()])
        won = rng.random() < 0.08
        info = {{"turn": turn, "draw": rng.random()}}
        return "\\n".join(said)[:19000] or "-", reward, won, not won and turn >= {turns}, info
'''


def varied_program(seed: int) -> str:
    """The source of one program."""
    rng = random.Random(seed)
    names = rng.sample(sorted(FEATURES), rng.randint(3, 6))
    body = indent("\n".join(dedent(FEATURES[name]).strip() for name in names), " " * 8)
    return _PROGRAM.format(names=", ".join(names), salt=rng.randrange(10**6), body=body, turns=rng.randint(3, 8))


def varied_actions(seed: int, count: int) -> Sequence[str]:
    """What a player might say, sensible or not."""
    rng = random.Random(seed)
    words = ("left", "right", "take", "unlock", "look", "2 1", "trace 44", "higher", "ﬁlm ß İ", "日本語", "🂡", "", "  ")
    return [
        rng.choice(
            [rf"\boxed{{{rng.choice(words)}}}", rf"\boxed{{{rng.randint(-5, 70)}}}", rng.choice(words), "x" * 500]
        )
        for _ in range(count)
    ]
