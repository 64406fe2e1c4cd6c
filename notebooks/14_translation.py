# %% [markdown]
# # Lesson 14 · Translation: from raw text to a map of it
#
# | | |
# |---|---|
# | **You will do** | turn lines of text into pairs, learn a byte-pair vocabulary and do its first step by hand, make batches by length, train a translator in seconds, test it on numbers that it has never seen, and measure where it looks when two languages put their words in a different order |
# | **You will learn** | what a "word piece" is and who decides where words are cut; what padding costs; how to tell a translation that is right from one that is like it; how to test "it aligns the words" with a control |
# | **You need** | Lessons 10 and 11; Lesson 5 for padding |
# | **Paper** | Section 5.1, Section 6.1 and Section 3.2.3 |
# | **Time** | 40 minutes, without the part marked *for the keen*: run its cells, skip its text, since no later part needs it |
#
# Run the cells from top to bottom. Wherever it says **Predict**, stop, write down a number, and only then go on.

# %%
import importlib.util
import subprocess
import sys
from pathlib import Path

REPOSITORY = ""  # build.py writes the address here that pyproject.toml gives
if importlib.util.find_spec("aiayn_np") is None:  # on a hosted notebook service: one pip install
    package = ".." if Path("../pyproject.toml").exists() else REPOSITORY and f"git+{REPOSITORY}"
    if "ipykernel" not in sys.modules or not package:
        sys.exit("This lesson needs the package aiayn_np, and it is not installed. Get a copy of"
                 " the whole project, run pip install -e '.[notebooks]' in it, and start again.")
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %% [markdown]
# This lesson needs two packages more than the others: SentencePiece, which learns vocabularies, and sacreBLEU, which scores translations.

# %%
for package in ("sentencepiece", "sacrebleu"):
    if importlib.util.find_spec(package) is None:
        if "ipykernel" not in sys.modules:
            raise ImportError(f"{package} is missing: pip install {package}")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import tempfile
from collections import Counter

import numpy as np

from aiayn_np import Transformer, attention_maps, plot_attention
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.runs.text_start import start
from aiayn_np.text.batches import Batches, arrays
from aiayn_np.text.bleu import bleu
from aiayn_np.text.number_words import number_words, write_number_words
from aiayn_np.text.pictures import plot_text_training
from aiayn_np.text.translation import translate
from aiayn_np.text.vocabulary import PAD, Vocabulary

np.set_printoptions(precision=2, suppress=True)

# %% [markdown]
# This lesson trains all of Figure 1, on text.

# %%
figure_1("embedding", "positions", "encoder", "decoder", "output_projection", "softmax")

# %% [markdown]
# ## 14.1 Pairs of lines
#
# A translator learns from a file of lines; each line has the same sentence in both languages. The corpus of this lesson comes with the
# library, and is tiny: numbers below a million, in German and in English words.

# %%
numbers = number_words()
for german, english in numbers.test[:5]:
    print(f"{german:46} {english}")
print({name: len(pairs) for name, pairs in numbers._asdict().items()})

# %% [markdown]
# One thing makes this translation hard. German says the unit first: *drei und fünfzig* is "three and fifty". English says
# fifty-three. A model cannot go through the source from left to right: it has to **cross over**.
#
# > **Predict.** For *sieben hundert acht und vierzig*: while the model writes "forty", which word should it look at? And while it writes "eight"? (Write it down. The picture of Lesson 14.6 answers it, for another number.)
#
# There are three lists for a reason. We train on the first, we choose on the second, and the third says how good the choice is.
# No number of the third may be in the first, or we would test memory:

# %%
lists = [{german for german, _ in pairs} for pairs in numbers]
print("in two lists:", [len(lists[a] & lists[b]) for a, b in ((0, 1), (0, 2), (1, 2))])
seen = {word for german, english in numbers.training for word in (german + " " + english).split()}
new = {word for german, english in numbers.test for word in (german + " " + english).split()} - seen
print("words of the test that training has not:", len(new))

