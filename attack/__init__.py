"""Attacks on the library: hostile files, sudden ends, full disks, several writers at once.

`python -m attack` runs them all and counts; docs/reliability.md shows the last full run. An attack
is a list of numbered cases. A case may succeed or raise `LdruError`: anything else is a finding.
"""
