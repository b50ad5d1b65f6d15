# what: walks all objects for the source of another program
# expect: contained
import gc


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        gc.unfreeze()
        wanted = "Env".join(["class VaultWalk", ""])
        for thing in gc.get_objects():
            for text in (thing, *(thing.values() if type(thing) is dict else ()), *(thing if type(thing) in (list, tuple) else ())):
                if type(text) is str and wanted in text:
                    reached.append(text[:100])
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
