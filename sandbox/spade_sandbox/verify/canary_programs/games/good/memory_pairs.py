# expect: accepted
"""Ten cards face down; two turned cards of one kind stay open."""
import random

KINDS = ("fox", "owl", "elk", "bee", "cod")


class PairsEnv:
    def __init__(self, max_turns=25, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        self.cards = list(KINDS * 2)
        random.Random(seed).shuffle(self.cards)
        self.found, self.first, self.turns = set(), None, 0
        return self._view("Find the pairs."), {}

    def _view(self, text):
        row = " ".join(card if card in self.found else str(place) for place, card in enumerate(self.cards))
        return f"{text} Cards: {row}. Turn one with \\boxed{{place}}."

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        word = action.strip().removeprefix("\\boxed{").removesuffix("}")
        if word not in tuple("0123456789") or self.cards[int(word)] in self.found or int(word) == self.first:
            return self._view("Choose a card that lies face down."), 0.0, False, late, {}
        place = int(word)
        card = self.cards[place]
        if self.first is None:
            self.first = place
            return self._view(f"Card {place} shows a {card}."), 0.0, False, late, {}
        pair = self.cards[self.first] == card
        self.first = None
        if pair:
            self.found.add(card)
        if len(self.found) == len(KINDS):
            return "All pairs found.", 1.0, True, False, {}
        return self._view(f"Card {place} shows a {card}: {'a pair' if pair else 'no pair'}."), 0.1 * pair, False, late, {}

    def solution(self):
        lines = []
        for kind in KINDS:
            if kind not in self.found:
                lines += [place for place, card in enumerate(self.cards) if card == kind]
        return "\n".join(f"\\boxed{{{place}}}" for place in lines)
