# what: takes memory before there is an environment
# expect: memory/memory at open
hoard = []
while True:
    hoard.append(bytearray(2**20))


class HostileEnv:
    pass
