"""The commands of the course, and the command line that has all commands.

Public names, by the file that defines them:

    lessons  lesson_files
    main     main
    pages    make_pages, new_run
"""
