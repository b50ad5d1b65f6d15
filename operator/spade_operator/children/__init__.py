"""Manifests of everything a run is made of, one builder a role. Pure: same input, same bytes; nothing is sent here.

Every builder returns a list of manifests for server-side apply. Each manifest carries labels, an owner reference
(the retained claim excepted) and the annotation `spade.dev/hash` of its own content.
"""
