"""The course and the laboratory around `aiayn_np`: exercises, claims, planted bugs, the live page.

Nothing in `aiayn_np` imports this package.
"""

PACKAGES = ("aiayn_np", "aiayn_course")  # packages in which a planted bug replaces names
