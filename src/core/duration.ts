const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** The form of a duration as in Go and in the kubelet's configuration: `10s`, `1m30s`, `500ms`. */
export const DURATION = /^(?:\d{1,9}(?:\.\d{1,9})?(?:ms|s|m|h))+$/;

/** Reads such a duration, in ms; undefined for another text. */
export function parseDurationMs(text: string): number | undefined {
  if (!DURATION.test(text)) return undefined;
  let sumMs = 0;
  for (const [, amount, unit] of text.matchAll(/([\d.]+)(ms|s|m|h)/g)) sumMs += Number(amount) * UNITS_MS[unit!]!;
  return sumMs;
}
