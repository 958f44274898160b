"""BBT-GRC: the gated recursive cell in a balanced binary tree."""

import itertools
from abc import ABC, abstractmethod

from torch import Tensor, nn
from torch.nn import functional

from ldru.base.limits import check_sizes
from ldru.layers.dropout import Dropout
from ldru.layers.embedding import Embedding
from ldru.layers.linear import Linear
from ldru.models.words import check_words
from ldru.operators.grc import GRCOperator
from ldru.tree import tree_reduce


class GRCClassifier(nn.Module, ABC):
    """Embed the tokens, reduce them to one state by a gated recursive cell, score the classes.

    leaf = LayerNorm(W e + b)                                  e ~ N(0, 1)
    scores = W2 gelu(W1 state + b1) + b2

    A subclass says in which order the cell is applied.

    dropout: rate on the embeddings and before both layers of the classifier.
    cell_dropout: rate inside every composition.
    """

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        embedding_dim: int,
        dim: int,
        dropout: float,
        cell_dropout: float,
    ) -> None:
        super().__init__()
        check_sizes(
            vocab_size=vocab_size, num_classes=num_classes, embedding_dim=embedding_dim, dim=dim
        )
        self.vocab_size, self.num_classes, self.dim = vocab_size, num_classes, dim
        self.embedding = Embedding(vocab_size, embedding_dim)
        nn.init.normal_(self.embedding.weight)
        self.leaf = Linear(embedding_dim, dim)
        self.leaf_norm = nn.LayerNorm(dim)
        self.cell = GRCOperator(dim=dim, dropout=cell_dropout)
        self.hidden = Linear(dim, dim)
        self.head = Linear(dim, num_classes)
        self.dropout = Dropout(rate=dropout)

    def forward(self, tokens: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Score the classes: [batch, length] -> [batch, classes]."""
        tokens = check_words(tokens, lengths)
        leaves = self.leaf_norm(self.leaf(self.dropout(self.embedding(tokens), 0)))
        state = self.reduce(leaves, lengths)
        state = functional.gelu(self.hidden(self.dropout(state, 1)))
        return self.head(self.dropout(state, 2))

    @abstractmethod
    def reduce(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        """Reduce every word: [batch, length, dim] -> [batch, dim]."""


class BBTGRCClassifier(GRCClassifier):
    """Neighbours are combined in a balanced tree; an unpaired element rises unchanged."""

    def __init__(
        self,
        *,
        vocab_size: int,
        num_classes: int,
        embedding_dim: int = 64,
        dim: int = 96,
        dropout: float = 0.0,
        cell_dropout: float = 0.1,
    ) -> None:
        super().__init__(
            vocab_size=vocab_size,
            num_classes=num_classes,
            embedding_dim=embedding_dim,
            dim=dim,
            dropout=dropout,
            cell_dropout=cell_dropout,
        )

    def reduce(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        level_numbers = itertools.count()
        return tree_reduce(lambda *pair: self.cell(*pair, next(level_numbers)), x, lengths)
