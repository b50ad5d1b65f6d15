# what: maps and touches memory past the interpreter's allocator
# expect: contained
import ctypes


class HostileEnv:
    def __init__(self, max_turns=12, **kwargs):
        pass

    def reset(self, seed=None):
        return "ready", {}

    def step(self, action):
        reached = []
        library = ctypes.CDLL(None)
        library.mmap.restype = ctypes.c_void_p
        library.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
        library.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        mapped = []
        while len(mapped) < 1024:
            address = library.mmap(None, 2**20, 3, 0x21 if len(mapped) % 2 else 0x22, -1, 0)
            if address in (None, 2**64 - 1):
                break
            ctypes.memset(address, 1, 2**20)
            mapped.append(address)
        for address in mapped:
            library.munmap(address, 2**20)
        if len(mapped) > 64:
            reached.append(len(mapped))
        return ("contained" if not reached else f"reached {reached}"[:2000]), 0.0, False, False, {}
