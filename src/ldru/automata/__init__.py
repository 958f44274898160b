"""Exact machines: numpy, no torch."""
