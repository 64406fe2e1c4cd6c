# %% [markdown]
# # Lesson 15 · From here to the real models
#
# | | |
# |---|---|
# | **You will do** | write the translator of Lesson 14 as a folder of Hugging Face and open it again, turn the paper's decoder into GPT-2, one small difference at a time, and build a small BERT, generate with kept keys and values, and find out on which words a translation depends |
# | **You will learn** | what GPT-2, BERT and OPUS-MT changed, and what they did not; what the files of a downloaded model hold; what a gradient with respect to the input tells, and what it does not |
# | **You need** | Lessons 9 and 14; Lesson 7 for the norms |
# | **Paper** | Section 3 (all of it), and what came after |
# | **Time** | 35 minutes |
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
# This lesson needs three packages more: SentencePiece, which cuts text into pieces, safetensors, which reads weights, and sacreBLEU, which scores translations.

# %%
for package in ("sentencepiece", "safetensors", "sacrebleu"):
    if importlib.util.find_spec(package) is None:
        if "ipykernel" not in sys.modules:
            raise ImportError(f"{package} is missing: pip install {package}")
        subprocess.run([sys.executable, "-m", "pip", "install", "-q", package], check=True)

# %%
import inspect
import json
import os
import tempfile

import numpy as np

from aiayn_np import (
    DecoderLayer,
    EncoderLayer,
    LearnedPositionalEncoding,
    ReLU,
    Softmax,
    Transformer,
    check_gradients,
    not_padding,
    plot_attention,
)
from aiayn_np.decoding.generation import GrowingText, WholeText, generate
from aiayn_np.interop import marian_format
from aiayn_np.plotting.drawings import figure_1
from aiayn_np.plotting.figures import COLORS, new_figure
from aiayn_np.pretrained import load_marian
from aiayn_np.runs.open import open_run
from aiayn_np.runs.text_start import start
from aiayn_np.text.number_words import number_words, write_number_words
from aiayn_np.text.translation import translate
from aiayn_np.variants.activations import GELU, SiLU, TanhGELU
from aiayn_np.variants.embeddings import SinusoidsInHalves, UnscaledEmbedding
from aiayn_np.variants.layer_options import layer_factory
from aiayn_np.variants.masked import MaskedLanguageModel
from aiayn_np.variants.models import LanguageModel
from aiayn_np.variants.pre_norm import PreNormEncoderLayer

np.set_printoptions(precision=2, suppress=True)

# %% [markdown]
# In Figure 1 this lesson asks what later models kept of the two halves. GPT-2 (Radford et al., 2019) kept the boxes that are lit: the right half, without the attention to a source and its Add & Norm. BERT (Devlin et al., 2018) kept the left half.
# OPUS-MT (Tiedemann and Thottingal, 2020) kept both: it is a collection of a thousand translators.

# %%
figure_1("tgt_embedding", "tgt_positions", "decoder.self_attention", "decoder.add_norm_1", "decoder.feed_forward",
         "decoder.add_norm_3", "output_projection", "softmax")

# %% [markdown]
# ## 15.1 A model as others keep it
#
# Many trained models are kept on one site, Hugging Face, in folders of one form. The translators of OPUS-MT are there, too. They were trained by a program called
# Marian, so their form has the name *marian*. Lesson 14 trained a translator of number words. We train it again, for six epochs, and write it in this form. In a
# terminal this is `aiayn-np export runs/text numbers-de-en --to marian`.

# %%
work = tempfile.TemporaryDirectory()
place = Path(work.name)
training, validation, *_ = write_number_words(place / "numbers")
run, _ = start(place / "run", dict(pairs=training, validation_pairs=validation), preset="numbers", epochs=6)
run.history = list(run.train())
folder = place / "numbers-de-en"
folder.mkdir()
for line in marian_format.write(run, folder):
    print(line)
for path in sorted(folder.iterdir()):
    print(f"{path.stat().st_size:9,}  {path.name}")

# %% [markdown]
# The first lines say what changes on the way out: the layer norms of Marian have $\epsilon = 10^{-5}$, and that hardly changes a logit. Then come three kinds of files.
# `model.safetensors` holds the numbers; safetensors is a plain format for arrays. `config.json` says how large the model is and which of a few options it
# has. The rest turns text into ids. **No file holds a program**: what the numbers mean is written in a library, such as the one that you have read.

