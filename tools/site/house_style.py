"""An extension of mkdocstrings: docstrings of the house style become Markdown."""

import griffe

from tools.site.docstrings import to_markdown


class HouseStyle(griffe.Extension):
    """Rewrites every docstring when its object has been read."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: object) -> None:
        if obj.docstring is not None:
            obj.docstring.value = to_markdown(obj.docstring.value)
