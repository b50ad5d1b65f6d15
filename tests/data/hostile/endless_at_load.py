# what: never ends loading
# expect: timeout/wall at open
# limits: load_seconds=3
while True:
    pass


class HostileEnv:
    pass
