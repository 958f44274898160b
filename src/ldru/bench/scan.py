"""Timings of answers at every position, of words that grow, and of words that are edited."""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ldru.base.json import Json
from ldru.base.precision import products_in
from ldru.bench.timing import captured, seconds_per_call
from ldru.models.ldru import LDRU, LDRUClassifier
from ldru.tree import TreeWord


def bench_scan(
    *,
    dim: int = 64,
    batch_size: int = 32,
    length: int = 4096,
    symbols: int = 4096,
    chunk: int = 1024,
    edited: int = 10**6,
    tokens: int = 10**8,
    passes: int = 8,
    device: torch.device,
) -> list[dict[str, Json]]:
    """Milliseconds of each, and of streams the vectors a second.

    length: of the words whose every prefix is encoded, forward and backward, beside the reduction
        of whole words and PyTorch's LSTM and one causal layer of its transformer.
    symbols, chunk: of the stream of one word, one at a time and in chunks.
    edited: the length of a word that is edited.
    tokens: of one long word on a GPU, beside a copy of as many vectors.
    """
    encoder = LDRU(dim).to(device).eval()
    words = torch.randn(batch_size, length, dim, device=device)
    lstm = nn.LSTM(dim, dim, batch_first=True).to(device)
    layer = nn.TransformerEncoderLayer(dim, 8, 4 * dim, dropout=0.0, batch_first=True).to(device)
    mask = nn.Transformer.generate_square_subsequent_mask(length, device=device)
    timed: dict[str, tuple[nn.Module, Callable[[Tensor], Tensor]]] = {
        "reduction": (encoder, encoder),
        "scan": (encoder, encoder.scan),
        "scan, blelloch": (encoder, lambda x: encoder.scan(x, order="blelloch")),
        "lstm": (lstm, lambda x: lstm(x)[0]),
        "transformer layer": (layer, lambda x: layer(x, src_mask=mask, is_causal=True)),
    }
    rows: list[dict[str, Json]] = []
    for name, (model, call) in timed.items():
        seconds = _time_pass(model, call, words, passes=passes, device=device)
        rows.append({"what": name, "length": length, "ms": 1e3 * seconds})
    reduction = rows[0]["ms"]
    for row in rows:
        row["over_the_reduction"] = row["ms"] / reduction  # type: ignore[operator]
    rows += _streams(encoder, symbols=symbols, chunk=chunk) + _edits(encoder, edited)
    return rows + (_long_word(dim, tokens, device) if device.type == "cuda" else [])


def _time_pass(
    model: nn.Module,
    call: Callable[[Tensor], Tensor],
    words: Tensor,
    *,
    passes: int,
    device: torch.device,
) -> float:
    parameters = list(model.parameters())

    def one_pass() -> None:
        with products_in("tf32", device=device):
            torch.autograd.grad(call(words).square().sum(), parameters, materialize_grads=True)

    one_pass()
    ready = captured(one_pass) if device.type == "cuda" else one_pass
    return seconds_per_call(ready, calls=passes, device=device)


def _streams(encoder: LDRU, *, symbols: int, chunk: int) -> list[dict[str, Json]]:
    """One word, on one thread of the CPU."""
    model, threads = LDRU(encoder.dim).eval(), torch.get_num_threads()
    torch.set_num_threads(1)
    rows: list[dict[str, Json]] = []
    for name, size, reads in (
        ("stream, one at a time", 1, False),
        ("stream, one at a time, with its code each time", 1, True),
        (f"stream, in chunks of {chunk:,}", chunk, False),
    ):
        stream, parts = model.stream(), torch.randn(1, symbols, encoder.dim).split(size, dim=1)
        stream.push(parts[0]).code()
        begin = time.perf_counter()
        for part in parts:
            stream.push(part)
            if reads:
                stream.code()
        stream.code()
        seconds = time.perf_counter() - begin
        rows.append(
            {
                "what": name,
                "length": symbols,
                "ms": 1e3 * seconds / symbols,
                "vectors_per_second": symbols / seconds,
            }
        )
    torch.set_num_threads(threads)
    return rows


def _edits(encoder: LDRU, length: int) -> list[dict[str, Json]]:
    """One element of a long word, on one thread of the CPU."""
    model, threads = LDRU(encoder.dim).eval(), torch.get_num_threads()
    word = TreeWord(model.operator, torch.randn(length, encoder.dim), model.block)
    torch.set_num_threads(1)
    places = torch.randint(0, length, (20,)).tolist()
    begin = time.perf_counter()
    for place in places:
        word.set(place, torch.randn(encoder.dim))
    seconds = (time.perf_counter() - begin) / len(places)
    torch.set_num_threads(threads)
    return [{"what": "an edit", "length": length, "ms": 1e3 * seconds}]


def _long_word(dim: int, length: int, device: torch.device) -> list[dict[str, Json]]:
    """One word of two symbols in bounded memory, as a stream of a few large chunks."""
    model = LDRUClassifier(vocab_size=2, num_classes=2, dim=dim).to(device).eval()
    tokens = torch.randint(0, 2, (1, length), dtype=torch.uint8, device=device)

    def answer() -> Tensor:
        with products_in("tf32", device=device):
            return model.stream().push(tokens).scores()

    torch.cuda.reset_peak_memory_stats(device)
    seconds = seconds_per_call(answer, calls=1, device=device)
    memory = torch.cuda.max_memory_allocated(device)
    block = torch.empty(2**29, device=device)  # two gigabytes
    copy = seconds_per_call(block.clone, calls=4, device=device) / block.numel()
    return [
        {
            "what": "a long word of tokens",
            "length": length,
            "ms": 1e3 * seconds,
            "tokens_per_second": length / seconds,
            "megabytes": memory / 1e6,
            "ms_of_copying_as_many_vectors": 1e3 * copy * length * dim,
        }
    ]
