// A network with its language, and what each vector stands for.

import { Language } from "./language.js";
import { best, Network, softmax } from "./network.js";
import { readTensors } from "./safetensors.js";
import { balanced, bracketed } from "./trees.js";

export const LONGEST_WORD = 64; // symbols of a word whose tree is shown

export class Model {
  constructor(name, described, buffer) {
    this.name = name;
    this.language = new Language(described.language);
    this.network = new Network(readTensors(buffer), described);
    this.points = described.points;
    this.trained = described.trained;
    this.centres = described.centres;
  }

  // The tree over a word; brackets: another one than the balanced tree. Each node has its true
  // class, the class whose vectors it lies near, and the label that would be read there.
  tree(word, brackets = "") {
    const { language, network } = this;
    const tokens = language.encode(word);
    if (tokens.length < 1 || tokens.length > LONGEST_WORD) {
      throw new Error(`a tree is shown over 1 to ${LONGEST_WORD} symbols, got ${tokens.length.toLocaleString("en")}`);
    }
    const plan = brackets ? bracketed(brackets, tokens.length) : balanced(tokens.length);
    const states = network.states(tokens, plan);
    const nodes = plan.map((node, n) => ({
      ...node,
      kind: language.classify(tokens.slice(node.begin, node.end)),
      ...this.#nearest(states[n]),
      label: best(network.scores(states[n])),
    }));
    const scores = network.scores(states.at(-1));
    return {
      language,
      nodes,
      scores,
      symbols: tokens.map((token) => language.alphabet[token]),
      answer: best(scores),
      probability: Math.max(...softmax(scores)),
      truth: language.label(tokens),
    };
  }

  // The class whose mean vector is nearest, and how far that is, relative to the vector's length.
  #nearest(state) {
    if (this.centres === null) return { near: null, distance: null };
    let near = null, least = Infinity;
    this.centres.vectors.forEach((centre, n) => {
      let square = 0;
      for (let i = 0; i < state.length; i += 1) square += (state[i] - centre[i]) ** 2;
      if (square < least) [near, least] = [this.centres.kinds[n], square];
    });
    return { near, distance: Math.sqrt(least) / (Math.hypot(...state) || 1) };
  }
}
