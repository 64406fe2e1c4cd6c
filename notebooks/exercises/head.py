# %% [markdown]
# # Exercise $number · $title
#
# | | |
# |---|---|
# | **Write** | $objects |
# | **You have to find** | $asks |
# | **Paper** | Section $section |
# | **Explained in** | Lesson $lesson |
# | **Time** | $minutes minutes |
# $layer| **Rules of a layer** | Any number of axes may stand in front. Nothing that a method is given is changed. backward takes what it needs from its cache, not from self. float32 in gives float32 out. |

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    here = Path("../../../pyproject.toml").exists()
    package = "../../.." if here else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This exercise needs the package aiayn_np, and it is not installed."
                 " README.md of the lessons says how to install it. Then start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)