# %% [markdown]
# Training has every *word* of the test, but no *number* of it. A model that translates these has learned how numbers are made.
#
# ## 14.2 A vocabulary that nobody wrote
#
# A model reads ids. With an id for each word, new words would have none, and real text has new words every day. With an id for each letter, sequences would be long, and
# attention costs the square of the length. Section 5.1 takes the middle: **byte-pair encoding** (Sennrich et al., 2016). Begin with letters. Count which two neighbours are most
# frequent, join them to a new piece, and repeat. Frequent words end up whole, rare ones in parts, and no word is unknown as long as its letters are known.
#
# > **Predict.** Think of all the lines above, in both languages. Which two letters stand side by side most often?

# %%
lines = [line for pair in numbers.training for line in pair]
words = Counter(word for line in lines for word in line.split())
neighbours = Counter()
for word, count in words.items():
    for a, b in zip("_" + word, word):                                 # _ is the beginning of a word
        neighbours[a + b] += count
print(neighbours.most_common(5))

# %% [markdown]
# `nd` is in *und* and *and*, in *hundert* and *hundred*: one vocabulary for both languages shares what they share. SentencePiece goes on from there. In its pieces `_` is the beginning of a word,
# and `</s>` is the end of a line, which the maps, like the other lessons, call `<eos>`. Its first pieces, in the order in which it joined them:

# %%
vocabulary = Vocabulary.train(lines, 200)
print(vocabulary.pieces(range(4, 16)))                                 # ids 0 to 3 are special
print(vocabulary.pieces(vocabulary.encode(["zwei und zwanzig"])[0]))
print(vocabulary.pieces(vocabulary.encode(["twenty-two"])[0]))

# %% [markdown]
# The first piece is the same as by hand. How many pieces should one make? The size of the vocabulary decides what a token is:

# %%
def pieces_of(size, pairs, test):
    """(pieces of a German test line, share of its words that are one piece, an example)."""
    vocabulary = Vocabulary.train([line for pair in pairs for line in pair], size)
    sources = [german for german, _ in test]
    ids = vocabulary.encode(sources)
    words = [word for source in sources for word in source.split()]
    whole = np.mean([len(row) == 2 for row in vocabulary.encode(words)])   # 2: with its </s>
    example = vocabulary.encode([test[0][0]])[0][:-1]
    return np.mean([len(row) - 1 for row in ids]), whole, " ".join(vocabulary.pieces(example))


print("size  pieces  whole words")
for size in (60, 100, 140, 200, 400):
    length, whole, example = pieces_of(size, numbers.training, numbers.test)
    print(f"{size:4} {length:7.1f} {whole:9.2f}    {example}")

# %% [markdown]
# From 200 pieces on each German word is a token. That is what we want here: a map whose rows and columns are words can be read.
#
# The corpus helps here, and you should know it. German writes *dreiundfünfzig* as *one* word. Our corpus writes its parts apart. What if it did not?

# %%
def as_one_word(pairs):
    return [(german.replace(" ", ""), english) for german, english in pairs]


for size in (100, 140, 200, 400):
    length, _, example = pieces_of(size, as_one_word(numbers.training), as_one_word(numbers.test))
    print(f"{size:4} {length:7.1f}     {example}")

# %% [markdown]
# The most frequent neighbours are joined, whatever they mean. A piece like *undfünfzig* is a good code but no
# word: byte-pair encoding does not know grammar. Real text gives both kinds of pieces. (Question 1 comes back to that.)
#
# ## 14.3 Batches of similar length
#
# Lines of a batch are padded to the longest of them (Lesson 5). Section 5.1 says: "sentence pairs were batched together by approximate
# sequence length". Here is why.
#
# > **Predict.** Lines have up to a dozen words. In batches in random order, what share of all positions is padding? And in batches of similar length?

# %%
ids = list(zip(*(vocabulary.encode(side) for side in zip(*numbers.training))))
batches = Batches(ids, 1000, seed=0)                                   # at most 1000 positions a side
real, padded = batches.tokens()
rng = np.random.default_rng(0)
shuffled, positions = rng.permutation(len(ids)), 0
for rows in np.array_split(shuffled, batches.per_epoch):
    src, _, tgt_out = arrays([ids[i] for i in rows])
    positions += src.size + tgt_out.size
print(f"{batches.per_epoch} batches, {real:,} tokens")
print(f"padding, any order       {1 - real / positions:.1%}")
print(f"padding, similar length  {1 - real / padded:.1%}")

# %% [markdown]
# Padding is computed like everything else, and thrown away. Also, a batch here holds at most a fixed number of *tokens* with their padding, not a fixed number of lines. So short lines come in
# large batches, and each step is about as much work as the next.

