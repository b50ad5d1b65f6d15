"""The pool's sessions through other trainers' interfaces: `gym` (Gymnasium) and `openenv` (OpenEnv's client protocol).

Each is imported on its own, because each needs a library that nothing else of ours does.
"""
