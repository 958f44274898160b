"""Compiles kernels of wide models for a GPU that need not be there: `python -m` this.

The interpreter runs what the compiler may refuse. A process of its own, because Triton decides
between the two when it is imported.
"""

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from ldru.kernels.reduction import operands, wide

HOPPER = GPUTarget("cuda", 90, 32)
WIDTHS = {"JOIN": 2, "ACTIVATE": 4, "GATE": 2, "SLOPE": 4, "GATE_GRADIENT": 2, "INPUT_GRADIENT": 2}
STAGES = (
    *("JOIN", "ACTIVATE", "SHIFT", "GATE", "STATE", "SLOPE", "CAST"),
    *("STATE_GRADIENT", "GATE_GRADIENT", "INPUT_GRADIENT"),
)


def compiled(kernel, constants, pointers):
    """A kernel for these constants; pointers: what is no float32."""
    names = kernel.arg_names
    kinds = {name: "*fp32" if name.endswith("_ptr") else "i32" for name in names}
    kinds |= pointers | dict.fromkeys(constants, "constexpr")
    places = {(names.index(name),): value for name, value in constants.items()}
    source = ASTSource(fn=kernel, signature={n: kinds[n] for n in names}, constexprs=places)
    return triton.compile(source, target=HOPPER, options={"num_warps": 4})


def main():
    for has_block, kind in ((True, "*fp16"), (False, "*fp32")):
        shared = {"DIM": 80, "COLUMNS": 35 * 80, "SILU": True, "HAS_LENGTHS": has_block}
        pointers = {"operands_ptr": kind, "peaks_ptr": "*i32", "lengths_ptr": "*i32"}
        for stage in STAGES:
            settings = {
                **shared,
                "STAGE": getattr(wide, stage),
                "WIDTH": WIDTHS.get(stage, 1),
                "TARGET": 0,
                "BIAS": 0,
                "BIASES": 1,
                "HAS_BLOCK": has_block,
                "ROUND": not has_block,
                "ROWS": 8,
                "TILE": 256,
            }
            compiled(wide.between_kernel, settings, pointers)
            print("between", stage, kind)
    settings = {"DIM": 80, "COLUMNS": 35 * 80, "PRECISION": "tf32", "TILE": 64, "ROWS": 64}
    compiled(operands.weight_gradient_kernel, settings, {"operands_ptr": "*fp16"})
    print("weight gradients")


if __name__ == "__main__":
    main()
