/** Pod priorities; both ends are included. */
export interface PriorityRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Reads `1000` or `1000-3000`; undefined for another text, or when the first is greater. Priorities can be negative:
 * `-10`, `-10--5`, `-10-5`.
 */
export function parsePriorityRange(text: string): PriorityRange | undefined {
  const match = /^(-?\d{1,10})(?:-(-?\d{1,10}))?$/.exec(text);
  if (!match) return undefined;
  const from = Number(match[1]);
  const to = Number(match[2] ?? match[1]);
  return from <= to ? { from, to } : undefined;
}
