// Readers for JSON of the API server: a value of an unexpected type counts as absent.

import { isJsonObject, type JsonObject } from '../core/json-object';

export type { JsonObject };

/** An empty object where the value is none. */
export function asObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** An empty array where the value is none. */
export function asArray(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** An empty text where the value is none. */
export function asString(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The entries whose value is a text. */
export function asTexts(value: unknown): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(asObject(value)).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}

/** The `resourceVersion` of an object or a list; empty when it has none. */
export function resourceVersionOf(object: unknown): string {
  return asString(asObject(asObject(object)['metadata'])['resourceVersion']);
}
