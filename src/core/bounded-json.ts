/** Longest JSON of a peer, unless an operator allows more. */
export const MAX_JSON_BYTES = 8 * 1024 * 1024;
/**
 * Most objects and lists around a value. Objects of Kubernetes have about twenty where we read them. But whoever may
 * write a pod may write `managedFields` of some thousand levels, and the API server stores them: nobody reads those,
 * and they must not keep a pod from being read.
 */
const MAX_DEPTH = 64;
/**
 * Most work: 1 for each number and word, 2 for each text, object, list and colon. A Prometheus that answers for 5,000
 * nodes makes 250,000.
 */
const MAX_WORK = 700_000;
/** So many bytes may make 1 of work in doors where an operator allows longer JSON than usual, as for whole Nodes. */
const BYTES_OF_WORK = 4;
/**
 * The work of an object that the API server stores. It has at most 1.5 MiB there, and the densest kind is 314,000
 * references by name. Whoever creates such a pod must not be able to keep others from being read, nor his own.
 */
export const STORABLE_WORK = 4_000_000;

/** JSON that has more in it than is read. The message is for the operator, and goes on "…". */
export class JsonBound extends Error {
  override readonly name = 'JsonBound';
}

/**
 * Parses the JSON of a peer, with a bound for the number of its values: they are counted first, without keeping
 * anything. A bound in bytes alone bounds neither time nor memory, since some megabytes of brackets take a hundred
 * times as much of both.
 *
 * A value in more than 64 objects and lists is null. JSON.parse goes down without calls, however deep it is;
 * JSON.stringify, isDeepStrictEqual and our own functions go down by calls, which end after some thousand levels.
 *
 * Throws JsonBound, or SyntaxError.
 */
export function parseBoundedJson(json: string | Uint8Array, maxWork = workOf(json.length)): unknown {
  // No sign makes more work than 2: what is short needs no count, and is walked through instead.
  const depth = 2 * json.length > maxWork ? measureDepth(json, maxWork) : Infinity;
  const value: unknown = JSON.parse(typeof json === 'string' ? json : new TextDecoder().decode(json));
  if (depth > MAX_DEPTH && typeof value === 'object' && value !== null) cutBelow(value, MAX_DEPTH);
  return value;
}

/** Leaves a number of levels of the value. */
function cutBelow(value: object, levels: number): void {
  const parent = value as Record<string, unknown>;
  const cut = (child: unknown, key: string | number): void => {
    if (typeof child !== 'object' || child === null) return;
    if (levels === 1) parent[key] = null;
    else cutBelow(child, levels - 1);
  };
  if (Array.isArray(value)) for (let i = 0; i < value.length; i++) cut(value[i], i);
  else for (const key of Object.keys(parent)) cut(parent[key], key);
}

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];
const SPACE = 0x20;

/** The most work of JSON of this length where an operator allows `allowedBytes`. */
export function workOf(length: number, allowedBytes = length): number {
  return allowedBytes > MAX_JSON_BYTES ? Math.max(MAX_WORK, length / BYTES_OF_WORK) : MAX_WORK;
}

/** The number of levels. Throws JsonBound. What is no JSON is counted somehow: the parser refuses it. */
function measureDepth(json: string | Uint8Array, maxWork: number): number {
  const { length } = json;
  const isText = typeof json === 'string';
  const at = isText ? (i: number) => json.charCodeAt(i) : (i: number) => json[i]!;
  // Most of JSON is in texts, where the search for their end is much faster than a look at each sign.
  const findQuote = isText ? (from: number) => json.indexOf('"', from) : (from: number) => json.indexOf(QUOTE, from);
  const findEnd = (begin: number): number => {
    for (let end = findQuote(begin + 1); ; end = findQuote(end + 1)) {
      if (end < 0) return length;
      let backslashes = 0;
      while (at(end - 1 - backslashes) === BACKSLASH) backslashes++;
      if (backslashes % 2 === 0) return end;
    }
  };
  let depth = 0;
  let deepest = 0;
  let work = 0;
  let isInWord = false;
  for (let i = 0; i < length; i++) {
    const sign = at(i);
    const wasInWord = isInWord;
    isInWord = false;
    if (sign === QUOTE) {
      work += 2;
      i = findEnd(i);
    } else if (sign === OPEN_LIST || sign === OPEN_OBJECT) {
      work += 2;
      deepest = Math.max(deepest, ++depth);
    } else if (sign === CLOSE_LIST || sign === CLOSE_OBJECT) depth--;
    else if (sign === COLON) work += 2;
    else if (sign !== COMMA && sign > SPACE) {
      isInWord = true;
      if (!wasInWord) work++;
    }
    if (work > maxWork) throw new JsonBound('has more values than are read');
  }
  return deepest;
}
