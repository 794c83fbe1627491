import { isJsonObject, type JsonObject } from '../../core/json-object';
import { semanticEqual, QUANTITIES } from './semantic-equal';

/**
 * The JSON merge patch (RFC 7386) that makes `stored` equal to `wanted` in the keys of `wanted`; without keys when they
 * are equal. Everything below these keys is ours: a key that `wanted` does not have is removed by a null, and a list is
 * replaced as a whole. A value with the same meaning keeps its spelling.
 */
export function createMergePatch(stored: JsonObject, wanted: JsonObject): JsonObject {
  return compare(stored, wanted, Object.keys(wanted), false);
}

function compare(stored: JsonObject, wanted: JsonObject, keys: readonly string[], isQuantity: boolean): JsonObject {
  const patch: Record<string, unknown> = {};
  for (const key of new Set(keys)) {
    const [before, after] = [stored[key], wanted[key]];
    const isBelow = isQuantity || QUANTITIES.has(key);
    if (semanticEqual(before, after, isBelow)) continue;
    if (!isJsonObject(before) || !isJsonObject(after)) patch[key] = after ?? null;
    else patch[key] = compare(before, after, [...Object.keys(before), ...Object.keys(after)], isBelow);
  }
  return patch;
}
