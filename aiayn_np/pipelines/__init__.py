"""A model with its task, ready to use: from a text to what the model makes of it.

The model is a trained one, from the folder of a run, or a real one, from a folder of Hugging Face.

Public names, by the file that defines them:

    loaded              Loaded
    pipeline            Pipeline, SentencePipeline, SourcePipeline, TextPipeline, WordPipeline
    written             Written
"""
