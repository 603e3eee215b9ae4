"""Puts tests/ on the path, so that `import oracle` works in scripts of tests/golden."""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