# %%
for step in (1, 2, 3):
    src, tgt_in, tgt_out = batches.batch(step)
    print(f"src {src.shape}, tgt {tgt_out.shape}")
print(vocabulary.pieces(tgt_in[0]), "is given, to be written is", vocabulary.pieces(tgt_out[0]), sep="\n")

# %% [markdown]
# ## 14.4 Training
#
# The model is small: $N = 1$ layer on each side, $d_{model} = 64$, $h = 4$ heads. The loop is that of Lesson 10, its end as in Section 6.1: the
# last states are averaged. In a terminal the same is
#
# ```bash
# python -m aiayn_np.text.number_words numbers
# aiayn-np train text --pairs numbers/training.tsv --validation-pairs numbers/validation.tsv --preset numbers
# ```
#
# How often must the model see all 7149 pairs until it translates nearly all the others? Watch the column `exact`, for 200 numbers of the test.

# %%
folder = tempfile.TemporaryDirectory()
training, validation, *_ = write_number_words(folder.name)
run, _ = start(Path(folder.name) / "run", dict(pairs=training, validation_pairs=validation),
               preset="numbers")
model = run.model
untrained = Transformer(run.task.vocab_size, **run.config["model"], rng=np.random.default_rng(0))
sources, references = zip(*numbers.test)


def exact(model, n=500, **options):
    """The share of n test numbers that are translated without a mistake, and the translations."""
    out = translate(model, run.task.vocabulary, sources[:n], **options)
    return np.mean([a == b for a, b in zip(out, references)]), out


epochs = []
for progress in run.train():
    run.history.append(progress)
    if progress.step % run.batches.per_epoch == 0:
        epochs.append(exact(model, 200)[0])
        print(f"epoch {len(epochs):2}  loss {progress.loss:.2f}  exact {epochs[-1]:.1%}")
        if len(epochs) == 3:
            early = model.state_dict()                                 # for later
folder.cleanup()

# %%
fig = plot_text_training(run.history, title="Numbers, German to English")
fig.axes[0].set(yscale="log", ylim=(0.01, 7))
fig

# %% [markdown]
# An **epoch** is one pass over all training pairs. After three epochs the model has three quarters of the numbers right, after six all of the 200 that we watch. The validation curves end
# below the training curve, probably since dropout is on in training only. In the last epoch the share goes down a little: single states jump (Lesson 10.8). The average of the last states,
# which is what we use from here on, has all 500 right, as the next table shows.
#
# We looked at the test after each epoch to *watch*, not to choose: the number of epochs was fixed before this run. If you stop where the
# test looks best, you have used the test for training.
#
# ## 14.5 Exact, or alike?
#
# The paper measures BLEU (Papineni et al., 2002). It counts which share of a translation's runs of one, two, three and four words stand in the reference, too, takes the geometric mean of the four, and
# lowers it if the translations are too short. For sentences, with their many good translations, that is
# fair. For numbers it is too generous. Take the model as it was after three epochs, and at the end:
#
# > **Predict.** The early model has three quarters of the numbers exactly right. What is its BLEU, about: 60, 75, 90?

# %%
trained = run.trained()                                                # the last states, averaged
young = Transformer(run.task.vocab_size, **run.config["model"], rng=np.random.default_rng(0))
young = young.astype(np.float32)
young.load_state_dict(early)
print("                 exact    BLEU")
scores = {}
for name, chosen in (("untrained", untrained), ("after 3 epochs", young), ("at the end", trained)):
    share, out = exact(chosen)
    scores[name] = share, bleu(out, references).score
    print(f"{name:15} {share:6.1%} {scores[name][1]:7.1f}")

# %% [markdown]
# BLEU is about 90, although a quarter of the numbers is wrong. One wrong digit in *five hundred and eight thousand and fifty-eight* leaves most runs of words right, and the number wrong. Look at some:

# %%
_, out = exact(young)
wrong = [(s, a, b) for s, a, b in zip(sources, out, references) if a != b]
for source, got, reference in wrong[:4]:
    print(f"source     {source}\nmodel      {got}\nreference  {reference}\n")

