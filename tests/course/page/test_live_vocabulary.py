"""The page's cutting of text beside SentencePiece: the same ids, the same text, in any script."""

import io
import json

import pytest
from javascript import node
from sentences import sentences

from aiayn_course.data.number_words import number_words, small_number_words
from aiayn_course.page.cutting import rules_of
from aiayn_course.page.live import PAGE, live_page
from aiayn_np import Transformer
from aiayn_np.text.task import PairTask
from aiayn_np.text.vocabulary import BOS, EOS, PAD, UNK, Vocabulary

spm = pytest.importorskip("sentencepiece")
LINES = [
    "", " ", "  vier   hundert ", "vier\thundert", "a b", "ein\u00a0wort", "½ ①", "日本語 の 文",
    "שלום עולם", "🙂🙂 x 🙂", "\ufeffmark", "<s> </s> <pad> <unk>", "</script>", "▁vier", "e\u0301",
    "ｆｕｌｌ", "é", "\u2028", "ZZZ vierZZ", "fünf" * 40, "null\u0000byte", "İ ß ǅ",
]
SCRIPT = """
function main({ rules, lines, rows }) {
  const vocabulary = vocabulary_of(rules);
  const cut = lines.map((line) => vocabulary.source(line).ids);
  return [cut, rows.map((ids) => vocabulary.text(ids))];
}
"""


@pytest.mark.slow
def test_the_page_knows_every_number_and_what_is_none():
    pairs = [pair for pairs in number_words() for pair in pairs]
    wrong = ["eins tausend", "tausend", "ein", "null tausend", "zwei tausend null", "zwei drei",
             "ein tausend drei tausend", "", "constructor", "zwei tausend constructor", "twelve"]
    script = "function main([lines, answers]) { return lines.map((one) => in_english(one, answers)"\
             " ?? null); }"
    found = node(script, [[german for german, _ in pairs] + wrong, small_number_words()])
    assert found == [english for _, english in pairs] + [None] * len(wrong)


@pytest.mark.slow
def test_a_page_of_number_words_judges_an_answer(visit, tmp_path, rng):
    vocabulary = vocabulary_of((line for pair in number_words().training for line in pair), 200)
    task = rules(vocabulary) | dict(name="text", eos=EOS, pad=PAD)
    model = Transformer(len(vocabulary), N=1, d_model=8, d_ff=8, h=1, max_len=40, rng=rng)
    path = tmp_path / "page.html"
    page = live_page(model, task, ["zwei"], answers=small_number_words())
    path.write_text(page, encoding="utf-8")
    page = visit(path, "#mode=look")
    say = json.loads((PAGE / "words.json").read_text(encoding="utf-8"))["en"]
    for text, mark, note in (
            ("zwei", "✗ wrong", ""),
            ("zwei tausend drei", "✗ wrong", ""),
            *((text, "", say["not_checked"].format(example="zwei"))
              for text in ("forty", "drei drei"))):
        page.get_by_role("textbox", name="You type").fill(text)
        page.locator("#app[aria-busy='false']").wait_for(state="attached")
        assert page.locator("#source-note").inner_text() == note
        assert "".join(page.locator("#written .mark").all_inner_texts()) == mark
    page.evaluate("""() => {
      const ids = vocabulary.source("two thousand and three").ids;
      thoughts[0].src = vocabulary.source("zwei tausend drei").ids;
      Object.assign(thoughts[0], { steps: ids.map((token) => ({ token })), ended: true });
      self.found = mark_of(thoughts[0]).map((one) => one.textContent);
    }""")
    assert page.evaluate("found") == ["✓ right"]


def vocabulary_of(lines, size, **options):
    """A byte-pair vocabulary that leaves characters as they are."""
    options = dict(normalization_rule_name="identity", model_type="bpe") | options
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(list(lines)), model_writer=model, vocab_size=size, pad_id=PAD,
        bos_id=BOS, eos_id=EOS, unk_id=UNK, minloglevel=2, hard_vocab_limit=False, **options)
    return Vocabulary(model.getvalue())


def rules(vocabulary):
    task = PairTask(vocabulary, 20)
    known = dict(tokens=task.tokens(range(task.vocab_size)), bos=BOS, max_length=20)
    return known | rules_of(vocabulary)


@pytest.mark.slow
@pytest.mark.parametrize("options", [
    {}, dict(remove_extra_whitespaces=False), dict(add_dummy_prefix=False),
    dict(remove_extra_whitespaces=False, add_dummy_prefix=False),
], ids=str)
def test_every_line_is_cut_as_sentencepiece_cuts_it(options, rng):
    pairs = number_words().training
    vocabulary = vocabulary_of((line for pair in pairs for line in pair), 200, **options)
    chosen = [line for i in rng.integers(len(pairs), size=300) for line in pairs[i]]
    lines = [*LINES, *chosen, *(line[::-1] for line in chosen[:100])]
    rows = [rng.integers(0, len(vocabulary), size=rng.integers(0, 9)).tolist() for _ in range(300)]
    rows += [row.tolist() for row in vocabulary.encode(lines)]
    found = node(SCRIPT, dict(rules=rules(vocabulary), lines=lines, rows=rows))
    for line, ids in zip(lines, found[0], strict=True):                # it has no capitals
        assert ids == vocabulary.encode([line.lower()])[0].tolist(), line
    for row, text in zip(rows, found[1], strict=True):
        assert text == vocabulary.decode(row), row


@pytest.mark.slow
def test_an_unknown_word_is_reported_as_it_was_typed():
    vocabulary = vocabulary_of((line for pair in sentences(60) for line in pair), 60)
    script = """function main({ rules, lines }) {
      return lines.map((line) => vocabulary_of(rules).source(line).unknown);
    }"""
    lines = ["42", "zwei 42 drei 7"]
    assert node(script, dict(rules=rules(vocabulary), lines=lines)) == [["42"], ["42", "7"]]


@pytest.mark.slow
def test_symbols_are_read_as_the_task_reads_them():
    task = dict(tokens=["<pad>", "<bos>", "<eos>", "0", "1", "10"], pad=0, bos=1, eos=2)
    lines = ["1 0 10", "  1\t10\n", "", "<bos> 1 x", "constructor 1"]
    rows = [[5, 3, 2, 4], [3, 0, 4], []]
    found = node(SCRIPT, dict(rules=task, lines=lines, rows=rows))
    assert found == [[[4, 3, 5, 2], [4, 5, 2], [2], [4, 2], [4, 2]], ["10 0", "0 1", ""]]
    lines = ["314", "1,2, 3", "3 1x4 1", "-1 12", "zwölf"]             # single signs need no space
    digits = task | dict(tokens=["<pad>", "<bos>", "<eos>", *"01234"])
    assert node(SCRIPT, dict(rules=digits, lines=lines, rows=[]))[0] == [
        [6, 4, 7, 2], [4, 5, 6, 2], [6, 4, 2], [4, 5, 2], [2]]


@pytest.mark.parametrize(("options", "message"), [
    (dict(normalization_rule_name="nmt_nfkc"), "changes characters before it cuts: nmt_nfkc"),
    (dict(model_type="unigram"), "is not a byte-pair encoding of characters"),
    (dict(byte_fallback=True), "is not a byte-pair encoding of characters"),
    (dict(treat_whitespace_as_suffix=True), "writes spaces in another way"),
])
def test_rules_that_the_page_does_not_have_are_refused(options, message):
    lines = [line for pair in sentences(60) for line in pair]
    size = 400 if "byte_fallback" in options else 60
    with pytest.raises(ValueError, match=message):
        rules_of(vocabulary_of(lines, size, **options))
