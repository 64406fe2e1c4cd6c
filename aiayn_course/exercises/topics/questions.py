"""Questions that lead to a known mistake and do not name it."""

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
    "What does a row of weights add up to, and what does one of these?": (
        "exponentials instead of weights",),
    "Raise one score: what happens to the other weights of its row?": (
        "sum forgotten", "sum forgotten in softmax"),
    "What does softmax make of such a row?": ("large number instead of -inf",),
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
    "Over how many products does a score sum?": ("scale by the length", "wrong d_k"),
    "What is the root of 8, and what does your code divide by there?": ("root cut off",),
    "In which order do Scale and SoftMax come in Fig. 2?": ("scale after the softmax",),
    "Which keys may the first query look at?": ("mirrored",),
    "Which boxes lie between the weights and the scores?": ("softmax skipped",),
    "Which array is needed here, and which one stands here?": ("scores instead of weights",),
    # what attention looks at
    "Which number does argmax give to the first job, and which does it have here?": (
        "no job is 0",),
    "What is the score of a head in a row in which no token stood before?": ("nothing repeated",),
    "At which position does the model write the token?": ("another position",),
    # linear maps, heads, feed-forward
    "Which parameters does the layer have, and which does your line use?": (
        "bias missing", "gamma and beta missing"),
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
        "absolute value", "leaky", "GELU"),
    "Which slope is taken at x = 0?": ("slope at 0",),
    "Where was the input negative, and what comes back there?": ("always open",),
    "Between which two steps does the ReLU stand?": (
        "ReLU missing", "ReLU at the end", "ReLU before linear_1"),
    # norm
    "By which number must the sum of squares be divided?": ("unbiased variance",),
    "How many digits are left of 10 000.5^2 - 10 000^2, and how many of 0.5^2?": (
        "variance as a difference",),
    "Where does eps stand in the formula: inside the root, or outside?": (
        "eps outside the root", "eps inside the root"),
    "What does the formula divide by?": ("root missing",),
    "Which parameter multiplies, and which is added?": ("gamma and beta exchanged",),
    "By which three roads does x_k move y_j?": ("mean terms missing",),
    "Which terms are divided by d_model, and which must be?": (
        "length missing in a term", "sums instead of means"),
    "How often must gamma come in?": ("gamma twice",),
    "Which array is normalised, and which one stands in your term?": ("x instead of n",),
    "Is gamma equal for all features of a mean?": ("gamma outside the means",),
    "How often must the term of the variance be divided by s?": (
        "x - mean instead of n",),
    # embedding, positions
    "The root of which number?": ("root of the vocabulary",),
    "Has id 0 a row of its own?": ("id 0 as zeros", "id 0 left out"),
    "An id occurs twice: how often is its row of the gradient added to?": (
        "repeated ids", "mean over repeated ids"),
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
    "Of what is p - q the gradient: of the probabilities, or of the logits?": (
        "divided by p (1 - p)",),
    "Who takes the softmax of the logits?": ("softmax on the logits",),
    "Is the entropy of q a part of the loss?": ("divergence",),
    # optimizer
    "m and v start at 0: how large is m after one step, beside the gradient?": (
        "bias correction missing",),
    "How much of the old mean stays, and how much of the new gradient comes in?": (
        "beta and 1 - beta", "1 - beta missing"),
    "What is v a running mean of?": ("v of the wrong thing", "v is no running mean"),
    "Does a parameter move here when its gradient is 0?": ("weight decay",),
    "Which step is done with a gradient before it comes in?": ("gradient clipped",),
    "Of what is the corrected m made, and how often does the gradient come in?": (
        "m twice in a step",),
    "With what do m and v begin?": ("m begins as the gradient",),
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
    "Which beta goes with m, and which with v?": ("betas exchanged",),
    "Which arguments of min must d_model reach?": ("d_model in one branch",),
    "What is the number of the first step?": ("step off by one",),
    "What must the rate do before warmup_steps, and what after it?": ("never falls",),
    # encoder layer
    "Which arrays does AddNorm add, and what do you give it?": ("residual missing",
                                                               "residual twice"),
    "How many norms has Fig. 1, and where do they stand?": ("norm missing", "pre-norm"),
    "Which sub-layer comes first in Fig. 1?": ("feed-forward first",),
    "On which argument of AddNorm does dropout fall?": ("dropout on x",),
    "In how many places does forward use x, and how many gradients do you add?": (
        "uses of x lost", "mean of three gradients"),
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
    # the variance of a row, jobs of heads, muting, induction, shares
    "Which scores does one softmax compare, and how many of them are there?": (
        "all scores at once", "masked keys counted"),
    "How many numbers must come out, and what is each of them for?": ("heads mixed",),
    "Is that the mean of the squares, or its root?": ("standard deviation",),
    "What stands before the softmax, and what after it?": ("weights instead of scores",),
    "What does the place -1 stand for, and what the place 0?": ("queries without a place",),
    "What would a head get that knows nothing of places?": ("baseline missing",),
    "Does a weight of 0.4 count more than one of 0.3 here, and should it?": (
        "hits instead of weights",),
    "How many numbers could have been the largest one by chance?": (
        "threshold too low", "threshold missing"),
    "Of which numbers is that the mean, and of which must it be?": ("another mean",),
    "What comes out of the head, and what must?": ("mean left out", "another sum"),
    "Which heads are still there?": ("the others muted", "another head"),
    "Which key is meant: the equal token, or what followed it?": ("the token itself",),
    "How often may a token have stood before?": ("one occurrence",),
    "By which roads does a token reach the logit?": ("roads missing",),
    "Which layer comes first on the way back?": ("layers in the wrong order",),
    "What is a row there, and what a column?": ("rows and columns",),
    "What must the shares of a sequence add up to?": ("gradient alone", "divided by the logit"),
}
OF_KEY = {key: question for question, keys in ASKED.items() for key in keys}