# %%
config = json.loads((folder / "config.json").read_text())
for name in ("d_model", "encoder_layers", "encoder_attention_heads", "activation_function", "scale_embedding",
             "decoder_start_token_id"):
    print(f"{name:24} {config[name]}")

# %% [markdown]
# ## 15.2 Open it
#
# > **Predict.** How many arrays does the file hold in all, with one layer on each side? (Each attention has four matrices, and each of them has a bias. Each network has two matrices with biases. Each norm has two arrays. Then there are $E$ and, unlike in the paper, a bias of the logits.)

# %%
loaded = load_marian(folder)
state = loaded.state()
print(len(state), "arrays, such as")
for name in list(state)[:6]:
    print(f"{name:48} {state[name].shape}")

# %%
sources, references = zip(*number_words().test)
before = translate(run.trained(), run.task.vocabulary, sources)
after = translate(loaded.decoding_model(), loaded.vocabulary, sources)
print(f"{sum(a == b for a, b in zip(before, after))} of {len(sources)} translations are the same")

# %% [markdown]
# The file has 44 arrays: 16 of the encoder layer (8 of its attention, 4 of its network, 4 of its norms), 26 of the decoder layer, $E$, and the bias of the logits.
# The class behind `loaded.model` is the `Transformer` of Lesson 9. Five small things differ from the paper, and one the paper does not say:
#
# | what | the paper | an OPUS-MT model |
# |---|---|---|
# | attention's projections | without biases | with biases (ours were written as zeros) |
# | activation | ReLU | mostly SiLU (ours has ReLU) |
# | sinusoids | sine and cosine in turn | all sines, then all cosines |
# | logits | $x E^T$ | $x E^T + b$ |
# | first token of a target | a start token | the token of padding |
# | $\epsilon$ of the layer norms | not said | $10^{-5}$ |
#
# The order of the sinusoids makes no difference. If the channels (the features of a token) of *every* matrix change places together, no logit changes: with a matrix $P$ that only changes places, $(x P)(P^\top W) = x W$. The function that wrote the file has
# changed them so, and the last cell shows that the translations stayed the same.
#
# The first token is a trap. Our mask hides padding. Then the first token would be hidden, and the first row would have nothing to look at. So our model has one
# more row in $E$, a start token with the same numbers as padding:

# %%
print("rows of E:", len(loaded.model.src_embedding.E.value), "  pieces:", loaded.V, "  the start is id", loaded.bos)

# %% [markdown]
# ## 15.3 Other activations
#
# The feed-forward network of the paper has ReLU. OPUS-MT models mostly have SiLU, which is $x\,\sigma(x)$ with $\sigma(x) = 1 / (1 + e^{-x})$. GPT-2 and BERT have GELU
# (Hendrycks and Gimpel, 2016), which is $x\,\Phi(x)$: $\Phi(x)$ is the share of a standard normal distribution that lies below $x$. Both multiply $x$ by a factor between 0 and 1.
#
# > **Predict.** At $x = -1$ ReLU is 0. Are the other two above or below 0 there?

# %%
x = np.linspace(-4, 3, 300)
fig = new_figure(4.6, 5)
axes = fig.subplots(2, 1, sharex=True)
for color, activation, style in zip(COLORS, (ReLU(), GELU(), SiLU()), ("-", "--", ":")):
    y, cache = activation.forward(x)
    for ax, values in zip(axes, (y, activation.backward(np.ones_like(x), cache))):
        ax.plot(x, values, style, color=color, label=type(activation).__name__, linewidth=2)
axes[0].set(title="activation", ylabel="y")
axes[1].set(title="its derivative", xlabel="x", ylabel="dy / dx")
axes[0].legend()
at = np.array([-1.0])
print(" ".join(f"{type(a).__name__} {a(at)[0]:.3f}" for a in (ReLU(), GELU(), SiLU())))
fig

# %% [markdown]
# Both are below 0 there, and their derivative is not zero: a unit that is a little below 0 still learns. By the product rule the derivative of GELU is $\Phi(x) + x\,\varphi(x)$, where $\varphi = \Phi'$ is
# the density of the normal distribution. GPT-2 has an approximation of it by a tanh, `TanhGELU`. All three backward passes are checked by the complex step:

