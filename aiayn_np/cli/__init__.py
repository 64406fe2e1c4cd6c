"""The command line: one file for each group of commands.

Public names, by the file that defines them:

    lessons  lesson_files
    main     main
    pages    make_pages, train_options
"""
