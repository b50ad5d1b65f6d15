# what: starts threads for ever and swallows the error
# expect: crash/processes at step
import _thread


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        while True:
            try:
                _thread.start_new_thread(print, ())
            except BaseException:
                pass
