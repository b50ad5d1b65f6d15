"""Verified sandboxes for generated programs: the pod, its trusted client, and the gate."""
