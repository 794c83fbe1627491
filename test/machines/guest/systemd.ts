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

/** What a unit and systemd wrote about it into the journal. */
export async function readJournal(unit: string): Promise<string[]> {
  const { stdout } = await run('journalctl', ['--no-pager', '--output', 'cat', '--unit', unit], { maxBuffer: 1 << 26 });
  return stdout.split('\n');
}
