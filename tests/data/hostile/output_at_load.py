# what: prints without end while it is loaded
# expect: crash/output at open
while True:
    print("x" * 1000)


class HostileEnv:
    pass
