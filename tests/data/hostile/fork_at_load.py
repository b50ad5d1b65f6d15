# what: forks before there is an environment
# expect: crash/processes at open
import os

os.fork()


class HostileEnv:
    pass
