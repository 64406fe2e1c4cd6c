"""The command `explore`: a page that runs a trained model in the browser."""

from aiayn_np.cli.common import UsageError, add_run, command_line, note, opened, printable
from aiayn_np.cli.look import source_of
from aiayn_np.cli.train import trained
from aiayn_np.cli.writing import add_out, check_file, files_of


def add_explore_options(parser):
    """Add the options of `explore`."""
    add_run(parser)
    parser.add_argument("sequence", nargs="*", default=[],
                        help='such as "3 1 4", or a sentence; none: some of the test set')
    add_out(parser, "--out", "file of the page (default: RUN/explore.html)")
    parser.add_argument("--title", default="", help="heading (default: what the model does)")
    parser.add_argument("--lessons", default="", metavar="ADDRESS",
                        help="address of the lessons' pages, for links; its folder zh has the"
                             " Chinese ones (default: no links)")


def explore_command(args):
    """Write the page that runs the model, and print its path."""
    from ..page.live_page import most_telling_first, write_live_page

    run = opened(args.run)
    path = args.out or args.run / "explore.html"
    check_file("--out", path, ".html", ".htm", force=args.force, own=args.out is None,
               inputs=files_of(args.run))
    if reason := obstacle(run):
        raise UsageError(f"no page can run this model: {reason};"
                         f" `{command_line('aiayn-np', 'attend', args.run)}` draws its attention")
    sources = ([source_of(run, text) for text in args.sequence]
               or most_telling_first(run, run.task.examples(20)))
    print(printable(write_live_page(run, path, sources, title=args.title, lessons=args.lessons)))
    note("open it in a browser")
    return 0


def obstacle(run):
    """Return the reason why no page can run the model of a run, or "" if a page can."""
    from ..page import live, live_page

    try:
        live.check_runnable(run.model)
        live_page.task_of(run)
    except live.NotRunnable as error:
        return str(error)
    return ""


def train_command(args):
    """Train; then print how to try the run in a browser, if a page can run its model."""
    run = trained(args)
    if run and run.ranks.rank == 0 and not obstacle(run):
        print("To try it out in a browser:", command_line("aiayn-np", "explore", run.folder))
    return 0 if run else 1
