"""The command line of the paper's package: one file for each group of commands.

`python -m aiayn_np` has these commands. `aiayn-np` adds those of the course (aiayn_course/cli).

Public names, by the file that defines them:

    common    UsageError, add_run, command_line, loaded_for, nearest, note, opened, printable
    look      source_of
    main      main
    parser    parsed
    progress  shown
    train     interruptible, print_results, take_steps, train_command, trained
    vectors   vectors_command
    writing   add_out, check_file, check_folder, files_of, make_writable, new_path
"""
