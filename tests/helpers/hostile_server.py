"""Run command lines as a shell would, each in a fork of this process: a job per line of stdin.

A job is a dict as in `hostile.Place.run`; an answer is a line of JSON.
"""

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import time
import traceback

with contextlib.suppress(ImportError):
    import sacrebleu  # noqa: F401
    import safetensors.numpy  # noqa: F401
    import sentencepiece  # noqa: F401
    import tokenizers  # noqa: F401
import matplotlib.animation
import matplotlib.backends.backend_agg
import matplotlib.figure
import tqdm  # noqa: F401
from PIL import Image

from aiayn_np.cli.main import main
from aiayn_np.experiments import EXPERIMENTS  # noqa: F401
from aiayn_np.runs import open as _open  # noqa: F401
from aiayn_np.runs import text_start  # noqa: F401
from aiayn_np.zoo import learning

UNTIL_CTRL_C, UNTIL_LATE = 10, 120  # seconds
DOT = io.BytesIO()
Image.new("RGB", (1, 1)).save(DOT, "PNG")


def child(job, out, err, stdin):
    """Be the command: leave with its exit code, as `sys.exit(main())` does."""
    os.setpgid(0, 0)
    for handle, number in ((stdin, 0), (out, 1), (err, 2)):
        os.dup2(handle.fileno(), number)
    sys.stdin = io.TextIOWrapper(io.FileIO(0), encoding="utf-8")
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w"), encoding="utf-8")
    sys.stderr = io.TextIOWrapper(io.FileIO(2, "w"), encoding="utf-8", errors="backslashreplace",
                                  line_buffering=True)
    matplotlib.figure.Figure.savefig = blank
    code = 70
    try:
        code = main(job["argv"])
    except SystemExit as end:                                          # argparse
        code = end.code
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else 70)


def blank(figure, file, **options):
    """Instead of drawing, which takes seconds: the smallest picture."""
    file.write(DOT.getvalue())


def wait(process, seconds):
    """The exit code of a process, or None if it does not end within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(process, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def run(job):
    """Fork, wait, and tell how it ended."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, \
            tempfile.TemporaryFile() as stdin:
        stdin.write(job["stdin"].encode("utf-8", "surrogatepass"))
        stdin.seek(0)
        process = os.fork()
        if not process:
            child(job, out, err, stdin)
        code = wait(process, UNTIL_CTRL_C)
        if code is None:
            os.kill(process, signal.SIGINT)
            code = wait(process, UNTIL_LATE)
        late = code is None
        if late:
            code = -9
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
        out.seek(0)
        err.seek(0)
        return dict(code=code, late=late, out=out.read().decode("utf-8", "replace"),
                    err=err.read().decode("utf-8", "replace"))


if __name__ == "__main__":
    learning.learn_to_copy.__kwdefaults__["steps"] = 5                 # instead of 700
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
