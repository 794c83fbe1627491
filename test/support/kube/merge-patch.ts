/** RFC 7386, and of strategic merges the one list that matters here: conditions, which merge by their type. */
export function mergePatch(target: unknown, patch: unknown, strategic = false): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) Reflect.deleteProperty(result, key);
    else if (strategic && key === 'conditions')
      result[key] = [
        ...((result[key] as Record<string, unknown>[] | undefined) ?? []).filter(
          ({ type }) => !(value as Record<string, unknown>[]).some((item) => item['type'] === type),
        ),
        ...(value as Record<string, unknown>[]),
      ];
    else result[key] = mergePatch(result[key], value, strategic);
  }
  return result;
}
