"""Timings side by side: every ratio comes from one run."""
