"""The end of a check, with what is known of the fault."""

import re

from aiayn_np.checks import one_line

from ..language import say

FIRST = re.compile(r".*?(\.(?= )|。|$)", re.DOTALL)  # the first sentence
OWN_ARRAY = ("Others still need what you did not make yourself: x = x + 1 and x.reshape(...) make"
             " new arrays, x += 1 and x.shape = ... change the old one.")


class Stop(Exception):
    """Ends a check: what is wrong, and what is known of it.

    diagnosis : a short key
    where, cause : what a report says at once, and the first hint. Without a cause, it is what comes
        after the first sentence of `where`
    tensor : the name of a wrong tensor, or a list of names
    got : the student's array, if its shape is wrong
    failure : the Failure of the student's code, or None
    finding : the Finding on wrong numbers, or None
    code : the student's line, if it is known
    """

    def __init__(self, diagnosis, where, cause="", *, question="", tensor=None, got=None,
                 failure=None, finding=None, code=""):
        super().__init__(where, cause)
        if not cause and finding is None and failure is None:
            first = FIRST.match(where)[0]                              # type: ignore[index]
            where, cause = first, where.removeprefix(first).strip()
        self.diagnosis, self.where, self.cause, self.question = diagnosis, where, cause, question
        self.tensor, self.got, self.failure, self.finding = tensor, got, failure, finding
        self.code = code

    @property
    def message(self):
        return f"{self.where} {self.cause}".strip()

    def advise(self, case):
        """Add the case's advice to what is said of an error of Python or of a wrong shape."""
        if case.why and (self.failure or self.got is not None):
            self.cause = f"{self.cause} {say(case.why)}".strip()


def describe(error):
    """Return an error in one line, without its text if the student's class cannot make one."""
    try:
        text = one_line(error)
    except BaseException:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
