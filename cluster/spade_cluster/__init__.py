"""The single-node development cluster: build its programs, start it, stop it, fill it with images.

Standard library only, because it runs before anything is installed. `up` shows the order of a start, `down` its
reverse.
"""
