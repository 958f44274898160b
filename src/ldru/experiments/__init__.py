"""Experiments: runs, their folders and records, tables and figures."""
