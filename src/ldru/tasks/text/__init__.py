"""Texts to classify: GLUE, AG's News and DBPedia as tokens of BERT's vocabulary."""

from ldru.tasks.text.own import own_texts
from ldru.tasks.text.sets import TEXT_SETS, TextSet
from ldru.tasks.text.store import Prepared, prepare
from ldru.tasks.text.task import text_task
from ldru.tasks.text.wordpiece import WordPiece

__all__ = ["TEXT_SETS", "Prepared", "TextSet", "WordPiece", "own_texts", "prepare", "text_task"]
