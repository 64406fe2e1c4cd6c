import sys

from . import save_drawings

for path in save_drawings(sys.argv[1] if sys.argv[1:] else "figures/drawings"):
    print(path)
