"""The page that runs a trained model in the browser: its Python, scripts, style and words.

Public names, by the file that defines them:

    cutting    rules_of
    live       NotRunnable, check_runnable, live_page
    live_page  most_telling_first, task_of, write_live_page
"""