# %%
rng = np.random.default_rng(0)
points = rng.standard_normal((3, 5))
right = {cls.__name__: bool(check_gradients(cls(), points)) for cls in (GELU, TanhGELU, SiLU)}
print(right)

# %% [markdown]
# ## 15.4 Half a Transformer: GPT-2 and BERT
#
# GPT-2 is the decoder without the attention over a source, since there is none. BERT is the encoder alone. What else they changed:
#
# | | the paper | GPT-2 | BERT |
# |---|---|---|---|
# | half | both | decoder | encoder |
# | mask | causal in the decoder | causal | none but padding |
# | norm | after each Add | before each sub-layer, and one at the end | after each Add |
# | activation | ReLU | GELU, by tanh | GELU |
# | biases in attention | no | yes | yes |
# | positions | sinusoids | learned | learned |
# | embedding | $E$ times $\sqrt{d_\text{model}}$ | $E$ | $E$, plus a vector for the first or second sentence, then a norm |
# | trained to guess | the next token of the target | the next token | tokens that were hidden |
#
# The next cell turns the paper's decoder into a small GPT-2, one difference at a time, and checks all its gradients after each. All numbers are random. Then it builds a small BERT, and changes one token of a text for both:

# %%
sizes = dict(N=2, d_model=24, d_ff=48, h=3, max_len=64)
ids = rng.integers(1, 50, (1, 8))
chosen, steps_right = {}, []
for difference, options in (
    ("decoder without a source", dict(layer=EncoderLayer)),           # and with a causal mask
    ("norm before each sub-layer", dict(layer=PreNormEncoderLayer)),
    ("GELU, by tanh", dict(layer=layer_factory(PreNormEncoderLayer, activation=TanhGELU))),
    ("biases in attention", dict(layer=layer_factory(PreNormEncoderLayer, activation=TanhGELU, bias=True))),
    ("learned positions", dict(positions=LearnedPositionalEncoding)),
    ("E without its factor", dict(embedding=UnscaledEmbedding)),
):
    chosen |= options
    gpt2 = LanguageModel(50, pad=None, rng=rng, **chosen, **sizes)
    steps_right.append(bool(check_gradients(gpt2, ids)))
    print(f"{difference:28}{sum(p.value.size for p in gpt2.parameters()):7,} parameters  {'gradients right' if steps_right[-1] else 'wrong'}")

bert = MaskedLanguageModel(
    50, layer=layer_factory(EncoderLayer, bias=True, activation=GELU), rng=rng, **sizes)
changed = ids.copy()
changed[0, 5] = ids[0, 5] % 49 + 1
for name, model in (("GPT-2", gpt2), ("BERT", bert)):
    moved = np.abs(model(changed) - model(ids)).max(axis=-1)[0]
    print(f"{name:6}", np.where(moved > 0, "moved", "-"))

# %% [markdown]
# The norm adds one of its own at the end of the stack, the biases and the learned positions add numbers of their own; GELU and the missing factor add none. Position 5 was changed. In GPT-2 only the positions from there on change: that is the causal mask. In BERT all positions change, since each one reads left and right.
# So BERT cannot be trained to guess the next token, which it sees. It is trained to guess tokens that were hidden from it.
#
# GPT-2 writes one token after another. With a causal mask earlier positions never change (Lesson 5.7), so their keys and values can be kept. The cell shows how `GrowingText` does it: only the new tokens pass the layers, whose attentions keep the rest.
#
# > **Predict.** A text of 60 tokens is written. How many positions are computed in all, if the whole prefix is computed for each token? And with kept keys and values?

# %%
print(inspect.getsource(GrowingText.next_logits))
whole, growing, steps = WholeText(gpt2), GrowingText(gpt2), 60
text = rng.integers(1, 50, (1, steps))
largest, computed = 0.0, [0, 0]
for t in range(steps):
    a, b = whole.next_logits(text[:, t : t + 1]), growing.next_logits(text[:, t : t + 1])
    largest = max(largest, float(np.abs(a - b).max()))
    computed = [computed[0] + t + 1, computed[1] + 1]
