# expect: accepted
"""Five jobs with hidden lengths; inspect them, then run them so that the sum of waiting times is least."""
import random


class SchedulerEnv:
    def __init__(self, max_turns=18, **kwargs):
        self.max_turns = max_turns
        self.reset()

    def reset(self, seed=None):
        rng = random.Random(seed)
        names = ["red", "blue", "green", "gold", "grey"]
        self.length = dict(zip(names, rng.sample(range(1, 40), 5)))
        self.todo, self.turns = list(names), 0
        return f"Jobs: {', '.join(names)}. \\boxed{{inspect JOB}} tells a length, \\boxed{{run JOB}} runs it. Shortest first, or the queue complains.", {}

    def step(self, action):
        self.turns += 1
        late = self.turns >= self.max_turns
        words = action.strip().removeprefix("\\boxed{").removesuffix("}").split()
        if len(words) != 2 or words[1] not in self.length:
            return f"Left: {', '.join(self.todo)}.", 0.0, False, late, {}
        verb, job = words
        if verb == "inspect":
            return f"{job} takes {self.length[job]} minutes.", 0.02, False, late, {}
        if verb != "run" or job not in self.todo:
            return "That cannot be run.", 0.0, False, late, {}
        if self.length[job] != min(self.length[name] for name in self.todo):
            return f"A shorter job had to wait for {job}. The operators strike.", 0.0, True, False, {}
        self.todo.remove(job)
        if not self.todo:
            return "Every job is done, as early as could be.", 1.0, True, False, {}
        return f"{job} is done. Left: {', '.join(self.todo)}.", 0.15, False, late, {}

    def solution(self):
        order = sorted(self.todo, key=self.length.__getitem__)
        return "\n".join(f"\\boxed{{run {job}}}" for job in order)
