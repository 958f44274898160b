// Tensors out of a file in the safetensors format: eight bytes with the size of a JSON header, the
// header, then the numbers of all tensors end to end.

export function readTensors(buffer) {
  const size = Number(new DataView(buffer).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, size)));
  const tensors = new Map();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const [begin, end] = entry.data_offsets;
    const read = KINDS[entry.dtype];
    if (!read) throw new Error(`weights of the kind ${entry.dtype} are not read here`);
    const part = buffer.slice(8 + size + begin, 8 + size + end); // a copy is aligned
    tensors.set(name, { shape: entry.shape, values: read(part) });
  }
  return tensors;
}

const KINDS = {
  F32: (part) => new Float32Array(part),
  F64: (part) => Float32Array.from(new Float64Array(part)),
  F16: (part) => Float32Array.from(new Uint16Array(part), fromHalf),
};

// A number of 16 bits: sign, five bits of exponent, ten of fraction.
function fromHalf(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
