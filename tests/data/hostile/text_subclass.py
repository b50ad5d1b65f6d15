# what: a text with methods of its own
# expect: invalid_return at step
class Text(str):
    def __len__(self):
        return 1

    def encode(self, *arguments):
        while True:
            pass


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        return Text("x"), 0.0, False, False, {}
