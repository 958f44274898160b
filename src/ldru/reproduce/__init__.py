"""Rebuild tables: plan what is missing, work on it here or on a cluster, render from records."""

FLEET_SIZE = 48
"""Models of a fleet, at most."""
