"""Compiles kernels for a GPU that need not be there: `python -m` this.

The interpreter runs what the compiler may refuse. A process of its own, because Triton decides
between the two when it is imported.
"""

import sys

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from ldru.kernels import (
    activations,
    attention,
    convolution,
    delta_rule,
    dropout,
    grc,
    norm,
    optimizer,
    recurrence,
    rotation,
    scan,
    windows,
)
from ldru.kernels.reduction import narrow, operands, trees, wide

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
    kinds |= {name: kind for name, kind in pointers.items() if name in kinds}
    kinds |= dict.fromkeys(constants, "constexpr")
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
                "ROWS": 4,
                "TILE": 64,
            }
            compiled(wide.between_kernel, settings, pointers)
            print("between", stage, kind)
    settings = {"DIM": 80, "COLUMNS": 35 * 80, "PRECISION": "tf32", "TILE": 16, "ROWS": 16}
    compiled(operands.weight_gradient_kernel, settings, {"operands_ptr": "*fp16"})
    print("weight gradients")
    pointers = {"keys_ptr": "*i32", "cut_ptr": "*i32"}
    compiled(dropout.dropout_kernel, {"ELEMENTS": dropout.ELEMENTS}, pointers)
    print("dropout")
    settings = {"ROW": 192, "DIM": 64, "WIDTH": 8, "GROUP": 2, "PAD": 16, "ASKS": 16, "LENGTH": 16}
    settings |= {"HAS_BIAS": True, "HAS_SEEN": True, "PRECISION": "tf32"}
    for kernel in (
        attention.long_attention_kernel,
        attention.short_attention_kernel,
        attention.short_attention_gradient_kernel,
    ):
        compiled(kernel, settings, {"seen_ptr": "*i8", "scale": "fp32"})
        print("attention")
    compiled(rotation.turn_kernel, {"DIM": 64, "WIDTH": 8, "PAIRS": 128, "ROWS": 8}, {})
    print("rotation")
    settings = {"CHUNK": 16, "KEYS": 16, "VALUES": 32, "PRECISION": "tf32"}
    compiled(delta_rule.delta_rule_kernel, {**settings, "KEEPS": True}, {})
    compiled(delta_rule.delta_rule_gradient_kernel, settings, {})
    print("delta rule")
    settings = {"DIM": 80, "PAD": 128, "ROWS": 2}
    for kernel in (
        norm.add_norm_kernel,
        norm.add_norm_gradient_kernel,
        norm.rms_norm_kernel,
        norm.rms_norm_gradient_kernel,
        activations.bias_relu_kernel,
        activations.bias_relu_gradient_kernel,
    ):
        compiled(kernel, settings, {})
        print("norm")
    for kernel in (activations.silu_product_kernel, activations.silu_product_gradient_kernel):
        compiled(kernel, {"ELEMENTS": activations.ELEMENTS}, {})
        print("activations")
    for kernel in (grc.cell_kernel, grc.cell_gradient_kernel):
        compiled(kernel, settings, {})
        print("grc")
    settings = {"DIM": 48, "WIDTH": 3, "PLACES": 16, "CHANNELS": 64}
    compiled(convolution.convolution_kernel, settings, {})
    compiled(convolution.slope_kernel, {**settings, "WEIGHTS": 4}, {})
    compiled(convolution.input_gradient_kernel, settings, {})
    print("convolution")
    for number, kind in enumerate(recurrence.KINDS):
        for kernel in (recurrence.cell_kernel, recurrence.cell_gradient_kernel):
            compiled(kernel, {"DIM": 80, "TILE": 128, "KIND": number}, {"tokens_ptr": "*i64"})
        print("recurrence", kind)
    settings = {"CHUNK": 2, "HEADS": 8, "WIDTH": 16, "ROWS": 2}
    compiled(windows.window_kernel, settings, {})
    compiled(windows.window_gradient_kernel, {**settings, "TOKENS": 2}, {})
    print("windows")
    for kernel in (scan.scan_kernel, scan.scan_gradient_kernel):
        compiled(kernel, {"STATES": scan.STATES}, {})
        print("scan")
    settings = {"AVERAGES": optimizer.AVERAGES, "TERMS": optimizer.TERMS}
    tables = dict.fromkeys(("pieces_ptr", "blocks_ptr", "sizes_ptr"), "*i32")
    compiled(optimizer.mean_kernel, settings, tables)
    compiled(optimizer.centre_kernel, {**settings, "CHANGES": True}, {**tables, "l2": "fp32"})
    print("optimiser")
    compile_narrow(dim=16, tile=16, is_silu=True)


def compile_narrow(*, dim, tile, is_silu):
    """The kernels of balanced and of random trees, as a fleet launches them."""
    shared = {"DIM": dim, "PAD": max(16, triton.next_power_of_2(dim)), "ROWS": tile, "UNITS": tile}
    shared |= {"SILU": is_silu, "PRECISION": "tf32"}
    back = {**shared, "COLUMNS": (narrow.SILU_COLUMNS if is_silu else 35) * dim}
    integers = dict.fromkeys(
        ("lengths_ptr", "keys_ptr", "cut_ptr", "left_ptr", "right_ptr", "peaks_ptr"), "*i32"
    )
    kinds = {**integers, "operands_ptr": "*fp16", "matrices_ptr": "*fp16"}
    padded = {"HAS_LENGTHS": True, "DROPOUT": True}
    compiled(narrow.fused_forward_kernel, {**shared, **padded}, kinds)
    compiled(narrow.fused_backward_kernel, {**back, **padded}, kinds)
    compiled(trees.tree_forward_kernel, {**shared, "DROPOUT": True}, kinds)
    compiled(trees.tree_backward_kernel, {**back, "DROPOUT": True}, kinds)
    print("narrow", dim)
    tables = dict.fromkeys(
        (name for name in trees.draw_kernel.arg_names if name.endswith("_ptr")), "*i32"
    )
    compiled(trees.draw_kernel, {"NODES": 16, "HAS_LENGTHS": is_silu}, tables)
    print("trees", dim)


if __name__ == "__main__":
    if sys.argv[1:] == ["narrow"]:  # as large as a fleet launches them: a minute
        compile_narrow(dim=64, tile=64, is_silu=False)
        compile_narrow(dim=48, tile=64, is_silu=True)
    else:
        main()
