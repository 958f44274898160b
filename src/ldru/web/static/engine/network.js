// A trained LDRU, computed here from its weights.

import { ACTIVATIONS, linear, residualBlock } from "./layers.js";
import { OPERATORS } from "./operators.js";

export class Network {
  constructor(tensors, { operator, activation }) {
    const act = ACTIVATIONS[activation];
    const block = residualBlock(tensors, "encoder.block", act);
    const combine = OPERATORS[operator](tensors, "encoder.operator", act);
    this.join = (left, right) => block(combine(left, right));
    this.rise = block; // what has no partner goes through the block alone
    this.scores = linear(tensors, "head");
    const { values, shape: [symbols, dim] } = tensors.get("embedding.weight");
    const onLeaves = tensors.has("encoder.leaf_block.up.weight")
      ? residualBlock(tensors, "encoder.leaf_block", act) : (leaf) => leaf;
    this.leaves = Array.from({ length: symbols }, (_, n) => onLeaves(values.slice(n * dim, (n + 1) * dim)));
  }

  // The vectors of all nodes of a tree over a word, in the order of the nodes.
  states(tokens, nodes) {
    const found = [];
    for (const { begin, left, right } of nodes) {
      if (left === null) found.push(this.leaves[tokens[begin]]);
      else if (right === null) found.push(this.rise(found[left]));
      else found.push(this.join(found[left], found[right]));
    }
    return found;
  }

  // The scores of a word of any length. Equal stretches have equal nodes, which are computed once.
  answer(tokens) {
    const vectors = [...this.leaves], known = new Map();
    const node = (key, make) => {
      if (!known.has(key)) {
        known.set(key, vectors.length);
        vectors.push(make());
      }
      return known.get(key);
    };
    let level = [...tokens];
    while (level.length > 1) {
      const above = [];
      for (let place = 0; place < level.length; place += 2) {
        const [left, right] = [level[place], level[place + 1]];
        above.push(right === undefined ? node(`${left}`, () => this.rise(vectors[left]))
          : node(`${left},${right}`, () => this.join(vectors[left], vectors[right])));
      }
      level = above;
    }
    return this.scores(vectors[level[0]]);
  }
}

export const best = (scores) => scores.indexOf(Math.max(...scores));

export function softmax(scores) {
  const most = Math.max(...scores);
  const powers = [...scores].map((score) => Math.exp(score - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}
