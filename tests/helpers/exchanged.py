"""A part of a model is exchanged for another one."""


def exchange(model, path, make):
    """The attribute at a dotted path of the model becomes `make(what stands there)`."""
    *owner, name = path.split(".")
    for part in owner:
        model = model[int(part)] if part.isdecimal() else getattr(model, part)
    setattr(model, name, make(getattr(model, name, None)))
