import { formatTable } from '../format/table';
import { PLAIN, type Terminal, type Tone } from '../format/terminal';
import type { Finding } from './finding';

const TONES: Readonly<Record<Finding['level'], Tone>> = { ok: 'good', warning: 'warning', error: 'bad' };

/** The findings as a table, and a line that counts them. */
export function formatFindings(findings: readonly Finding[], terminal: Terminal = PLAIN): string {
  const rows = findings.map(({ check, level, text, remedy }) => [
    check,
    level,
    remedy === undefined ? text : `${text}; ${remedy}`,
  ]);
  const toneOf = (cell: string, title: string): Tone | undefined =>
    title === 'RESULT' ? TONES[cell as Finding['level']] : undefined;
  const count = (level: Finding['level']): number => findings.filter((each) => each.level === level).length;
  const [errors, warnings] = [count('error'), count('warning')];
  const summary =
    errors > 0
      ? `cpusetd can't do its work here yet: ${errors} to put right${warnings > 0 ? `, ${warnings} to look at` : ''}.`
      : `cpusetd can run here${warnings > 0 ? `: ${warnings} to look at` : ''}.`;
  return `${formatTable(['CHECK', 'RESULT', 'FOUND'], rows, { terminal, toneOf })}\n${summary}\n`;
}
