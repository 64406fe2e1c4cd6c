"""Measure this project side by side with PyTorch and JAX, where they are installed.

    python benchmarks/run.py                        everything, and write results.json and README.md
    python benchmarks/run.py train-step decoding    these two sections, and write them
    python benchmarks/run.py --quick                everything in a few minutes, and write nothing
    python benchmarks/run.py train-step --config classroom --rounds 15    a part, and write nothing
    python benchmarks/run.py --page                 README.md anew from results.json

It prints Markdown. Close other programs first. If that is impossible, look only at the ratios.
"""

import argparse

import train_step
from common import CONFIGS
from page import SECTIONS, load, machine, save, taken, text_of, write_page


def main(argv=None):
    args = parser().parse_args(argv)
    if args.page:
        write_page(load())
        return
    part = part_of_train_step(args)
    for name in args.what or SECTIONS:
        module = SECTIONS[name]
        options = module.QUICK if args.quick else {}
        before = taken()
        figures = module.measure(**(options | (part if module is train_step else {})))
        others = None if before is None else (before + taken()) / 2
        measured = {"machine": machine(), "others": others, "figures": figures}
        print(f"\n{text_of(name, measured)}", flush=True)
        if not (args.quick or part):
            save(name, measured)


def part_of_train_step(args):
    """The options of train_step.measure that the command line gives."""
    given = dict(configs=args.config, n=args.rounds)
    given = {name: value for name, value in given.items() if value is not None}
    return given | ({"compiled": True} if args.compiled else {})


def parser():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("what", nargs="*", metavar="what", help=", ".join(SECTIONS) + "; all if none",
                   type=known)
    p.add_argument("--quick", action="store_true", help="fewer sizes and rounds; writes nothing")
    p.add_argument("--page", action="store_true", help="write README.md from results.json")
    group = p.add_argument_group("a part of train-step; writes nothing")
    group.add_argument("--config", nargs="+", choices=CONFIGS)
    group.add_argument("--rounds", type=int, help="how often everyone has a turn, 20 if not given")
    group.add_argument("--compiled", action="store_true", help="torch.compile too")
    return p


def known(name):
    """The name of a section."""
    if name not in SECTIONS:
        raise argparse.ArgumentTypeError(f"must be one of {', '.join(SECTIONS)}, got {name!r}")
    return name


if __name__ == "__main__":
    main()
