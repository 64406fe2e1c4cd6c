"""The number of threads that BLAS has now."""

from threadpoolctl import threadpool_info


def now():
    (n,) = {lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"}
    return n
