"""Corpora in many scripts, made by a drawing: numbers as words of two languages, with punctuation.

A sentence is a row of digits; each language spells them in its own words, joined and ended as its
script does it. So every translation is known, and a model can learn it.
"""

import numpy as np

# script -> (words for 0 to 9, what joins them, what ends a sentence)
SCRIPTS = {
    "english": ("zero one two three four five six seven eight nine", " ", [".", "!", "…"]),
    "chinese": ("零 一 二 三 四 五 六 七 八 九", "", ["。", "，好吗？", "；½™", "！"]),
    "japanese": ("ゼロ いち に サン し ゴ ろく なな ﾊﾁ きゅう", "", ["。", "？", "…！"]),
    "arabic": ("صفر واحد اثنان ثلاثة أربعة خمسة ستة سبعة ثمانية تسعة",
               " ", ["؟", "،", "."]),
    "hindi": ("शून्य एक दो तीन चार पाँच छह सात आठ नौ", " ", ["।", "॥", "?"]),
    "hebrew": ("אפס אחת שתיים שלוש ארבע חמש שש שבע שמונה תשע", " ", ["\u200f.", "׃", "?"]),
    "emoji": ("0️⃣ 🐱 👩‍👩‍👧 👍🏽 🇩🇪 ❤️ 🎉 🧑🏿‍🚀 😀 🏴‍☠️",
              "", ["‼️", "⁉️", "⭐"]),
    "thai": ("ศูนย์ หนึ่ง สอง สาม สี่ ห้า หก เจ็ด แปด เก้า", "", ["ๆ", "ฯ"]),
    "korean": ("영 일 이 삼 사 오 육 칠 팔 구", " ", [".", "?", "!"]),
    "russian": ("ноль один два три четыре пять шесть семь восемь девять",
                " ", [".", "«»"]),
}


def sentence(script, digits, end):
    """A row of digits in the words of a script; `end` chooses how it ends."""
    words, between, ends = SCRIPTS[script]
    return between.join(words.split()[i] for i in digits) + ends[end]


def pairs_of(source, target, n, seed=0, longest=6):
    """n pairs of sentences (source, target) that say the same."""
    rng = np.random.default_rng(seed)
    ends = min(len(SCRIPTS[script][2]) for script in (source, target))
    rows = [(rng.integers(10, size=rng.integers(1, longest + 1)), int(rng.integers(ends)))
            for _ in range(n)]
    return [(sentence(source, *row), sentence(target, *row)) for row in rows]
