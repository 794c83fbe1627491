/** The `info` of a verbose answer: JSON texts by name. No specification covers them, so anything unexpected counts as absent. */
export type VerboseInfo = Readonly<Record<string, string>>;

export type JsonObject = Readonly<Record<string, unknown>>;

/** The object that the text of this name has. */
export function readInfo(info: VerboseInfo, name: string): JsonObject | undefined {
  try {
    return asObject(JSON.parse(info[name] ?? 'null'));
  } catch {
    return undefined;
  }
}

export const asObject = (value: unknown): JsonObject | undefined =>
  typeof value === 'object' && value !== null ? (value as JsonObject) : undefined;
