// Trees over a word. A node has the stretch of the word that it stands for, from begin to end, and
// its children by number; leaves come first, the root last. Where right is null, left rises alone.

const leavesOf = (length) => Array.from({ length }, (_, n) => ({ begin: n, end: n + 1, left: null, right: null }));

export function balanced(length) {
  const nodes = leavesOf(length);
  let level = nodes.map((_, n) => n);
  while (level.length > 1) {
    const above = [];
    for (let place = 0; place < level.length; place += 2) {
      const left = level[place], right = level[place + 1] ?? null;
      nodes.push({ begin: nodes[left].begin, end: nodes[right ?? left].end, left, right });
      above.push(nodes.length - 1);
    }
    level = above;
  }
  return nodes;
}

// The tree that is written as brackets, such as ((..).): a dot for each symbol.
export function bracketed(text, length) {
  const nodes = leavesOf(length), stack = [[]];
  let symbols = 0;
  for (const sign of text) {
    const inner = stack.at(-1);
    if (sign === "." && symbols < length) {
      inner.push(symbols);
      symbols += 1;
    } else if (sign === "(") {
      stack.push([]);
    } else if (sign === ")" && stack.length > 1 && inner.length === 2) {
      stack.pop();
      const [left, right] = inner;
      nodes.push({ begin: nodes[left].begin, end: nodes[right].end, left, right });
      stack.at(-1).push(nodes.length - 1);
    } else {
      throw noTree(text, length);
    }
  }
  if (stack.length !== 1 || stack[0].length !== 1 || symbols !== length) throw noTree(text, length);
  return nodes;
}

const noTree = (text, length) => new Error(`brackets over ${length} symbols are a dot for each and a pair of `
  + `brackets around every two parts, such as ((..).); got ${text.slice(0, 40)}`);

// Where a part rises alone through several nodes, the lowest of them.
const lowest = (nodes, n) => (nodes[n].left !== null && nodes[n].right === null ? lowest(nodes, nodes[n].left) : n);

// A tree as brackets. With `turn`, the node of that number is turned: (ab)c becomes a(bc), and a(bc)
// becomes (ab)c.
export function brackets(nodes, turn = null) {
  const turned = turn === null ? null : lowest(nodes, turn);
  const write = (number) => {
    const { left, right } = nodes[number];
    if (left === null) return ".";
    if (right === null) return write(left);
    if (number === turned) {
      const [l, r] = [nodes[lowest(nodes, left)], nodes[lowest(nodes, right)]];
      if (l.left !== null) return `(${write(l.left)}(${write(l.right)}${write(right)}))`;
      if (r.left !== null) return `((${write(left)}${write(r.left)})${write(r.right)})`;
    }
    return `(${write(left)}${write(right)})`;
  };
  return write(nodes.length - 1);
}
