import { spawnSync } from 'node:child_process';
import { appendFileSync, cpSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { buildSync } from 'esbuild';
import { JournalWriter, MIN_JOURNAL_BYTES, type JournalRecord } from '../../../src/state/journal';
import { patienceMs } from '../../support/wait-until';
import { useTempDirs } from '../support/temp-dir';
import { collect } from './support/collect';

const makeDir = useTempDirs();
const limits = { maxBytes: MIN_JOURNAL_BYTES, maxAgeMs: 3_600_000 };

/** Enough for a file that goes on, two that are begun, and one that is removed. */
const RECORDS = 4;

async function writeEarlier(dir: string): Promise<void> {
  const writer = new JournalWriter({ dir, version: '0.1.0', limits, onProblem: fail, closeMs: patienceMs });
  // Seven full files and one with a record: the child begins the ninth, and has to remove the first.
  for (let file = 0; file < 22; file++) {
    writer.add({ kind: 'pinned', number: -1, because: 'x'.repeat(20_000) });
    await writer.flush();
  }
  await writer.close();
}

/** The numbers of the records that the child wrote, and those after it. */
async function numbersOf(dir: string): Promise<readonly unknown[]> {
  return (await collect(dir)).map(({ number }) => number).filter((number) => number !== -1 && number !== undefined);
}

function fail(error: unknown): never {
  throw error;
}

const isBegun = ({ kind, of: part }: JournalRecord): boolean => kind === 'input' && part === 'settings';
const isListed = ({ kind, of: part }: JournalRecord): boolean => kind === 'input' && part === 'listed';

/** Files of which only a part of the beginning is there: a reader that begins there must not take it for the whole. */
async function findHalfBegun(dir: string): Promise<readonly string[]> {
  const half: string[] = [];
  for (const name of readdirSync(dir)) {
    const records = await collect(join(dir, name));
    if (records.length > 2 && records.some(isBegun) !== records.some(isListed)) half.push(name);
  }
  return half;
}

test.each([
  { given: 'a file that goes on, and one that is begun', isTorn: false, disk: '' },
  { given: 'a last file that was cut off within a line', isTorn: true, disk: '' },
  { given: 'a disk that takes half of a write, which is cut off again', isTorn: false, disk: 'no-space' },
])(
  'a process killed with SIGKILL at each operation, and within each write, leaves whole records in their order: $given',
  async ({ isTorn, disk }) => {
    const child = join(makeDir(), 'crash-child.js');
    buildSync({
      entryPoints: [join(__dirname, 'support/crash-child.ts')],
      bundle: true,
      platform: 'node',
      outfile: child,
    });

    const earlier = join(makeDir(), 'journal');
    await writeEarlier(earlier);

    let kills = 0;
    let torn = 0;
    for (let alive = false; !alive && kills < 200;) {
      const dir = join(makeDir(), 'journal');
      cpSync(earlier, dir, { recursive: true, preserveTimestamps: true });
      if (isTorn) appendFileSync(join(dir, readdirSync(dir).sort().at(-1)!), '{"at":"2026-11-24T10:00');
      const { status, signal, stdout, stderr } = spawnSync(
        process.execPath,
        [child, dir, String(kills), String(RECORDS), disk],
        { encoding: 'utf8', timeout: 120_000 },
      );
      alive = signal === null;
      expect({ status, signal, stderr }).toEqual({
        status: alive ? 0 : null,
        signal: alive ? null : 'SIGKILL',
        stderr: '',
      });
      if (!alive) kills += 1;

      const written = stdout.split('\n').filter(Boolean).map(Number);
      const found = await numbersOf(dir);
      expect(await findHalfBegun(dir)).toEqual([]);
      // All that were known to be written, perhaps the one under way, and nothing else.
      const most = [1, 2, 3, 4].slice(0, written.length + 1);
      expect([written, most]).toContainEqual(found);
      torn += Number(found.length > written.length);

      // The next process goes on, and nothing of before is lost by that.
      const next = new JournalWriter({ dir, version: '0.1.0', limits, onProblem: fail, closeMs: patienceMs });
      next.add({ kind: 'stopped', number: 9 });
      await next.close();
      const all = await numbersOf(dir);
      expect(all).toEqual([...found, 9]);
    }
    expect(kills).toBeGreaterThan(RECORDS * 6);
    expect(torn).toBeGreaterThan(0); // some kills came after a write and before it was known
  },
);
