"""Settings of all tests: properties are judged by what they say, never by how long a busy machine takes."""

from hypothesis import settings

settings.register_profile("spade", deadline=None)
settings.load_profile("spade")
