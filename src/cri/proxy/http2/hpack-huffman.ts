/**
 * The Huffman code of HPACK (RFC 7541, appendix B). It is canonical, so the lengths of the 257 codes define it: one
 * base-36 digit each, the last one for EOS.
 */
const CODE_LENGTHS =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad67777777777777777777777878djde6f56565666577666567655' +
  '677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmolmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmm' +
  'ppooqnqrqqrrrrrsrrrrrqu';
const EOS = 256;

/**
 * Inner nodes of the code tree, four bits at a time: `next[node * 16 + nibble]` is the node after it, -1 = no such
 * code.
 */
interface Steps {
  readonly next: Int16Array;
  /** The byte that a step completes (no code is shorter than 5 bits, so at most one), -1 = none. */
  readonly emitted: Int16Array;
  /** True when a text may end at this node: fewer than 8 bits since the last byte, all ones. */
  readonly mayEnd: Uint8Array;
}

const steps = buildSteps();

/** Decodes `bytes[from, to)` to a text of bytes (latin1); undefined when it is no Huffman text of HPACK. */
export function decodeHuffman(bytes: Uint8Array, from: number, to: number): string | undefined {
  const out = Buffer.allocUnsafe((to - from) * 2);
  let length = 0;
  let node = 0;
  for (let at = from; at < to; at++) {
    const byte = bytes[at]!;
    for (const nibble of [byte >> 4, byte & 15]) {
      const step = node * 16 + nibble;
      node = steps.next[step]!;
      if (node < 0) return undefined;
      const emitted = steps.emitted[step]!;
      if (emitted >= 0) out[length++] = emitted;
    }
  }
  return steps.mayEnd[node] === 1 ? out.toString('latin1', 0, length) : undefined;
}

function buildSteps(): Steps {
  const tree = buildTree();
  const next = new Int16Array(tree.length * 16).fill(-1);
  const emitted = new Int16Array(tree.length * 16).fill(-1);
  for (let node = 0; node < tree.length; node++) {
    for (let nibble = 0; nibble < 16; nibble++) {
      let at: number = node;
      let symbol = -1;
      for (let bit = 3; bit >= 0 && symbol !== EOS; bit--) {
        const child: number = tree[at]![(nibble >> bit) & 1]!;
        if (child < 0) symbol = -child - 1;
        at = Math.max(child, 0);
      }
      if (symbol === EOS) continue;
      next[node * 16 + nibble] = at;
      emitted[node * 16 + nibble] = symbol;
    }
  }
  const mayEnd = new Uint8Array(tree.length);
  for (let node = 0, ones = 0; ones < 8; ones++, node = tree[node]![1]!) mayEnd[node] = 1;
  return { next, emitted, mayEnd };
}

/**
 * Nodes as pairs of children; a child below 0 is the leaf of symbol `-child - 1`. The root is node 0 and no one's
 * child.
 */
function buildTree(): [number, number][] {
  const lengths = Array.from(CODE_LENGTHS, (digit) => parseInt(digit, 36));
  const symbols = lengths.map((_, symbol) => symbol).sort((a, b) => lengths[a]! - lengths[b]! || a - b);
  const tree: [number, number][] = [[0, 0]];
  let code = 0;
  let previousLength = lengths[symbols[0]!]!;
  for (const symbol of symbols) {
    const length = lengths[symbol]!;
    code *= 2 ** (length - previousLength);
    previousLength = length;
    let node = 0;
    for (let bit = length - 1; bit > 0; bit--) {
      const side = (code >>> bit) & 1;
      if (tree[node]![side] === 0) tree[node]![side] = tree.push([0, 0]) - 1;
      node = tree[node]![side]!;
    }
    tree[node]![code & 1] = -symbol - 1;
    code++;
  }
  return tree;
}
