import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Runs systemctl. @throws when it fails */
export const systemctl = (...args: string[]) => run('systemctl', args);

/** Properties of a unit by name. */
export async function showUnit<Name extends string>(unit: string, ...names: Name[]): Promise<Record<Name, string>> {
  const { stdout } = await systemctl('show', '--property', names.join(','), unit);
  const rows = stdout.split('\n').map((line) => [line.split('=')[0], line.slice(line.indexOf('=') + 1)] as const);
  const values = new Map(rows);
  return Object.fromEntries(names.map((name) => [name, values.get(name) ?? ''])) as Record<Name, string>;
}

/**
 * The journal of a unit: its own lines, and those of systemd about it. @param since in ms as Date.now(), absent: since
 * the boot
 */
export async function readJournal(unit: string, since = 0): Promise<string[]> {
  const args = ['--no-pager', '--output', 'cat', '--since', `@${Math.floor(since / 1000)}`, '--unit', unit];
  const { stdout } = await run('journalctl', args, { maxBuffer: 1 << 26 });
  return stdout.split('\n');
}

/** Lines of a journal by which cpusetd says that the system refused something, or that something is wrong. */
export function listRefusals(journal: readonly string[]): string[] {
  const wrong = /"level":"(?:error|fatal)"|not written directly|\bE(?:PERM|ROFS)\b/;
  return journal.filter((line) => line.startsWith('{') && wrong.test(line));
}

/** The exposure level of a loaded unit by `systemd-analyze security`: from 0.0, which is best, to 10.0. */
export async function readExposure(unit: string): Promise<number> {
  const { stdout } = await run('systemd-analyze', ['security', '--no-pager', unit]);
  const [, level] = /Overall exposure level for .*: ([\d.]+)/.exec(stdout) ?? [];
  if (level === undefined) throw new Error(`systemd-analyze security says no level of ${unit}: ${stdout.slice(-300)}`);
  return Number(level);
}
