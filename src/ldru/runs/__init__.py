"""Runs: a trained model with its settings, record, log and weights, in memory and on disk."""
