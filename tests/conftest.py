"""Settings of the whole test run."""

import os

import torch

# The tests are many and small, and run in one process per core: threads would only wait.
torch.set_num_threads(1)

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # Triton reads it once, when it is imported
