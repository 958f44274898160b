"""Fuzzers, one file for each kind of input."""
