"""The scan of a diagonal linear recurrence for a whole fleet, in one launch each way.

The plain code it must agree with is `ldru.models.s5.linear_scan`. Complex numbers lie as pairs of
real ones.
"""

import torch
import triton
import triton.language as tl
from torch import Tensor

STATES = 128  # of a program


@triton.jit
def load_pair(ptr, there):
    return tl.load(ptr, mask=there, other=0.0), tl.load(ptr + 1, mask=there, other=0.0)


@triton.jit
def store_pair(ptr, real, imaginary, there):
    tl.store(ptr, real, mask=there)
    tl.store(ptr + 1, imaginary, mask=there)


@triton.jit
def scan_kernel(decay_ptr, driven_ptr, out_ptr, words, length, states, STATES: tl.constexpr):
    """decay [M, states, 2], driven [M, words, length, states, 2] -> as driven.

    Grid (M words, state blocks).
    """
    word = tl.program_id(0).to(tl.int64)
    state = tl.program_id(1) * STATES + tl.arange(0, STATES)
    there = state < states
    a, b = load_pair(decay_ptr + 2 * (word // words * states + state), there)
    real = tl.zeros((STATES,), dtype=tl.float32)
    imaginary = tl.zeros((STATES,), dtype=tl.float32)
    for place in range(0, length):
        at = 2 * ((word * length + place) * states + state)
        given, given_imaginary = load_pair(driven_ptr + at, there)
        kept = a * real - b * imaginary
        imaginary = a * imaginary + b * real + given_imaginary
        real = kept + given
        store_pair(out_ptr + at, real, imaginary, there)


@triton.jit
def scan_gradient_kernel(
    decay_ptr, out_ptr, gradient_ptr, of_driven_ptr, of_decay_ptr, words, length, states,
    STATES: tl.constexpr,
):  # fmt: skip
    """The gradients of driven, as driven, and of decay by each word [M, words, states, 2].

    Backwards s_t = gradient_t + conj(decay) s_{t+1}; driven gets s, decay the sum of
    s_t conj(out_{t-1}). Grid (M words, state blocks).
    """
    word = tl.program_id(0).to(tl.int64)
    state = tl.program_id(1) * STATES + tl.arange(0, STATES)
    there = state < states
    a, b = load_pair(decay_ptr + 2 * (word // words * states + state), there)
    real = tl.zeros((STATES,), dtype=tl.float32)
    imaginary = tl.zeros((STATES,), dtype=tl.float32)
    of_a = tl.zeros((STATES,), dtype=tl.float32)
    of_b = tl.zeros((STATES,), dtype=tl.float32)
    for step in range(0, length):
        place = length - 1 - step
        at = 2 * ((word * length + place) * states + state)
        given, given_imaginary = load_pair(gradient_ptr + at, there)
        kept = a * real + b * imaginary
        imaginary = a * imaginary - b * real + given_imaginary
        real = kept + given
        store_pair(of_driven_ptr + at, real, imaginary, there)
        x, y = load_pair(out_ptr + at - 2 * states, there & (place > 0))
        of_a += real * x + imaginary * y
        of_b += imaginary * x - real * y
    store_pair(of_decay_ptr + 2 * (word * states + state), of_a, of_b, there)


def scan(decay: Tensor, driven: Tensor) -> Tensor:
    """[M, states, 2], [M, words, length, states, 2] -> as driven."""
    members, words, length, states, _ = driven.shape
    driven = driven.contiguous()
    out = torch.empty_like(driven)
    scan_kernel[(members * words, triton.cdiv(states, STATES))](
        decay.contiguous(), driven, out, words, length, states, STATES=STATES
    )
    return out


def scan_gradient(decay: Tensor, out: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of decay and driven, from the result and its gradient."""
    members, words, length, states, _ = out.shape
    of_driven, of_decay = torch.empty_like(out), out.new_empty(members, words, states, 2)
    scan_gradient_kernel[(members * words, triton.cdiv(states, STATES))](
        decay.contiguous(), out, gradient.contiguous(), of_driven, of_decay, words, length, states,
        STATES=STATES,
    )  # fmt: skip
    return of_decay.sum(dim=1), of_driven
