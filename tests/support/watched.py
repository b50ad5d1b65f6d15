"""Kinds whose every event the operator hears."""

from spade_operator.records import Kind

WATCHED = (Kind.RUN, Kind.BATCH, Kind.ROLLOUT, Kind.POD, Kind.JOB, Kind.DEPLOYMENT, Kind.NETWORK_POLICY)
