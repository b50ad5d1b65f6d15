# expect: parse/syntax
class BadEnv
    def reset(self):
        return 1
