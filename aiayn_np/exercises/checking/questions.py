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
    "condition": "In which case must something else happen here?",
    "comparison": "What must come out where both sides are equal, and where one is larger?",
    "moved": "Follow one number: where does it stand before, and where after?",
    "other": HAND,
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
        "no maximum subtracted", "overflow"),
    "What does exp give in a row far below the largest number of all?": ("one maximum for all",),
    "In a row of only -inf, what do you subtract from what?": (
        "rows of -inf",),
    "When is the sum 0, and what does your number do to all other rows?": (
        "number in the denominator",),
    "Weights lie between 0 and 1, and a row adds up to 1: do yours?": (
        "no exponential", "sigmoid", "logarithm", "no softmax"),
    "Raise one score: what happens to the other weights of its row?": (
        "sum forgotten", "sum forgotten in softmax", "sign of the sum"),
    "To which numbers does the sum belong, to a row or to all?": ("sum over everything",),
    "What is each gradient multiplied by in the sum over j?": ("sum of the gradient alone",),
    "The weights of a row add up to 1 already: what does your mean divide by?": (
        "mean instead of sum",),
    "Which factor stands in front of the bracket?": (
        "w missing", "grad_w instead of w", "w minus grad"),
    "How does a weight depend on its own score?": ("own term missing",),
    "A query that may look nowhere has only such scores: what does its row of weights become?": (
        "large number instead of -inf",),
    "What does True mean in the mask, and what does your code take it for?": ("mask inverted",),
    "What must get through, and what does get through?": ("inverted",),
    "What is exp of a masked score?": ("mask with 0", "inf instead of -inf"),
    "What is 0 * inf?": ("nan instead of -inf",),
    "Does your output change when the mask does?": ("mask ignored",),
    "What do the weights of a masked row add up to?": ("mask after softmax",),
    "What does the box Mask do in Fig. 2, and what comes after it?": ("softmax in the mask",),
    "What must happen without a mask?": ("None masks everything",),
    "Does the output depend on a masked score?": ("mask forgotten in backward", "-inf in backward"),
    "May position i look at itself, and at i + 1?": ("off by one",),
    "Which index counts the queries, which the keys?": ("upside down",),
    "Must padding stand at the end of a row?": ("only padding at the end",),
    "How large do scores become when d_k grows, and what keeps them in bounds?": ("scale missing",),
    "Must a larger d_k make them larger or smaller?": ("scale on the wrong side",),
    "Which power of this size stands in the formula?": (
        "scale without root", "d_model without root", "d_model missing", "d_model multiplied"),
    "Over how many products does a score sum?": ("scale by d_v", "scale by the length"),
    "Where in Fig. 2 does the scale stand?": ("scale after softmax",),
    "Forward divides the scores once: what must backward do?": (
        "scale missing in backward", "scale twice"),
    "Which gradients must know of the division?": ("scale forgotten for one",),
    "Which boxes lie between the weights and the scores?": ("softmax skipped",),
    "Which array is needed here, and which one stands here?": (
        "gradient instead of weights", "scores instead of weights"),
    # linear maps, heads, feed-forward
    "Which parameters does the layer have, and which does your line use?": (
        "bias missing", "gamma missing", "beta missing", "gamma and beta missing"),
    "Is it added or subtracted in the formula?": ("bias subtracted",),
    "What comes from above, and where does it enter?": ("x instead of grad_y",),
    "What becomes of yours when the gradient from above is doubled?": (
        "grad_y forgotten", "grad_loss forgotten"),
    "Every position adds its part: does anything divide?": (
        "mean over the rows",),
    "By which number must the sum be divided?": (
        "mean over everything", "not divided by the number", "divided by all positions",
        "sum instead of mean", "mean of means", "mean over the batch"),
    "Which features of a position does your first head get?": (
        "heads split by reshape alone", "features interleaved", "heads in reverse order"),
    "Number the entries: where does each stand after your merge?": (
        "heads merged by reshape alone",),
    "How many heads are there, and how wide is each?": ("h and d exchanged", "not split"),
    "Which box of Fig. 2 comes last?": ("linear_O missing",),
    "Who divides by sqrt(d_k) already?": ("scaled twice",),
    "Which input goes into which projection?": (
        "values from the keys", "all from the queries", "one projection for two"),
    "Which box of Fig. 1 adds the input of a sub-layer?": ("residual added",),
    "How many caches are there after the loop, and how many do you keep?": (
        "cache of the last head",),
    "Which gradient goes back through which projection, and in which order are they returned?": (
        "keys and values exchanged", "one gradient for two"),
    "What must max(0, x) give for x = -1, and for x = 2?": (
        "absolute value", "minimum", "derivative in forward", "leaky"),
    "Which slope is taken at x = 0?": ("slope at 0",),
    "Where was the input negative, and what comes back there?": ("always open",),
    "Whose sign decided in forward?": ("sign of grad_y",),
    "What is the slope of max(0, x) at x = 3?": ("times x",),
    "Between which two steps does the ReLU stand?": ("ReLU missing", "ReLU at the end",
                                                     "ReLU twice"),
    "Which layers does the gradient pass, and in which order?": ("ReLU forgotten",),
    "Does this layer add its input?": ("residual in backward",),
    # norm
    "By which number must the sum of squares be divided?": ("unbiased variance",),
    "What is squared in a variance?": ("mean of the squares",),
    "Where does eps stand in the formula: inside the root, or outside?": (
        "eps outside the root", "eps inside the root"),
    "What is divided by what where everything is 0 or equal?": ("eps missing",),
    "By what is it divided in the formula?": ("no root", "root missing"),
    "What is the mean of a row of the normalised array?": ("mean not subtracted",),
    "Which parameter multiplies, and which is added?": ("gamma and beta exchanged",),
    "Is beta multiplied by anything?": ("gamma times beta",),
    "By which three roads does x_k move y_j, and which do you count?": (
        "mean terms missing", "half a term"),
    "Which sign does each of the three terms have?": ("sign of the terms",),
    "What do the means of forward divide by, and where is that in backward?": (
        "sums instead of means",),
    "Is gamma the same for all features of a mean?": ("gamma outside the means",),
    "Forward divides by s: what does backward do with it?": ("1 / s missing",
                                                             "s on the wrong side"),
    "Is the s of backward that of forward?": ("eps in forward only",),
    "Which array does the last term hold, before or after the division by s?": (
        "x - mean instead of n",),
    "By which array is gamma multiplied in forward?": (
        "n missing in gamma", "x instead of n", "gamma in its own gradient"),
    "What is the derivative of y by beta?": ("gamma in beta",),
    # embedding, positions
    "By what does Section 3.4 multiply the embeddings?": ("sqrt(d_model) missing",
                                                         "sqrt(d_model) divides"),
    "Where does Section 3.4 multiply by sqrt(d_model), and where not?": (
        "sqrt(d_model) in the projection",),
    "The root of which number?": ("root of the vocabulary",),
    "Has id 0 a row of its own?": ("id 0 as zeros",),
    "From which number do ids count?": ("row of another id",),
    "An id occurs twice: how often is its row of the gradient added to?": ("repeated ids",),
    "How often is E used, and how many parts has its gradient?": ("use of E not counted",),
    "Write down the exponents of features 0, 1, 2 and 3: what are yours?": ("wrong exponent",),
    "How much longer does the wave become from one pair to the next?": ("wrong base",),
    "What must features 0 and 1 of position 0 be?": (
        "sine and cosine swapped", "cosine missing", "sine missing"),
    "Which features are sines?": ("sines and cosines in halves",),
    "Which number has the first position?": ("positions from 1",),
    "What does start change?": ("start ignored",),
    "What is the angle of position 1 in feature 0?": ("2 pi",),
    "How are x and PE put together?": ("x not added", "multiplied", "x scaled"),
    "Does the output not depend on this input at all?": ("replaced by zeros",),
    "Does PE depend on x?": ("PE in backward",),
    # loss
    "What is the logarithm of a probability that underflows?": ("logarithm of 0", "log(p + eps)"),
    "What must q add up to, and which share does each class get?": (
        "smoothing missing", "smoothing over V - 1", "smoothing on the others only",
        "q does not sum to 1", "smoothing mass not divided", "eps_ls exchanged",
        "pad not smoothed"),
    "Which positions count in the loss, and how many?": (
        "mean over pads", "padding in backward", "padding of the prediction"),
    "Which target belongs to a position, and which do you pick there?": ("all targets everywhere",),
    "Is the entropy of q a part of the loss?": ("divergence",),
    "The gradient is a difference: of which two distributions?": (
        "logits instead of p", "log p instead of p", "p missing", "q missing", "sign of q"),
    # optimizer
    "m and v start at 0: how large is m after one step, beside the gradient?": (
        "bias correction missing",),
    "How much of the old mean stays, and how much of the new gradient comes in?": (
        "beta and 1 - beta", "1 - beta missing"),
    "Which beta belongs to m, and which to v?": ("betas exchanged", "v with beta_1"),
    "What is v a running mean of?": ("v of the wrong thing", "v is no running mean"),
    "Does a parameter move here when its gradient is 0?": ("weight decay",),
    "Which t does the first call of step see, and which the second?": ("wrong t",),
    "Is eps added before the correction or after it?": ("eps before the correction",),
    "With which m and v does the next step begin?": ("means not kept", "correction kept"),
    "How many arrays do m and v need for two parameters, and how many are there?": (
        "means shared", "m and v are one"),
    "Who else reads the gradient after the step?": ("gradient cleared",),
    "Who else holds the array p.value, and what is in it after the step?": ("not in place",),
    "Which line changes p.value, and how often is it reached?": (
        "nothing is written", "first parameter only", "last parameter only"),
    "Which of rate, m and v does your step use, and how?": (
        "no running means", "v not used", "m not used", "rate ignored"),
    "What is computed first, and what must be?": ("brackets",),
    "What is the number of the first step?": ("step off by one",),
    "Which of the two arguments is the smaller one at step 1?": ("max instead of min",),
    "What must the rate do before warmup_steps, and what after it?": (
        "warm-up missing", "only rising", "never falls"),
    "Both branches must meet at step = warmup_steps: do yours?": ("exponent of warmup_steps",),
    # encoder layer
    "Which arrays does AddNorm add, and what do you give it?": ("residual missing",
                                                               "residual twice"),
    "Which x enters the second sub-layer, and its residual?": ("residual from the wrong x",),
    "Which norm belongs to which sub-layer?": ("norms exchanged", "one norm twice"),
    "How many norms has Fig. 1, and where do they stand?": ("norm missing", "pre-norm"),
    "Which sub-layer comes first in Fig. 1?": ("feed-forward first",),
    "Which parts need the rng?": ("dropout missing", "rng not passed on"),
    "On which argument of AddNorm does dropout fall?": ("dropout on x",),
    "In how many places does forward use x, and how many gradients do you add?": (
        "uses of x lost",),
    "By which roads does x reach y, and which does your gradient take?": (
        "residual missing in backward", "sub-layer missing in backward"),
    "How often is this gradient added?": ("sub-layer counted twice", "residual counted twice"),
    "What does add_norm_2.backward return, and where does each part go?": (
        "grad_y instead of grad_fed",),
    # decoding
    "When must the loop stop?": ("eos ignored", "filled up to max_len", "stops at the first eos"),
    "What must follow after the eos of a row?": ("tokens after eos", "eos repeated"),
    "Does a row that has ended stay so in the next step?": ("ended forgotten",),
    "What must the first column be, and what the last?": ("bos returned", "eos removed"),
    "How many tokens may come at most, without bos?": (
        "max_len ignored", "one token too many", "one token too few", "max_len by default"),
    "Which tokens must the model see in each step?": ("prefix lost", "last token only"),
    "How often does the source change?": ("encoded in every step",),
    "Must a row that is cut off end with eos?": ("eos at the end",),
    "How many rows has the source?": ("one row only",),
    "With which token must every target begin?": ("bos missing",),
    "Which tokens of the source may be looked at?": ("mask forgotten",),
    "Which position's logits tell the next token?": ("wrong position",),
    "Which token must be taken, the most or the least probable?": ("argmin",),
}
OF_KEY = {key: question for question, keys in ASKED.items() for key in keys}


def question_of(key):
    """Return the question for a known mistake, or None."""
    if key.endswith(("is fixed", "are fixed")):
        return FIXED
    return OF_KEY.get(key) or OF_KEY.get(key.removesuffix(" in backward"))
