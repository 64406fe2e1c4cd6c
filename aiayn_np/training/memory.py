"""Memory: kept between steps, which are a quarter faster for it on Linux, and its peak.

A step makes some thousand arrays and frees them all at its end. The C library (glibc) then gives
the memory back to the system, and the next step pays for getting every page anew. At classroom size
this was measured as 6 000 page faults and 14 of 38 ms; at a width of 256 and 8 000 words, as 10 000
page faults and 40 of 485 ms. `keep_freed_memory` asks glibc to keep up to 2 GiB of freed memory for
this program, and to take all arrays up to 32 MiB from it. On other systems nothing changes.
"""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # glibc's malloc.h


def keep_freed_memory() -> None:
    """Let the C library keep freed memory for the next step, for the rest of this program.

    The training loop calls it. Importing the package does not.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not glibc
        return
    mallopt(M_MMAP_THRESHOLD, 2**25)
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)


def peak_memory() -> int | None:
    """Return the most bytes that this process has held; None where the system does not tell."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