print(f"positions: {computed[0]} and {computed[1]}, largest difference of a logit {largest:.0e}")
print(list(generate(gpt2, [7, 8, 9], steps=8, temperature=0)))

# %% [markdown]
# All prefixes together have 1 + 2 + … + 60 = 1830 positions. With kept keys and values 60 are computed. The logits are the same.
#
# The models after GPT-2 changed a few more parts. These are the most frequent changes, with the papers that brought them:
#
# | instead of | many models of today have | what it does |
# |---|---|---|
# | layer norm | RMSNorm (Zhang and Sennrich, 2019) | divides by the root of the mean square, and subtracts no mean |
# | ReLU or GELU | SwiGLU (Shazeer, 2020) | multiplies SiLU of one linear map by another linear map |
# | positions that are added | rotary positions (Su et al., 2021) | turn queries and keys by an angle that grows with the position (Lesson 8.4) |
# | keys and values for each head | grouped queries (Ainslie et al., 2023) | several heads share keys and values, so less must be kept |
#
# RMSNorm is in `aiayn_np/variants`. The others are good exercises: each is a change to one class that you know.
#
# ## 15.5 Its maps
#
# The maps of an opened model are in its cache, as they always were. Below is the number model. **With a downloaded folder** (`OPUS_MT=path` in the environment)
# the same cell draws a real translator. Nothing else changes.

# %%
opened = open_run(os.environ.get("OPUS_MT", folder))
sentence = os.environ.get("SENTENCE", "fünf hundert drei und zwanzig")
src = opened.task.source(sentence)
source, written, weights, _ = opened.translation_attention(src)
rows = [f"{read} → {write}" for read, write in zip(["<start>", *written], written)]
looked = weights.mean(axis=0)                                          # (T_tgt, T_src), of the last layer
print(opened.task.text(opened.decode(src)[0]))
plot_attention(weights, rows, source, title="the heads of the last layer")

# %% [markdown]
# A row has read one token and writes the next (Lesson 11.2). Columns are the words of the source. English says the tens before the units, German says them after: in head 1 the rows that write *twenty*, the hyphen and *three* go backwards.
#
# ## 15.6 On which words does a token depend?
#
# A map says where a layer looked. It does not say what the token depends on (Lesson 11.7). Two other measurements ask the model itself:
#
# - **The gradient.** How much would the log-probability of the written token change, if the vector of a source word moved a little? We go back to these vectors with the
#   model's own backward, and take the length of each gradient. Such pictures are called saliency maps (Simonyan et al., 2013).
# - **Hiding.** How much of its log-probability does the token lose, if a source word is hidden from the decoder, as in Lesson 14.8?
#
# The gradient of $\log p$ with respect to the logits is $\mathbb{1}[\text{token}] - p$ (Lesson 2.6). We do not take a logit alone: a constant added to all logits changes no probability.
#
# > **Predict.** The model writes *twenty* in "five hundred and twenty-three". Which source word has the longest gradient? Which one is missed most when it is hidden?

# %%
model, softmax = opened.trained(), Softmax()
_, tgt_in, tgt_out = opened.example(src)
steps = np.arange(tgt_out.shape[1])


def gradient_lengths(t):
    """Lengths of the gradients of log p(token t) by the vectors of the source words, (T_src,)."""
    logits, cache = model.forward(src, tgt_in)
    grad = np.zeros_like(logits)
    grad[0, t] = -softmax(logits[0, t])
    grad[0, t, tgt_out[0, t]] += 1
    grad = model.output_projection.backward(grad, cache.output_projection)
    _, grad_memory = model.decoder.backward(grad, cache.decoder)
    grad_x = model.encoder.backward(grad_memory, cache.encoder)        # (1, T_src, d_model)
    return np.sqrt((grad_x**2).sum(axis=-1))[0]


def log_probability(hidden=None):
    """log p of every written token, (T_tgt,), where one source word is hidden from the decoder."""
    memory, _ = model.encode(src)
    allowed = not_padding(src, model.pad)                              # (1, 1, 1, T_src)
    if hidden is not None:
        allowed[..., hidden] = False
    logits, _ = model.decode(tgt_in, memory, memory_allowed=allowed)
    return np.log(softmax(logits[0])[steps, tgt_out[0]])


