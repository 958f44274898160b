# %% [markdown]
# # What did it learn?
#
# A network that is right on every test word may still be wrong. This tutorial takes networks that
# come with the library, turns each into an exact machine, and asks whether that machine is right
# on *every* word. One is, one is not, one is half-way, and the last gets a proof that holds for
# its floating-point arithmetic.

# %%
# %matplotlib inline
import itertools
import os
from functools import cache

import ldru

QUICK = "LDRU_QUICK" in os.environ  # the tests look at one small network only


@cache
def examined(name: str) -> tuple[ldru.Run, ldru.Extraction]:
    """A shipped network and its exact machine."""
    run = ldru.Run.open(name)
    options = {"tolerances": [0.5]} if QUICK else {}
    return run, ldru.extract(run.model, run.task, **options)


def examine(name: str) -> tuple[ldru.Run, ldru.Extraction]:
    """The same, once for each network; in a quick run always parity's."""
    return examined("parity_check" if QUICK else name)


# %% [markdown]
# ## A network without an error
#
# `dyck_4` accepts brackets that close and are nested at most four deep: `0` opens, `1` closes.
# The shipped network was trained on words of up to 40 symbols. Its record has the counts of right
# and wrong answers:

# %%
run = ldru.Run.open("dyck_4")
evaluation = run.record.evaluation
words = sum(result.words for result in evaluation.by_part.values())
print(f"{evaluation.mean_accuracy(evaluation.lengths):.2%} of {words:,} words up to length 500")

# %% [markdown]
# Not one wrong answer. Is it right, then? The words that it was tested on are random. A random
# word that is rejected nearly always fails at its end: it has too many of one bracket. A word
# that closes perfectly and only goes *one bracket too deep* on the way is hardly ever drawn.
#
# ## From a network to a machine
#
# The extraction follows the network through its tree, level by level, and merges vectors that lie
# near each other. How near is a matter of scale, so it tries many. At each tolerance either no
# new state appears any more, and the tables are closed, or there are too many.

# %%
run, found = examine("dyck_4")
found

# %% [markdown]
# The tables are closed, they agree with the network on the words that both were asked, and they
# are *wrong*. The verdict has followed each state together with the class of its word in the
# language's monoid until nothing new could happen, and gives a shortest word on which they
# differ. Asked for this word, the network gives the wrong answer too:

# %%
word = run.task.machine.decode(found.wrong) if found.wrong else "0110"
answer = run.predict([word])[0]
print(
    f"{word}: {answer.label} with probability {answer.probability:.4f}, expected {answer.expected}"
)
steps = (1 if symbol == "0" else -1 for symbol in word)
print("open brackets:", *itertools.accumulate(steps))

# %% [markdown]
# Thirty-four symbols, within the lengths of training, balanced, and five deep in one place. The
# network is sure of itself. No sample of a reasonable size contains such a word; the machine
# leads straight to it. Here is its tree, each node with its state in the extracted tables:

# %%
ldru.draw(found, word=word)

# %% [markdown]
# ## A network whose machine is right
#
# One bracket less: `dyck_3`.

# %%
run, found = examine("dyck_3")
print(found.summary)
print(found.algebra.num_states, "states;", found.monoid.size, "classes of words")

# %% [markdown]
# *Correct at every length* is a proof about the tables. There is no word, of whatever length,
# that they answer wrongly. They have fewer states than the monoid has classes, since a tree of
# pairs never asks for some products: beyond single symbols, a part of odd length only ever stands
# at the end of the word.
#
# The tables are a machine in their own right. Read from left to right instead of in a tree, they
# become an automaton, and the minimal one is the language's own:

# %%
print("the language's own:", found.machine.is_equivalent(run.task.machine))
ldru.draw(found.machine)

# %% [markdown]
# And they answer words at which a network would take its time. Two million brackets:

# %%
[int(label) for label in found.predict(["0011" * 500_000, "0011" * 500_000 + "1"])]

# %% [markdown]
# ## Half-way: the machine is right, the network is not
#
# The verdict is exact for the tables. The network is not its tables: its vectors lie *near* the
# states, and over many levels they can drift. The extraction therefore also asks the network
# about the wrong words of *every* tolerance. On `tomita_7` (zeros, ones, zeros, ones) that is
# worth it:

# %%
run, found = examine("tomita_7")
print(found.summary)

# %% [markdown]
# The machine is right everywhere. The network has found a word that it answers wrongly, and
# snapping its vectors to the states would mend it.
#
# ## A proof for the network itself
#
# Can one prove something about the network, rounding and all? Around each state there would have
# to be a ball such that any two vectors in two balls are joined into the ball that the tables
# name. Then every node of every word stays in its ball, by induction, at every length. A network
# as it comes from training has no such balls:

# %%
run, found = examine("parity_check")
ldru.certify(run.model, found).summary

# %% [markdown]
# So it is *consolidated*: trained further on nothing but its own tables, until its vectors gather
# closely around the states and its maps contract there. No words are used, and no labels.

# %%
model = ldru.consolidate(run.model, found, steps=4 if QUICK else 600)
certificate = ldru.certify(model, found)
certificate.summary

# %% [markdown]
# A certificate can be checked by anybody who has the weights, in milliseconds. It computes all
# bounds again and raises an error if anything fails.

# %%
if certificate.is_certified:
    certificate.check(model, "parity_check")
    certificate.save("parity.json")
    print("checked, and saved")

# %% [markdown]
# ## Next
#
# - [What a proof says](../explanation/proofs.md), and what it does not say.
# - `ldru train --until-proved` goes on training on the wrong words that the verdict finds: [exact
#   machines](../extraction.md#training-until-it-is-proved).
# - A model without a tree, an LSTM or a transformer, is asked instead: [other
#   models](../extraction.md#other-models).
