"""The command `zoo`: plant real bugs one by one, and show which checks catch them."""

import functools

from aiayn_np.cli.common import UsageError, note
from aiayn_np.cli.progress import shown

NOTHING = "no bug planted"


def add_zoo_options(parser):
    """Add the options of `zoo`."""
    parser.add_argument("number", nargs="*", type=int,
                        help="of the bug, for the details; none: all")
    parser.add_argument("--train", action="store_true",
                        help="instead, train a model with each bug of the paper's parts")


def zoo_command(args):
    """Hunt the chosen bugs, or all bugs if none is chosen; or train with each bug planted."""
    from ..lab.zoo import BUGS
    from ..lab.zoo.bug import PAPER

    for number in args.number:
        if number not in BUGS:
            raise UsageError(f"every number must be one of 1 to {len(BUGS)}, got {number}")
        if args.train and number > PAPER:
            raise UsageError(f"--train is for the bugs 1 to {PAPER}: the model of the copy task has"
                             f" no part that bug {number} is in")
    chosen = args.number or [n for n in BUGS if n <= PAPER or not args.train]
    bugs = [BUGS[number] for number in dict.fromkeys(chosen)]
    return train_all(bugs) if args.train else hunt_all(bugs, details=bool(args.number))


def hunt_all(bugs, details):
    """Run the checks without a bug, then with each bug; return the exit code.

    The exit code is 0 if all checks pass without a bug, and the check that a bug names catches it.
    """
    from ..lab.zoo import CHECKS, failures, hunt

    if broken := failures():
        note("\n".join(f"{name}: {what}" for name, what in broken.items()))
        print(f"{len(broken)} of {len(CHECKS)} checks fail with {NOTHING}: nothing can be hunted")
        return 1
    print(f"{len(CHECKS)} checks pass with {NOTHING}")
    widths = [max(map(len, column)) for column in (["bug", *(bug.name for bug in bugs)],
                                                   ["where", *(bug.where for bug in bugs)])]
    caught = 0

    def line(number, *cells):
        name, where, by, seen = map(str.ljust, cells, [*widths, 38, 0])
        print(f"{number:>2}  {name}  {where}  {by}  {seen}", flush=True)

    line("", "bug", "where it is planted", "caught by", "who had it")
    for bug in bugs:
        found = hunt(bug)
        caught += bug.caught_by in found
        line(bug.number, bug.name, bug.where, caught_text(bug, found), bug.seen)
        if details:
            print(details_text(bug, found), flush=True)
    print(f"{caught} of {len(bugs)} caught")
    return 0 if caught == len(bugs) else 1


def caught_text(bug, found):
    """Name the check that caught the bug and count the others; or say that no check caught it."""
    if not found:
        return "NOT CAUGHT"
    if bug.caught_by not in found:
        return f"NOT by {bug.caught_by}"
    return bug.caught_by + (f", {len(found) - 1} more" if len(found) > 1 else "")


def details_text(bug, found):
    """Return the description, the formula and the findings of the checks for a bug, as text."""
    lines = [*bug.what.splitlines(), "", *bug.formula.splitlines(), ""]
    lines += [f"{name:<29}  {what}" for name, what in found.items()]
    return "\n".join(f"    {line}".rstrip() for line in lines) + "\n"


def vectors_command(args):
    """Write test vectors, or compare with them and name the bugs that give the wrong numbers."""
    from aiayn_np.cli.vectors import vectors_command

    from ..lab.zoo import BUGS

    return vectors_command(args, BUGS.values())


def train_all(bugs):
    """Train a model without a bug, and one with each bug; print a Markdown table of outcomes."""
    from ..lab.zoo.learning import HEAD, HEALTHY_SEEDS, STEPS, learn_to_copy

    print(HEAD)
    for bug, seed in [*((None, seed) for seed in range(HEALTHY_SEEDS)), *((b, 0) for b in bugs)]:
        number, name = (bug.number, bug.name) if bug else ("none", f"{NOTHING}, seed {seed}")
        watch = functools.partial(shown, total=STEPS, what=name)
        print(f"| {number} | {name} | {learn_to_copy(bug, seed=seed, watch=watch)} |", flush=True)
    return 0
