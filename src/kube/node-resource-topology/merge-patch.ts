import { asObject, type JsonObject } from '../json';
import { semanticEqual, QUANTITIES } from './semantic-equal';

/**
 * The JSON merge patch (RFC 7386) after which `stored` says what `wanted` says; without keys when it does already. Of `stored`
 * only the keys of `wanted` are looked at. Below them everything is ours: what `wanted` does not have is removed by a null,
 * and a list is replaced as a whole. What means the same is left as somebody spelled it.
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
    if (!isObject(before) || !isObject(after)) patch[key] = after ?? null;
    else patch[key] = compare(before, after, [...Object.keys(before), ...Object.keys(after)], isBelow);
  }
  return patch;
}

function isObject(value: unknown): value is JsonObject {
  return asObject(value) === value;
}
