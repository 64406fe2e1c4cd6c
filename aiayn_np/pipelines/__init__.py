"""Pipelines: models with their tasks, which turn a text into a result.

A model comes from the folder of a run, or from a folder of Hugging Face, as a real model.

Public names, by the file that defines them:

    loaded              Loaded
    pipeline            LanguagePipeline, OwnLanguagePipeline, PairPipeline, Pipeline,
                        SourcePipeline, SymbolPipeline
    written             Written
"""
