// The operators of an LDRU: two neighbouring states become one. Each is the formula of the file of
// its name under ldru/operators.

import { ACTIVATIONS, layerNorm, linear, sigmoid } from "./layers.js";

export const OPERATORS = { mlp, grc, gated_sum: gatedSum, linear: projection, element_sum: elementSum };

function both(left, right) {
  const pair = new Float32Array(2 * left.length);
  pair.set(left);
  pair.set(right, left.length);
  return pair;
}

const times = (a, b) => a.map((value, n) => value * b[n]);
const plus = (a, b) => a.map((value, n) => value + b[n]);

function mlp(tensors, name, activation) {
  const [expand, hidden, gates, fromLeft, fromRight, out] = ["expand", "hidden", "gates", "left", "right", "out"]
    .map((part) => linear(tensors, `${name}.${part}`));
  return (left, right) => {
    const gate = gates(hidden(expand(both(left, right)).map(activation)).map(activation));
    const dim = left.length;
    return out(plus(fromLeft(times(left, gate.subarray(0, dim))), fromRight(times(right, gate.subarray(dim)))));
  };
}

function grc(tensors, name) {
  const expand = linear(tensors, `${name}.expand`), gates = linear(tensors, `${name}.gates`);
  const norm = layerNorm(tensors, `${name}.norm`);
  return (left, right) => {
    const gate = gates(expand(both(left, right)).map(ACTIVATIONS.gelu));
    const dim = left.length;
    return norm(left.map((value, n) => sigmoid(gate[n]) * value + sigmoid(gate[dim + n]) * right[n]
      + sigmoid(gate[2 * dim + n]) * gate[3 * dim + n]));
  };
}

function gatedSum(tensors, name) {
  const weigh = linear(tensors, `${name}.gate`);
  return (left, right) => {
    const gate = weigh(both(left, right)).map(sigmoid);
    return left.map((value, n) => gate[n] * value + (1 - gate[n]) * right[n]);
  };
}

function projection(tensors, name) {
  const project = linear(tensors, `${name}.project`);
  return (left, right) => project(both(left, right));
}

function elementSum() {
  return plus;
}
