"""Arrays in .npy files, mapped into memory: the header is checked against the file's size first."""

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ldru.base.reading import check_size, explained

START = b"\x93NUMPY\x01\x00"
LONGEST_HEADER = 1_000
HEADER = re.compile(
    rb"\{'descr': '([|<](?:u[1248]|i8))', 'fortran_order': False, 'shape': \((\d{1,18}),\), \} *\n"
)
"""The only form in which `numpy.save` writes a vector of whole numbers."""


def open_array(path: Path) -> NDArray[np.integer]:
    """A vector of whole numbers from a file, which is not read before it is needed."""
    size = check_size(path, limit="tensor_bytes")
    with explained(path):
        with path.open("rb") as file:
            start = file.read(len(START) + 2)
            length = int.from_bytes(start[len(START) :], "little")
            found = HEADER.fullmatch(file.read(min(length, LONGEST_HEADER)))
        begin = len(start) + length
        if not start.startswith(START) or found is None:
            raise ValueError("it is no vector of whole numbers, as numpy.save writes them")
        kind, count = np.dtype(found[1].decode()), int(found[2])
        if count * kind.itemsize != size - begin:
            raise ValueError(
                f"{count:,} numbers of {kind.itemsize} bytes are not the {size - begin:,} bytes "
                "that it has"
            )
        if not count:
            return np.zeros(0, dtype=kind)
        return np.memmap(path, dtype=kind, mode="r", offset=begin, shape=(count,))
