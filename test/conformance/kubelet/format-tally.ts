import { KINDS, type Kind } from './kinds';
import type { Tally } from './tally';

const width = 12;
const row = (count: number, what: string): string => `${count.toLocaleString('en-US').padStart(width)}  ${what}`;

/** The counts of a comparison as text: decisions by what was decided, differences by their kind. */
export function formatTally({ compared, differences, decisions, unexplained }: Tally): string {
  const kinds = Object.keys(KINDS) as Kind[];
  const found = kinds.flatMap((kind) => differences.get(kind) ?? []).reduce((sum, count) => sum + count, 0);
  return [
    row(decisions, 'decisions compared'),
    ...[...compared].sort(([, a], [, b]) => b - a).map(([what, count]) => row(count, `  ${what}`)),
    row(decisions - found - unexplained, 'equal'),
    ...kinds
      .filter((kind) => differences.has(kind))
      .map((kind) => row(differences.get(kind)!, `  ${kind}: ${KINDS[kind].what}`)),
    row(unexplained, 'of no documented kind'),
  ].join('\n');
}
