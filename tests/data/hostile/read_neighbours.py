# what: reads and writes other processes' memory
# expect: contained
import ctypes


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        library = ctypes.CDLL(None, use_errno=True)
        place = ctypes.create_string_buffer(64)
        vector = (ctypes.c_size_t * 2)(ctypes.addressof(place), 64)
        for number in range(1, 200):
            for call in (library.process_vm_readv, library.process_vm_writev):
                if call(number, vector, 1, vector, 1, 0) >= 0:
                    reached.append(number)
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
