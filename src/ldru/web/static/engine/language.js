// A regular language: its minimal machine and its monoid, as the server describes them.

const MOST_TRIES = 20; // shorter lengths that are looked at where a length has no words

export class Language {
  constructor(described) {
    Object.assign(this, described); // name, alphabet, start, labels, moves, places, monoid
    this.isPlain = this.alphabet.every((symbol) => symbol.length === 1);
    this.classes = [...new Set(this.labels.filter((label) => label !== null))].sort((a, b) => a - b);
    this.isAccepting = this.classes.length <= 2;
  }

  // The tokens of a word that was typed; symbols of several letters stand apart.
  encode(word) {
    const symbols = this.isPlain ? [...word.replace(/\s/g, "")] : word.trim().split(/\s+/).filter(Boolean);
    return symbols.map((symbol) => {
      const token = this.alphabet.indexOf(symbol);
      if (token < 0) throw new Error(`${symbol} is no symbol of ${this.name}, whose alphabet is ${this.alphabet.join(" ")}`);
      return token;
    });
  }

  decode(tokens) {
    return Array.from(tokens, (token) => this.alphabet[token]).join(this.isPlain ? "" : " ");
  }

  // The states that a word leads through, the start included.
  walk(tokens) {
    const states = [this.start];
    for (const token of tokens) states.push(this.moves[states.at(-1)][token]);
    return states;
  }

  label(tokens) {
    let state = this.start;
    for (const token of tokens) state = this.moves[state][token];
    return this.labels[state];
  }

  // The class of a stretch in the monoid; null where the monoid is too large.
  classify(tokens) {
    if (this.monoid === null) return null;
    return tokens.reduce((kind, token) => this.monoid.step[kind][token], 0);
  }

  // A shortest word of a class.
  example(kind) {
    return this.monoid?.words[kind] || "the empty word";
  }

  // A word of a length, drawn uniformly among those with a label; null where there is none.
  draw(length, label, random) {
    const shares = this.#shares(length, label);
    if (shares[0][this.start] === 0) return null;
    const tokens = new Array(length);
    let state = this.start;
    for (let place = 0; place < length; place += 1) {
      const weights = this.moves[state].map((next) => shares[place + 1][next]);
      let rest = random() * weights.reduce((a, b) => a + b);
      let token = weights.findLastIndex((weight) => weight > 0);
      for (let n = 0; n < token; n += 1) {
        rest -= weights[n];
        if (rest < 0) { token = n; break; }
      }
      tokens[place] = token;
      state = this.moves[state][token];
    }
    return tokens;
  }

  // Words of a length, every label in turn; where it has none, of the next shorter length that has.
  drawSome(length, count, random) {
    for (let tried = length; tried > Math.max(0, length - MOST_TRIES); tried -= 1) {
      const labels = this.classes.filter((label) => this.#shares(tried, label)[0][this.start] > 0);
      if (labels.length) {
        return Array.from({ length: count }, (_, n) => this.draw(tried, labels[n % labels.length], random));
      }
    }
    throw new Error(`${this.name} has no words of ${length} symbols, nor of a few less`);
  }

  // For each place and state, how many words from there end with the label, up to a scale by place.
  #shares(length, label) {
    if (this.counted?.length === length && this.counted.label === label) return this.counted.shares;
    const shares = new Array(length + 1);
    shares[length] = Float64Array.from(this.labels, (found) => (found === label ? 1 : 0));
    for (let place = length - 1; place >= 0; place -= 1) {
      const row = Float64Array.from(this.moves, (row) => row.reduce((sum, next) => sum + shares[place + 1][next], 0));
      const most = Math.max(...row);
      shares[place] = most > 0 ? row.map((value) => value / most) : row;
    }
    this.counted = { length, label, shares };
    return shares;
  }
}

// Numbers between 0 and 1 that a seed fixes, so that a link draws the same words again (xorshift).
export function randomFrom(seed) {
  let state = (Math.imul(seed + 1, 0x9e3779b1) | 1) >>> 0;
  const next = () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
  for (let n = 0; n < 16; n += 1) next(); // neighbouring seeds part
  return next;
}
