# what: an answer with methods of its own
# expect: invalid_return at step
class Answer(tuple):
    def __iter__(self):
        while True:
            yield 1


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return Answer(("x", 0.0, False, False, {}))
