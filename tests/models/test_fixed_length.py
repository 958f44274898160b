import io

import pytest
import torch
from torch._dynamo.testing import CompileCounter

import ldru

LENGTHS = (2, 3, 5, 8, 13, 40)
"""Batches are larger: a compiler takes equal numbers for one."""


def classifier():
    torch.manual_seed(0)
    return ldru.build("ldru", vocab_size=3, num_classes=2).eval()


@pytest.mark.parametrize("length", [1, 2, 5, 16, 33, 40])
def test_it_answers_as_the_model_does(length):
    model = classifier()
    fixed = ldru.FixedLength(model, max_length=40)
    tokens = torch.randint(0, 3, (4, length))
    torch.testing.assert_close(fixed(tokens), model(tokens), rtol=1e-5, atol=1e-6)
    lengths = torch.randint(1, length + 1, (4,))
    torch.testing.assert_close(fixed(tokens, lengths), model(tokens, lengths), rtol=1e-5, atol=1e-6)


def test_one_compilation_serves_all_lengths_and_batches():
    model, counter = classifier(), CompileCounter()
    fixed = torch.compile(
        ldru.FixedLength(model, max_length=40), backend=counter, dynamic=True, fullgraph=True
    )
    for batch, length in enumerate(LENGTHS, start=41):
        tokens = torch.randint(0, 3, (batch, length))
        torch.testing.assert_close(fixed(tokens), model(tokens), rtol=1e-5, atol=1e-6)
    assert counter.frame_count == 1


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # in the compiler itself
def test_the_default_compiler_compiles_once():
    encoder = ldru.LDRU(dim=8).eval()
    fixed = torch.compile(ldru.FixedLength(encoder, max_length=40), dynamic=True, fullgraph=True)
    for batch, length in enumerate(LENGTHS, start=41):
        x = torch.randn(batch, length, 8)
        with torch._dynamo.config.patch(error_on_recompile=length != LENGTHS[0]):
            torch.testing.assert_close(fixed(x), encoder(x), rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_one_onnx_file_serves_all_lengths_and_batches():
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    model = classifier()
    fixed = ldru.FixedLength(model, max_length=40).eval()
    batch, length = torch.export.Dim("batch", min=1, max=64), torch.export.Dim("length", max=40)
    buffer = io.BytesIO()
    torch.onnx.export(
        fixed,
        (torch.randint(0, 3, (2, 7)),),
        dynamo=True,
        verbose=False,
        dynamic_shapes=({0: batch, 1: length},),
    ).save(buffer)
    session = onnxruntime.InferenceSession(buffer.getvalue())
    (name,) = (given.name for given in session.get_inputs())
    for rows, places in ((1, 2), (3, 7), (5, 40)):
        tokens = torch.randint(0, 3, (rows, places))
        (scores,) = session.run(None, {name: tokens.numpy()})
        torch.testing.assert_close(torch.from_numpy(scores), model(tokens), rtol=1e-4, atol=1e-5)


def test_misuse_is_one_clear_error():
    fixed = ldru.FixedLength(classifier(), max_length=4)
    with pytest.raises(ldru.LdruError, match="at most 4 places here, got 5"):
        fixed(torch.zeros(1, 5, dtype=torch.int64))
    with pytest.raises(ldru.LdruError, match="at least 1, got 0"):
        ldru.FixedLength(classifier(), max_length=0)
    with pytest.raises(ldru.LdruError, match=r"only the tree of an LDRU .* got LSTMClassifier"):
        ldru.FixedLength(ldru.build("lstm", vocab_size=2, num_classes=2), max_length=4)
