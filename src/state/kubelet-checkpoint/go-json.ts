import { shorten } from '../../core/text';
import { isJsonObject } from '../../core/json-object';

/** A value that Go's encoding/json would not accept for its field. The message names the field. */
export class GoShapeError extends Error {
  override readonly name = 'GoShapeError';
}

/**
 * A parsed JSON object read the way encoding/json fills a structure: keys match without regard to case, a missing or
 * `null` text is empty, a missing map is empty and a `null` one is nil (here null). Wrong types throw GoShapeError.
 */
export interface GoObject {
  has(key: string): boolean;
  text(key: string): string;
  /** null when the key is missing. */
  textOrNull(key: string): string | null;
  count(key: string): number;
  map<T>(key: string, read: (value: GoValue, what: string) => T): ReadonlyMap<string, T> | null;
}

/** A value inside a map. `what` names it in errors. */
export interface GoValue {
  asText(what: string): string;
  asMap<T>(what: string, read: (value: GoValue, what: string) => T): ReadonlyMap<string, T> | null;
  asObject(what: string): GoObject;
}

/** The value as Go reads an object: keys in any case. Throws GoShapeError, which names `what`, when it is none. */
export function readGoObject(value: unknown, what: string): GoObject {
  if (!isJsonObject(value)) throw new GoShapeError(`${what} is not a JSON object`);
  const byFoldedKey = new Map(Object.entries(value).map(([key, field]) => [foldKey(key), field]));
  // Of several spellings Go takes the last and we the exact one; no kubelet writes several.
  const find = (key: string): unknown => (Object.hasOwn(value, key) ? value[key] : byFoldedKey.get(foldKey(key)));
  return {
    has: (key) => find(key) !== undefined,
    text: (key) => toText(find(key), `"${key}"`),
    textOrNull: (key) => (find(key) === undefined ? null : toText(find(key), `"${key}"`)),
    count: (key) => toCount(find(key), `"${key}"`),
    map: (key, read) => toMap(find(key), `"${key}"`, read),
  };
}

function toGoValue(value: unknown): GoValue {
  return {
    asText: (what) => toText(value, what),
    asMap: (what, read) => toMap(value, what, read),
    asObject: (what) => readGoObject(value ?? {}, what),
  };
}

function toText(value: unknown, what: string): string {
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw new GoShapeError(`${what} is not a text`);
  return value;
}

function toCount(value: unknown, what: string): number {
  if (value === undefined || value === null) return 0;
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw new GoShapeError(`${what} is not a whole number`);
  return value;
}

function toMap<T>(
  value: unknown,
  what: string,
  read: (value: GoValue, what: string) => T,
): ReadonlyMap<string, T> | null {
  if (value === undefined) return new Map();
  if (value === null) return null;
  if (!isJsonObject(value)) throw new GoShapeError(`${what} is not an object`);
  return new Map(
    Object.entries(value).map(([key, item]) => [
      key,
      read(toGoValue(item), `${what}, key ${JSON.stringify(shorten(key, 80))}`),
    ]),
  );
}

/** Go folds ASCII letters and the two characters outside ASCII whose lower case is an ASCII letter. */
function foldKey(key: string): string {
  return key
    .replace(/[A-Z]/g, (letter) => letter.toLowerCase())
    .replace(/\u017f/g, 's')
    .replace(/\u212a/g, 'k');
}
