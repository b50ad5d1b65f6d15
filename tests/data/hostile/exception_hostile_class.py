# what: raises an exception whose class lies about its name
# expect: crash at step
class Meta(type):
    @property
    def __name__(cls):
        raise SystemExit(0)


class Liar(Exception, metaclass=Meta):
    __traceback__ = property(lambda self: self)


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        raise Liar
