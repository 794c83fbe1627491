const UNIT_MS: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** `grpc-timeout` (1 to 8 digits and a unit) in milliseconds; undefined when absent or not readable. */
export function parseTimeoutMs(value: string | undefined): number | undefined {
  const match = /^(\d{1,8})([HMSmun])$/.exec(value ?? '');
  return match === null ? undefined : Number(match[1]) * UNIT_MS[match[2]!]!;
}
