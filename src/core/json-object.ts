/** An object of JSON whose fields are still to be checked. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** True for an object of JSON: neither a list nor null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
