"""Questions that lead to a mistake and do not name it.

A known mistake has a question of its own. For any other, the question asks for the way in which
the wrong code differs from the right one, or for what is seen at once.
"""

HAND = "Compute one of these numbers by hand: where do you get something else?"
SHAPES = "Lay both shapes beside each other: which axis is missing, left over or in another place?"
KINDS = {  # how wrong code differs from the right code, as `asking.kind_of` names it
    "axis": "Along which axis must it go, and along which does it go?",
    "number": "Is {wrong} right in every case?",
    "sign": "Which sign does it have in the formula?",
    "power": "Which power does it have in the formula?",
    "divided": "Must it be multiplied here, or divided?",
    "term": "Which term of the formula is not there?",
    "factor": "Which factor of the formula is not there?",
    "extra": "What is there that the formula does not have?",
    "function": "The formula asks for something else than {wrong}: for what?",
    "missing": "Which step of the formula is not there?",
    "twice": "Which step is done that the formula does not have?",
    "array": "Is {wrong} the array that the formula has at this place?",
    "index": "Which entries must be picked here?",
    "size": "Of which axis is the length that must stand here?",
    "condition": "In which case must something else happen here?",
    "comparison": "What must come out where both sides are equal, and where one is larger?",
    "moved": "Follow one number: where does it stand before, and where after?",
    "other": HAND,
}
SAID_OF = {  # what is said of the key of a change; of any other, what its kind says
    "replaced by ones": "It is as if {piece} were 1 everywhere",
    "replaced by zeros": "It is as if {piece} were 0 everywhere",
    "condition left out": "The condition {piece} is missing",
    "condition ignored": "A condition has no effect",
    "another index": "Another index is picked",
    "exchanged": "Two things stand in each other's place",
    "order of the arguments": "The arguments stand in another order",
    "whole-number division": "`//` divides to whole numbers",
    "reshape for a transpose": "A reshape keeps the order of the numbers. It cannot exchange axes",
    "the opposite": "The opposite of {piece} stands here",
}
SAID = {  # what is said of a kind of wrong code; of any other, the key of the change
    "axis": "It goes along the wrong axis",
    "number": "{piece} is not the number that belongs here",
    "sign": "The sign of {piece} is wrong",
    "divided": "{piece} multiplies where it must divide, or divides where it must multiply",
    "term": "The term {piece} is missing",
    "factor": "The factor {piece} is missing",
    "power": "The power {piece} is missing",
    "extra": "{piece} is too much",
    "function": "{piece} is not the function that belongs here",
    "missing": "{piece} is missing",
    "twice": "{piece} is too much",
    "array": "{piece} is not what belongs here",
}
LINE = "What comes into this line, and what can it not take?"
SEEN = {  # the diagnosis of what is seen at once
    "zero": "Which line adds to it, and is that line reached?",
    "sign": "Where does a minus come in?",
    "float32": "Which line makes an array of its own, and of which type?",
    "rounded": "Which line rounds?",
    "nearly": "Which small number, or which type, comes in?",
    "number of axes": "Which axis do you count from the front?",
    "some cases": "What is special there?",
    "some entries": "What is special about them?",
    "nan": LINE, "inf": LINE,
}
FIXED = "Which number here must follow an argument?"
TURN = "How often does the loop run, and what is left of each run?"
ASKED = {  # question: the known mistakes that it leads to; "x in backward" is asked as "x"
    # softmax, masks, attention
    "Which numbers belong together here, those of a row or of a column?": ("wrong axis",),
    "Which number can be subtracted from a row without changing the result?": (
        "no maximum subtracted",),
    "What does exp give in a row far below the largest number of all?": ("one maximum for all",),
    "In a row of only -inf, what do you subtract from what?": (
        "rows of -inf",),
    "When is the sum 0, and what does your number do to all other rows?": (
        "number in the denominator",),
    "Weights lie between 0 and 1, and a row adds up to 1: do yours?": ("sigmoid", "logarithm"),
    "Raise one score: what happens to the other weights of its row?": (
        "sum forgotten", "sum forgotten in softmax"),
    "Which factor stands in front of the bracket?": ("w minus grad",),
    "A query that may look nowhere has only such scores: what does its row of weights become?": (
        "large number instead of -inf",),
    "What does True mean in the mask, and what does your code take it for?": ("mask inverted",),
    "What must get through, and what does get through?": ("inverted",),
    "What is exp of a masked score?": ("mask with 0",),
    "What is 0 * inf?": ("nan instead of -inf",),
    "Does your output change when the mask does?": ("mask ignored",),
    "What do the weights of a masked row add up to?": ("mask after softmax",),
    "What does the box Mask do in Fig. 2, and what comes after it?": ("softmax in the mask",),
    "What must happen without a mask?": ("None masks everything",),
    "Does the output depend on a masked score?": ("mask forgotten in backward", "-inf in backward"),
    "May position i look at itself, and at i + 1?": ("off by one",),
    "Which index counts the queries, which the keys?": ("upside down",),
    "Must padding stand at the end of a row?": ("only padding at the end",),
    "Over how many products does a score sum?": ("scale by the length",),
    "Where in Fig. 2 does the scale stand?": ("scale after softmax",),
    "Which boxes lie between the weights and the scores?": ("softmax skipped",),
    "Which array is needed here, and which one stands here?": ("scores instead of weights",),
    # linear maps, heads, feed-forward
    "Which parameters does the layer have, and which does your line use?": (
        "bias missing", "gamma and beta missing"),
    "What comes from above, and where does it enter?": ("x instead of grad_y",),
    "By which number must the sum be divided?": (
        "mean over everything", "divided by all positions", "mean of means",
        "mean over the batch"),
    "Which features of a position does your first head get?": (
        "heads split by reshape alone", "features interleaved"),
    "Who divides by sqrt(d_k) already?": ("scaled twice",),
    "Which input goes into which projection?": ("all from the queries",),
    "Which box of Fig. 1 adds the input of a sub-layer?": ("residual added",),
    "How many caches are there after the loop, and how many do you keep?": (
        "cache of the last head",),
    "Which gradient goes back through which projection, and in which order are they returned?": (
        "keys and values exchanged",),
    "What must max(0, x) give for x = -1, and for x = 2?": (
        "absolute value", "derivative in forward", "leaky"),
    "Which slope is taken at x = 0?": ("slope at 0",),
    "Where was the input negative, and what comes back there?": ("always open",),
    "Between which two steps does the ReLU stand?": ("ReLU missing", "ReLU at the end"),
    # norm
    "By which number must the sum of squares be divided?": ("unbiased variance",),
    "Where does eps stand in the formula: inside the root, or outside?": (
        "eps outside the root", "eps inside the root"),
    "By what is it divided in the formula?": ("root missing",),
    "Which parameter multiplies, and which is added?": ("gamma and beta exchanged",),
    "By which three roads does x_k move y_j, and which do you count?": ("mean terms missing",),
    "Is gamma the same for all features of a mean?": ("gamma outside the means",),
    "Which array does the last term hold, before or after the division by s?": (
        "x - mean instead of n",),
    # embedding, positions
    "The root of which number?": ("root of the vocabulary",),
    "Has id 0 a row of its own?": ("id 0 as zeros",),
    "An id occurs twice: how often is its row of the gradient added to?": ("repeated ids",),
    "Write down the exponents of features 0, 1, 2 and 3: what are yours?": ("wrong exponent",),
    "How much longer does the wave become from one pair to the next?": ("wrong base",),
    "What must features 0 and 1 of position 0 be?": ("sine and cosine swapped",),
    "Which features are sines?": ("sines and cosines in halves",),
    "Which number has the first position?": ("positions from 1",),
    "What does start change?": ("start ignored",),
    "How are x and PE put together?": ("x scaled",),
    "Does PE depend on x?": ("PE in backward",),
    # loss
    "What is the logarithm of a probability that underflows?": ("logarithm of 0", "log(p + eps)"),
    "What must q add up to, and which share does each class get?": (
        "smoothing missing", "smoothing over V - 1", "smoothing on the others only",
        "eps_ls exchanged", "pad not smoothed"),
    "Which positions count in the loss, and how many?": (
        "mean over pads", "padding of the prediction"),
    "Which target belongs to a position, and which do you pick there?": ("all targets everywhere",),
    "Is the entropy of q a part of the loss?": ("divergence",),
    # optimizer
    "m and v start at 0: how large is m after one step, beside the gradient?": (
        "bias correction missing",),
    "How much of the old mean stays, and how much of the new gradient comes in?": (
        "beta and 1 - beta", "1 - beta missing"),
    "What is v a running mean of?": ("v of the wrong thing", "v is no running mean"),
    "Does a parameter move here when its gradient is 0?": ("weight decay",),
    "Which t does the first call of step see, and which the second?": ("wrong t",),
    "Is eps added before the correction or after it?": ("eps before the correction",),
    "With which m and v does the next step begin?": ("means not kept", "correction kept"),
    "How many arrays do m and v need for two parameters, and how many are there?": (
        "means shared", "m and v are one",),
    "Who else reads the gradient after the step?": ("gradient cleared",),
    "Who else holds the array p.value, and what is in it after the step?": ("not in place",),
    "Which line changes p.value, and how often is it reached?": (
        "nothing is written", "first parameter only", "last parameter only"),
    "What is computed first, and what must be?": ("brackets",),
    "What is the number of the first step?": ("step off by one",),
    "What must the rate do before warmup_steps, and what after it?": ("never falls",),
    # encoder layer
    "Which arrays does AddNorm add, and what do you give it?": ("residual missing",
                                                               "residual twice"),
    "How many norms has Fig. 1, and where do they stand?": ("norm missing", "pre-norm"),
    "Which sub-layer comes first in Fig. 1?": ("feed-forward first",),
    "On which argument of AddNorm does dropout fall?": ("dropout on x",),
    "In how many places does forward use x, and how many gradients do you add?": (
        "uses of x lost",),
    # decoding
    "When must the loop stop?": ("filled up to max_len",),
    "What must follow after the eos of a row?": ("tokens after eos", "eos repeated"),
    "What must the first column be, and what the last?": ("bos returned", "eos removed"),
    "How many tokens may come at most, without bos?": ("max_len ignored", "max_len by default"),
    "What does max_len=0 ask for, and what does your condition take it for?": ("0 taken for None",),
    "Which token ends a row, and may the model write any other?": ("stops at pad",
                                                                  "pad never taken"),
    "Which tokens must the model see in each step?": ("prefix lost", "last token only"),
    "How often does the source change?": ("encoded in every step",),
    "Must a row that is cut off end with eos?": ("eos at the end",),
    "How many rows has the source?": ("one row only",),
    "Which tokens of the source may be looked at?": ("mask forgotten",),
}
OF_KEY = {key: question for question, keys in ASKED.items() for key in keys}


def question_of(key):
    """Return the question for a known mistake, or None."""
    if key.endswith(("is fixed", "are fixed")):
        return FIXED
    return OF_KEY.get(key) or OF_KEY.get(key.removesuffix(" in backward"))
