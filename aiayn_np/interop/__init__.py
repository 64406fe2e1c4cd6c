"""The formats of `export` and `import`: how a run becomes a file or a folder of another library.

Public names, by the file that defines them:

    folder_format  copied, write_folder
    gpt2_format    save_gpt2
"""
