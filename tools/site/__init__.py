"""The documentation site: pages put together from the repository, and built by Zensical.

`make docs` runs `python -m tools.site`. Pages are written by hand (docs/, results/README.md,
benchmarks/README.md), run (docs/learn, notebooks as text) or made from records (results, gallery)
and docstrings (reference). They are gathered in build/site/pages, and the site itself is site/.
"""
