"""Settings of the whole test run."""

import torch

# The tests are many and small, and run in one process per core: threads would only wait.
torch.set_num_threads(1)
