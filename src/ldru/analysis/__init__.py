"""Analyses of trained models, held against exact machines."""