# %% [markdown]
# Does a beam search mend that? It keeps the 4 most probable beginnings, and of the finished lines it takes the one with the best log-probability. Longer lines have lower ones, so this number is divided by $((5 + n)/6)^\alpha$, where $n$ is the length and $\alpha = 0.6$ (Section 6.1; the formula is that of Wu et al., 2016).

# %%
beam = exact(young, beam=4, alpha=0.6)[0]
print(f"after 3 epochs: greedy {scores['after 3 epochs'][0]:.1%}, beam 4 {beam:.1%}")

# %% [markdown]
# The beam mends hardly anything. It finds lines that the model thinks more *likely*. Where the model is wrong about what is likely, a better search does not make it
# right.

# %% [markdown]
# ## 14.6 A map of a translation
#
# Now look. A row has read one word and writes the next (Lesson 11.2), and is labelled with both; columns are the words of the source. The picture shows head 1, and the mean of the four heads.

# %%
text, english = next(pair for pair in numbers.validation if pair[0].split().count("und") == 2)
source, written, weights, allowed = run.translation_attention(run.task.source(text))
rows = [f"{read} → {write}" for read, write in zip(["<bos>", *written], written)]
plot_attention(np.stack([weights[0], weights.mean(axis=0)]), rows, source,
               allowed=allowed[:1], titles=["head 1", "mean of the heads"], title=text)

# %% [markdown]
# Go down the rows of head 1. For "twenty", the hyphen and "three" it looks at *zwanzig*, *und*, *drei*: backwards. Then it goes on to *tausend*
# and *vier*, and for "fifty", the hyphen and "two" it turns back once more: *fünfzig*, *und*, *zwei*. Other heads do parts of this, and the mean blurs them. Is that so for all numbers, and would it convince someone who does not expect it?

# %% [markdown]
# The next page runs such a model in your browser, and you can ask it your own numbers. Its rows are labelled with the token that
# was read: the row `_and` writes `_twenty`, and the row `-` writes `seven`.
#
# > **Predict.** The model translates `vier hundert sieben und zwanzig`. At which German word does the row `_and` look, and at which the row `-`? And if this head is muted, is the translation still right?
#
# Open [the number words with head 1](../docs/live/number_words.html#src=vier+hundert+sieben+und+zwanzig&kind=cross&layer=0&head=0&query=3&key=4),
# then press "mute" below head 1. Last, take the change back and replace the source token `_sieben` by `_drei`.
# If the page is not there yet, `python docs/make_live_pages.py` makes it in about four minutes.

# %% [markdown]
# In our model the row `_and` looks at `_zwanzig` and the row `-` at `_sieben`, so the two cross. Without this head the
# translation stays *four hundred and twenty-seven*: other heads know it, too. With `_drei` only the last word
# changes, to *three*.
#
# ## 14.7 Crossing, measured
#
# Make claims that can be wrong. Where German has `unit und tens` and English `tens - unit`:
#
# - the row of the tens word peaks on the German tens, which stands **behind** *und*;
# - the row of the unit peaks on the German unit, **before** it;
# - so the two **cross**: the row that is written first looks further on in the source, at a later word.
#
# As a control, take two words that do *not* change their order: `digit hundert` and `digit hundred`. A head that crosses there too does not
# follow words.
#
# For example *acht und vierzig* has the places 0, 1 and 2, and English has `forty`, `-`, `eight`. If the row of `forty` peaks at 2 and the row of `eight` at 0, both are right, and they cross, as 2 > 0.

# %%
def places(pieces, mark):
    return [i for i, piece in enumerate(pieces) if piece == mark]


def peaks(model, pairs):
    """(B, h + 1, T_tgt) where each row of each head peaks in the source; last: mean of the heads."""
    src, tgt_in, tgt_out = arrays(list(zip(*(vocabulary.encode(side) for side in zip(*pairs)))))
    _, cache = model.forward(src, tgt_in)
    (weights,) = (w for name, w in attention_maps(cache).items() if "cross" in name)
    weights = np.concatenate([weights, weights.mean(axis=1, keepdims=True)], axis=1)
    return src, tgt_out, weights.argmax(axis=-1)


