// The layers of an LDRU on one vector; weights are found by the names that PyTorch gave them.

const EPSILON = 1e-5; // of LayerNorm

export const ACTIVATIONS = {
  relu: (x) => Math.max(0, x),
  silu: (x) => x * sigmoid(x),
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
};

export const sigmoid = (x) => 1 / (1 + Math.exp(-x));

// W x + b, with W as rows of outputs.
export function linear(tensors, name) {
  const weight = tensors.get(`${name}.weight`).values, bias = tensors.get(`${name}.bias`).values;
  const outputs = bias.length, inputs = weight.length / outputs;
  return (x) => {
    const y = new Float32Array(outputs);
    for (let out = 0, place = 0; out < outputs; out += 1) {
      let sum = bias[out];
      for (let n = 0; n < inputs; n += 1, place += 1) sum += weight[place] * x[n];
      y[out] = sum;
    }
    return y;
  };
}

export function layerNorm(tensors, name) {
  const weight = tensors.get(`${name}.weight`).values, bias = tensors.get(`${name}.bias`).values;
  return (x) => {
    let mean = 0, square = 0;
    for (const value of x) mean += value / x.length;
    for (const value of x) square += (value - mean) ** 2 / x.length;
    const scale = 1 / Math.sqrt(square + EPSILON);
    return x.map((value, n) => (value - mean) * scale * weight[n] + bias[n]);
  };
}

// LayerNorm(h + FFN(h)).
export function residualBlock(tensors, name, activation) {
  const up = linear(tensors, `${name}.up`), down = linear(tensors, `${name}.down`);
  const norm = layerNorm(tensors, `${name}.norm`);
  return (state) => {
    const update = down(up(state).map(activation));
    return norm(state.map((value, n) => value + update[n]));
  };
}

// The error function by its series and, far out, by its continued fraction.
function erf(x) {
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  if (size < 2.5) {
    let term = x, sum = x;
    for (let n = 1; Math.abs(term) > 1e-17 * Math.abs(sum); n += 1) {
      term *= -x * x / n;
      sum += term / (2 * n + 1);
    }
    return 2 / Math.sqrt(Math.PI) * sum;
  }
  let fraction = 0;
  for (let n = 60; n > 0; n -= 1) fraction = n / 2 / (size + fraction);
  return Math.sign(x) * (1 - Math.exp(-size * size) / Math.sqrt(Math.PI) / (size + fraction));
}
