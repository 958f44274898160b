# %% [markdown]
# # A study on a cluster
#
# One run is an anecdote. A study has several languages, several models, several seeds, and ends
# as a table with deviations and tests. This tutorial plans one, works on it on this machine, and
# shows how the very same plan goes to SLURM or Ray.

# %%
# %matplotlib inline
import os
from pathlib import Path

import submitit

import ldru

QUICK = "LDRU_QUICK" in os.environ  # the tests train for a few steps only

# %% [markdown]
# ## A table is data
#
# The question: what does a *leaf block*, one more residual block on the symbols, do for a small
# network with few steps? Two languages, two
# columns, two seeds. A column is a model and a way of training it; a table names what stands in
# its rows and columns.

# %%
STEPS = 4 if QUICK else 400
training = ldru.TrainSpec(
    steps=STEPS,
    learning_rate=3e-3,
    batch_size=32,
    max_length=16,
    l2=0.0,
    decay="cosine",
    validate_every=STEPS,
    validation_words=64,
    validation_length=32,
)
models = {
    "plain": ldru.LDRUSpec(dim=16, dropout=0.05),
    "leaf_block": ldru.LDRUSpec(dim=16, dropout=0.05, leaf_block=True),
}
study = ldru.Table(
    name="small_blocks",
    caption="Mean accuracy over six lengths from 24 to 128, trained up to 16.",
    tasks=("tomita_4", "parity_check"),
    columns={name: ldru.Column(model=model, train=training) for name, model in models.items()},
    seeds=(0, 1),
    lengths=(32,) if QUICK else (24, 32, 48, 64, 96, 128),
    words=128,
    reference="leaf_block",
)

# %% [markdown]
# ## The plan
#
# A results folder knows which runs are there. The plan is the rest, in *fleets*: runs of one
# architecture that step together, each with its own weights and words. A run is named by the
# digest of its settings, so no two tables ever train the same run twice, and it does not matter
# which machine made it.

# %%
results = ldru.Results("results")
plan = ldru.make_plan([study], results)
for job in plan.jobs:
    print(job.title)

# %% [markdown]
# ## Work on it here
#
# `ldru.work_on` trains and evaluates one fleet. Killed at any moment, it goes on from its
# checkpoint the next time. Let us do the first fleet in this process:

# %%
first, *others = plan.jobs
ldru.work_on(first)
print("fleets left:", len(ldru.make_plan([study], results).jobs))

# %% [markdown]
# ## Send the rest away
#
# [submitit](https://github.com/facebookincubator/submitit) sends Python functions to SLURM. Its
# *debug* executor runs them in this process, so a study can be tried where there is no cluster;
# `cluster="local"` takes processes, and without the argument it is SLURM wherever there is one.
# Nothing else changes: a fleet is a function and its argument.

# %%
executor = submitit.AutoExecutor(folder="jobs", cluster="debug")
executor.update_parameters(timeout_min=60)
sent = executor.map_array(ldru.work_on, others)
for job in sent:
    job.result()  # waits, and raises what the job raised
print("jobs done:", len(sent))

# %% [markdown]
# On a cluster you would not write even that. Put the table into a module, register it, and use
# the command line:
#
# ```python
# # my_study.py
# import ldru
#
# ldru.register_table(study)
# ```
#
# ```sh
# ldru reproduce plan small_blocks --import my_study    # what is missing, how long it takes
# ldru reproduce run small_blocks --import my_study --at-once 2      # here, side by side
# ldru reproduce run small_blocks --import my_study \
#   --engine submitit --slurm slurm_partition=gpu gpus_per_node=1    # a SLURM job array
# ldru reproduce run small_blocks --import my_study --engine ray     # a Ray cluster
# ```
#
# Every engine takes the same plan. A job that fails is sent again, a worker that dies is
# replaced, and two machines may work on one folder at once: each claims its runs by a lock that
# ends with its process.

# %% [markdown]
# ## The table
#
# A table is rendered from records alone. Arrows mark significant differences from the reference
# column: a paired test over seeds, at five percent. With two seeds few differences are
# significant, which is as it should be.

# %%
print(ldru.markdown_table(study, results))

# %% [markdown]
# Single runs stand side by side too, with what differs in their names:

# %%
runs = [ldru.Run.open(folder) for folder in sorted(Path("results/runs").glob("parity_check-*"))]
ldru.compare(runs)

# %% [markdown]
# ## Home again
#
# Results travel as one file. Records are enough for tables; weights come along unless you say
# otherwise.

# %%
ldru.pack(results, ldru.table_runs(study), "study.zip")
elsewhere = ldru.Results("elsewhere")
ldru.unpack("study.zip", elsewhere)
print("fleets missing there:", len(ldru.make_plan([study], elsewhere).jobs))

# %% [markdown]
# ## Next
#
# - The paper's own tables are such data: [rebuild them](../reproduction.md), or look at
#   [ours](../../results/README.md).
# - How a fleet steps, and what that saves: [benchmarks](../../benchmarks/README.md).
