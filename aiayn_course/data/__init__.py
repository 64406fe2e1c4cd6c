"""Small corpora that come with the library: number words, and Chinese phrases.

Public names, by the file that defines them:

    chinese_phrases  chinese_phrases, ordinal, write_chinese_phrases
    number_words     digest, number_words, small_number_words, write_number_words
"""
