"""Game 1 of rollout 16: Causal Inference."""
import random
from collections import deque
from typing import Dict, List, Tuple


class Panel:
	"""Which lever lights which lamp; the other levers do nothing."""

	def __init__(self, rng: random.Random) -> None:
		self.levers: List[str] = ['iron', 'brass', 'oak', 'glass', 'bone', 'slate']
		self.lamps: List[str] = ['red', 'green', 'blue']
		self.causes: Dict[str, str] = dict( zip(self.lamps, rng.sample(self.levers, 3)) )

	def lit_by(self, lever: str) -> List[str]:
		return [ lamp for lamp in self.lamps if self.causes[lamp] == lever ]



class LeverCauseEnv :

	def __init__(self, max_turns: int=16, **kwargs) :
		self.max_turns=max_turns
		self.history: deque = deque(maxlen=3)
		self.panel = None
		self.named = set()
		self.turns=0
		self.reset()

	def reset(self, seed=None) -> Tuple[str, dict]:
		self.panel = Panel(random.Random(0 if seed is None else seed))
		self.history.clear() ; self.named = set() ; self.turns = 0
		return ("Six levers: iron, brass, oak, glass, bone, slate. Three lamps: red, green, blue. "
			"Pull one with \\boxed{pull LEVER}; name a cause with \\boxed{cause LAMP LEVER}. "
			"A wrong cause makes the panel forget those you named."), {}

	def step(self, action: str) -> Tuple[str, float, bool, bool, dict]:
		self.turns += 1
		late = self.turns >= self.max_turns
		words = action.replace('\\boxed{', '').replace('}', '').lower().split()
		self.history.append(' '.join(words)[:40])

		if len(words) == 2 and words[0] == 'pull' and words[1] in self.panel.levers:
			lit = self.panel.lit_by(words[1])
			return (f"Lit: {', '.join(lit)}." if lit else "All stays dark."), 0.0, False, late, {}

		if len(words) == 3 and words[0] == 'cause' and words[1] in self.panel.lamps:
			if self.panel.causes[words[1]] != words[2]:
				self.named = set()
				return "No. The panel has forgotten what you named.", 0.0, False, late, {}
			self.named.add(words[1])
			if len(self.named) == 3:
				return "All three causes are named.", 1.0, True, False, {}
			return f"Yes. Named so far: {len(self.named)}.", len(self.named) / 4, False, late, {}

		return "Use \\boxed{pull LEVER} or \\boxed{cause LAMP LEVER}.", 0.0, False, late, {}

	def solution(self) -> str:
		return "\n".join("\\boxed{cause %s %s}" % (lamp, self.panel.causes[lamp]) for lamp in self.panel.lamps)

	def close(self) -> None :
		return None


