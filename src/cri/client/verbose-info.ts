import { isJsonObject, type JsonObject } from '../../core/json-object';

/**
 * The `info` of a verbose answer: JSON texts by name. No specification covers them, so anything unexpected counts as
 * absent.
 */
export type VerboseInfo = Readonly<Record<string, string>>;

/** The object that the text of this name has. */
export function readInfo(info: VerboseInfo, name: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(info[name] ?? 'null'));
  } catch {
    return undefined;
  }
}

export const asObject = (value: unknown): JsonObject | undefined => (isJsonObject(value) ? value : undefined);
