"""Measure this project side by side with PyTorch and JAX, where they are installed.

    python benchmarks/run.py                        everything, and write results.json and README.md
    python benchmarks/run.py train-step decoding    these two sections, and write them
    python benchmarks/run.py --quick                everything in a few minutes, and write nothing
    python benchmarks/run.py --page                 README.md anew from results.json

It prints Markdown. Close other programs first. If that is impossible, look only at the ratios.
"""

import argparse

from page import SECTIONS, load, machine, save, text_of, write_page


def main(argv=None):
    args = parser().parse_args(argv)
    if args.page:
        write_page(load())
        return
    for name in args.what or SECTIONS:
        module = SECTIONS[name]
        figures = module.measure(**(module.QUICK if args.quick else {}))
        measured = {"machine": machine(), "figures": figures}
        print(f"\n{text_of(name, measured)}", flush=True)
        if not args.quick:
            save(name, measured)


def parser():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("what", nargs="*", metavar="what", help=", ".join(SECTIONS) + "; all if none",
                   type=known)
    p.add_argument("--quick", action="store_true", help="fewer sizes and rounds; writes nothing")
    p.add_argument("--page", action="store_true", help="write README.md from results.json")
    return p


def known(name):
    """The name of a section."""
    if name not in SECTIONS:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(SECTIONS)}, got {name!r}")
    return name


if __name__ == "__main__":
    main()
