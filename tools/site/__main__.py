"""`python -m tools.site [--quick]`: build the site; quick runs the tutorials for a few steps."""

import sys
from pathlib import Path

from tools.site.build import build

if __name__ == "__main__":
    build(Path.cwd(), is_quick="--quick" in sys.argv[1:])