def crossing(model, pairs):
    """Shares (h + 1, 3) for inverted and for ordered words: first right, second right, crossed."""
    found = {"inverted": [], "ordered": []}
    for source, target, peak in zip(*peaks(model, pairs)):
        source, target = vocabulary.pieces(source), vocabulary.pieces(target)
        for i, j in zip(places(source, "_und"), places(target, "-")):
            a, b = peak[:, j - 1], peak[:, j + 1]                      # rows of tens, of unit
            found["inverted"].append([a == i + 1, b == i - 1, a > b])
        for i, j in zip(places(source, "_hundert"), places(target, "_hundred")):
            a, b = peak[:, j - 1], peak[:, j]                          # rows of digit, of hundred
            found["ordered"].append([a == i - 1, b == i, a > b])
    return {name: np.mean(rows, axis=0).T for name, rows in found.items()}


labels = [f"head {i + 1}" for i in range(4)] + ["mean"]
on_validation = crossing(trained, numbers.validation)
print("validation    tens right, unit right, crossed")
for label, row in zip(labels, on_validation["inverted"]):
    print(f"{label:10}", *(f"{share:11.2f}" for share in row))

# %% [markdown]
# Five candidates. Choosing the best of them and reporting its score on the same numbers would be the mistake of Lesson 11.3. So choose on validation: of the two shares of a candidate, tens and units, take the smaller, and choose the candidate for which it is largest. Then report on the test, once. The control says what is chance:
# words in order, and a model that was never trained.
#
# > **Predict.** For the chosen one: how often do inverted words cross, and words in order? And in the untrained model?

# %%
best = on_validation["inverted"][:, :2].min(axis=1).argmax()
after, before = crossing(trained, numbers.test), crossing(untrained, numbers.test)
print(f"chosen on validation: {labels[best]}\n")
print("test                     1st right  2nd right  crossed")
for name, shares in (("trained", after), ("untrained", before)):
    for kind in ("inverted", "ordered"):
        print(f"{name:10} {kind:10}  ", *(f"{share:10.2f}" for share in shares[kind][best]))

# %% [markdown]
# Inverted words cross, words in order do not, and in the untrained model the two shares are near each other, 0.31 and 0.22. Yet nobody told the model which word belongs to which: there was no alignment in the data, only
# pairs of lines. That is the finding of Bahdanau et al. (2015), whose attention the paper took up, in a small world where the right answer is known.
#
# In words that keep their order, the second word is seldom found at all, so "not crossed" may there also mean "not looked at". The measurement does *not* say that it is always this head (with other seeds another one is chosen), that each head does this (the table of five says no), or that it holds for each word. For "hundred" the chosen head seldom looks at
# *hundert*: the decoder may know without looking that a "hundred" must follow, or from another head. And a head that looks at the right word is not always
# the one that the model needs (Lesson 11.7). A map asks a good question; it does not answer it.

# %% [markdown]
# ## 14.8 For the keen: does it matter where it looks?
#
# An experiment on the map itself. Hide one source word from the encoder-decoder attention, and only there: the encoder still reads it. Then see which
# word the model would write, given the right words before.
#
# > **Predict.** Hide the German tens. Does the model still know the English tens, since the encoder has mixed the words? Does the unit suffer too?

# %%
one_und = [pair for pair in numbers.test if pair[0].split().count("und") == 1]
src, tgt_in, tgt_out = arrays(list(zip(*(vocabulary.encode(side) for side in zip(*one_und)))))
und, hyphen = vocabulary.encode(["und"])[0][0], vocabulary.encode(["twenty-two"])[0][1]
row = np.arange(len(src))
column, between = (src == und).argmax(axis=1), (tgt_out == hyphen).argmax(axis=1)   # (B,) each


def right_words(hide):
    """Shares of English tens and of units that are right if the word at und + hide is hidden."""
    memory, _ = trained.encode(src)
    allowed = (src != PAD)[:, None, None, :]                           # (B, 1, 1, T_src)
    if hide is not None:
        allowed[row, 0, 0, column + hide] = False
    logits, _ = trained.decode(tgt_in, memory, memory_allowed=allowed)
    right = logits.argmax(axis=-1) == tgt_out                          # (B, T_tgt)
    return right[row, between - 1].mean(), right[row, between + 1].mean()


by_hiding = {"nothing": right_words(None), "the tens": right_words(1), "the unit": right_words(-1)}
print("hidden     tens right  unit right")
for name, shares in by_hiding.items():
    print(f"{name:10}", *(f"{share:10.2f}" for share in shares))

