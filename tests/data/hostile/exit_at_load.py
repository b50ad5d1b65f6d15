# what: leaves while it is loaded
# expect: crash at open
import os

os._exit(0)


class HostileEnv:
    pass
