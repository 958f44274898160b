# %% [markdown]
# # Your first language
#
# A *language* here is a set of words: "words without `bab`", "an even number of ones", "brackets
# that close". A network is shown short words, each with the answer, and is then asked about words
# that are far longer than any it has seen. Has it found the rule, or something that resembles it
# on short words?
#
# This tutorial brings a language, trains a network on it for half a minute, and asks.

# %%
# %matplotlib inline
import os

import torch

import ldru

QUICK = "LDRU_QUICK" in os.environ  # the tests train for a few steps only

# %% [markdown]
# ## A language
#
# Write it as a regular expression. `~` is the complement, so this is every word over `a` and `b`
# that nowhere contains `bab`:

# %%
task = ldru.task("no_bab", regex="~(.*bab.*)", alphabet="ab")
task

# %% [markdown]
# The expression has become a machine, the smallest one that decides the language. It reads a word
# from left to right, one arrow for each symbol, and accepts if it ends in a double circle. State
# 3 is the trap: whoever gets there has seen `bab`.

# %%
ldru.draw(task)

# %% [markdown]
# Words are drawn by counting: half of a batch is accepted, half is rejected, and each half is
# uniform over its words of that length. Labels always come from the machine, so they are right
# for words of any length.

# %%
batch = task.sample(batch_size=6, length=10, generator=torch.Generator().manual_seed(0))
for tokens, label in zip(batch.tokens, batch.labels, strict=True):
    print(task.machine.decode(tokens), "accepted" if label else "rejected")

# %% [markdown]
# ## A network
#
# `ldru.train` trains one network for each seed. All settings have defaults, our recipe of 100,000
# steps for a GPU; a small network, small batches and 1,500 steps are enough for a small language,
# and take half a minute on one core. The longest training word has 20 symbols.

# %%
run = ldru.train(
    task,
    dim=24,
    batch_size=64,
    max_length=20,
    steps=10 if QUICK else 1_500,
    out="runs",
)[0]
run

# %% [markdown]
# ## Longer words
#
# Now the question. Accuracy by length, up to 25 times the longest training word:

# %%
evaluation = run.compute_evaluation([5, 10, 20, 40, 80, 160, 320, 500], words=256)
evaluation

# %% [markdown]
# The column *majority_share* is the accuracy of a model that always gives the more frequent label.
# Look at it before you are impressed by an accuracy: it is not always 50 %. Intervals are
# Wilson's, at 95 %.

# %%
evaluation.plot(max_length=20, title="no_bab, trained up to 20")

# %% [markdown]
# Single words go in as text. `expected` is what the machine says.

# %%
words = ["abba" * 5, "abba" * 100, "abba" * 100 + "bab", "aab" * 200]
for word, answer in zip(words, run.predict(words), strict=True):
    print(f"{word[:12]}... of {len(word)} symbols: {answer.label}, expected {answer.expected}")

# %% [markdown]
# ## Is it right?
#
# A test set has some words of some lengths. There are infinitely many others. But this network
# works in a tree, with one operator at every node, and if its vectors gather around finitely many
# points, it *is* a finite machine. That machine can be written down, and compared with the
# language at every length.

# %%
options = {"tolerances": [0.8]} if QUICK else {}
found = ldru.extract(run.model, run.task, **options)
found.summary

# %% [markdown]
# If it says *correct at every length*, that is a proof about the extracted machine: not a single
# word of any length is answered wrongly by it. [What did it learn?](what_did_it_learn.py) looks
# inside, and says what such a proof is worth for the network itself.
#
# ## Where the run is
#
# `out="runs"` kept it: a folder with settings, record, weights and log. It opens again by its
# name, in Python or on the command line:
#
# ```sh
# ldru runs                                # what was trained, with accuracies
# ldru eval runs/RUN --lengths 41:500      # accuracy by length, as a table and a plot
# ldru predict runs/RUN abbaabba           # single words
# ldru extract runs/RUN                    # the exact machine
# ```

# %%
again = ldru.Run.open(run.folder)
again.predict(["abba"])[0]

# %% [markdown]
# ## Next
#
# - Take another language: [how to write one](../languages.md), or one of the
#   [gallery](../gallery/index.md).
# - Train three seeds at once, `seeds=3`: they step together as one fleet, and cost far less than
#   three times one.
# - Take another model, `model="lstm"`: [there are thirteen](../models.md).