# %% [markdown]
# Each word is lost together with its source word, and its neighbour is hardly affected. (Guessing would get one in eight tens right, and one in nine units.) The
# encoder has read all words together, and could have put the tens into any of its places; it has left them where they were. So here the weight is also an
# effect: if the place is hidden, the model does not know the word. With more layers this need not be so.
#
# ## 14.9 Check what this lesson claimed

# %%
assert not any(lists[a] & lists[b] for a, b in ((0, 1), (0, 2), (1, 2)))
assert not new                                                         # each word was seen
assert vocabulary.pieces([4]) == [neighbours.most_common(1)[0][0]]     # the first merge, by hand
assert pieces_of(200, numbers.training, numbers.test)[1] == 1          # words are tokens
backwards = ["_zwanzig", "_und", "_drei", "_fünfzig", "_und", "_zwei"]   # the picture of 14.6
assert any([source[j] for j in head.argmax(axis=1)[[0, 1, 2, 8, 9, 10]]] == backwards for head in weights)
assert 1 - real / padded < 0.5 * (1 - real / positions)                # what sorting saves
assert scores["at the end"][0] >= 0.99 > scores["after 3 epochs"][0]
assert scores["after 3 epochs"][1] > 100 * scores["after 3 epochs"][0]  # BLEU is kinder
assert after["inverted"][best, 2] > 0.9 > 0.5 > after["ordered"][best, 2]
assert after["inverted"][best, :2].min() > 0.7 > before["inverted"][best, :2].max()
assert by_hiding["the tens"][0] < 0.5 < by_hiding["the tens"][1]
assert by_hiding["the unit"][1] < 0.5 < by_hiding["the unit"][0]
print("all true")

# %% [markdown]
# ## Summary
#
# - From text to training: pairs of lines, one byte-pair vocabulary for both languages, batches of similar length with about as many tokens each.
# - Byte-pair encoding joins what is frequent. That is often a word, and knows no grammar.
# - Three lists: train on one, choose on another, report on the third. Numbers of the test were in none of the others.
# - BLEU rewards what is similar; only exact comparison tells whether a number is right.
# - Nobody gave the model an alignment. Where the languages exchange two words, its attention crosses; where they do not, it does not. Claim that only with a
#   control, and with the head chosen on other data.
#
# With real sentences it goes the same way, and takes half an hour instead of seconds:
# [how to train on a corpus from the network](../aiayn_np/text/README.md).
#
# ## Questions
#
# **1.** With German in one word and 200 pieces, *dreiundfünfzig* may be `drei` + `undfünfzig`. Can the map still show the crossing? And with 400 pieces, where
# *dreiundfünfzig* can be a single piece?
#
# <details><summary>Answer</summary>
#
# In the first case the map can show it: tens and unit are still two columns. In the second it cannot: one column stands for both, so the rows of "fifty" and of "three" both look there.
# The translation may be as good as before, but what the model does with the order is then hidden in the embedding of one piece. A map shows what happens
# *between* tokens only, so it depends on a vocabulary that was chosen for another purpose.
#
# </details>
#
# **2.** Take all numbers like 200 428 out of the training list: six digits, two zeros behind the first. 745 of 7149 pairs are gone, and each *word* is still there.
# Of the numbers like this, how many will the model have right? And of the others?
#
# <details><summary>Answer</summary>
#
# The model has none of the 852 right that the three lists have, and 449 of the 450 other test numbers (tried once, with seed 0; this lesson does not run it). *zwei hundert tausend fünf hundert eins* becomes "two hundred and five thousand, five hundred and one". In all that the
# model has seen, something stood between *hundert* and *tausend*, so it borrows something from further on. It has learned the patterns of its training, and puts
# them together in new ways; it has not learned what a number is. That is why the corpus is drawn so that each pattern of zeros is frequent: drawn
# evenly, one number of six digits in a hundred would be like these.
#
# </details>
#
# **3.** A colleague takes the best of 24 heads by its crossing on the test, and reports that. You have 500 test numbers. Is that worse than choosing among our
# five?
#
# <details><summary>Answer</summary>
#
# It is worse: the more candidates there are, the better the best of them looks by luck, and the test can no longer tell. With shares near 1 and 500 numbers the
# luck is small; with shares in the middle and few numbers it is not (Lesson 11.3). Choosing on validation costs nothing, and removes the doubt.
#
# </details>