lengths = np.array([gradient_lengths(t) for t in steps])
lost = np.stack([log_probability() - log_probability(j) for j in range(src.shape[1])], axis=1).clip(0)
shares = [x / x.sum(axis=1, keepdims=True) for x in (lengths, lost)]   # (T_tgt, T_src), rows sum to 1
plot_attention(np.stack([looked, *shares]), rows, source, quantity="share of the row",
               titles=["looked at", "length of the gradient", "loss when hidden"])

# %%
print(f"{'token':10}{'looked at':12}{'gradient':12}hidden")
for t, word in enumerate(written):
    print(f"{word:10}" + "".join(f"{source[int(x[t].argmax())]:12}" for x in (looked, *shares)))

# %% [markdown]
# The word *zwanzig* is missed most for *twenty*, and *drei* for *three*. For five of seven tokens all three columns name the same word. The gradients of *hundred* and *and* are
# longest at other words, and they are spread over many. Hiding gives one word for each token. (For *and* it is the end mark: hiding a place hides whatever the encoder has put there, and that need not be the word.) The two ask different questions: a gradient asks about a very small
# change of a vector, and hiding takes a whole word away. (A word whose hiding makes the token *more* likely counts as 0 here.)
#
# So a map, a gradient and a missing word are three measurements, and each needs its own sentence. What a map shows and what a model needs has been argued about at length: Jain and
# Wallace (2019), Wiegreffe and Pinter (2019). This is one sentence and one model.
#
# A small model with biases, SiLU and the sinusoids of OPUS-MT is checked as a whole by the complex step:

# %%
options = dict(bias=True, activation=SiLU)
small = Transformer(
    11, N=1, d_model=8, d_ff=12, h=2, positions=SinusoidsInHalves,
    encoder_layer=layer_factory(EncoderLayer, **options), decoder_layer=layer_factory(DecoderLayer, **options), rng=rng)
report = check_gradients(small, rng.integers(1, 11, (2, 4)), rng.integers(1, 11, (2, 3)))
print("gradients right" if report else "wrong")

# %% [markdown]
# ## 15.7 Check what this lesson claimed

# %%
assert before == after                                                 # out and in: the same translations
assert len(state) == 44
assert all(right.values())
assert all(steps_right)
assert computed == [1830, 60]
assert largest < 1e-10
assert bool(report)
if "OPUS_MT" not in os.environ:
    missed = [source[int(x.argmax())].strip("_▁") for x in lost]
    assert any([source[j].strip("_▁") for j in head[3:6].argmax(axis=1)] == ["zwanzig", "und", "drei"]
               for head in weights)                                    # backwards
    assert [missed[3], missed[5]] == ["zwanzig", "drei"]               # for "twenty" and "three"
work.cleanup()
print("all true")

# %% [markdown]
# ## Summary
#
# - A downloaded model is numbers, sizes and a vocabulary. The program is the one that you know.
# - OPUS-MT is the paper's Figure 1 with biases, mostly another activation, and a bias on the logits.
# - GPT-2 is its right half without a source; BERT is its left half with a head that guesses words.
# - Kept keys and values change what is computed, and no logit.
# - A map says where a layer looked, a gradient says what a very small change would do, and hiding says what is missed. They need not agree.
#
# ## Questions
#
# **1.** Why may all channels of a model change places, and why must the positions change with them?
#
# <details><summary>Answer</summary>
#
# Every matrix that writes channels is followed by matrices, norms and sums that read them. If all of them use the new order, each sum has the same terms. The table of positions is
# added to the channels, so it must come in the same order. This is the difference between sinusoids in turn and in halves.
#
# </details>
#
# **2.** BERT's layers have no causal mask. What would go wrong if it was trained to guess the *next* token?
#
# <details><summary>Answer</summary>
#
# The next token is part of its input, and every position may look at it. The loss would go to zero, and nothing would have been learned (Lesson 5.6). So the tokens to be guessed are hidden from the input.
#
# </details>
#
# **3.** A folder's `config.json` names an option that this library does not have. Should it be left out?
#
# <details><summary>Answer</summary>
#
# No. The model would run, and compute something else than its authors measured. The loaders refuse such a folder and name the option.
#
# </details>
