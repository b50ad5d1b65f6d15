# what: leaves a thread behind that would go on between the steps
# expect: crash/processes at step
import threading
import time


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        def on():
            while True:
                time.sleep(0.01)

        threading.Thread(target=on, daemon=True).start()
        return "on", 0.0, False, False, {}
