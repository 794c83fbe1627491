import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JOURNAL_KINDS } from '../../../src/state/journal';
import { JOURNAL_VERSION } from '../../../src/state/journal/record';
import { runInProcess } from '../../support/run-cli';
import { collect } from './support/collect';

const FIXTURES = join(__dirname, '../../fixtures/journal');
const versions = Array.from({ length: JOURNAL_VERSION }, (_, i) => `v${i + 1}`);

test.each(versions)(
  'a journal of version %s is read, shown and replayed as by the cpusetd that wrote it',
  async (version) => {
    const dir = join(FIXTURES, version);
    const records = await collect(dir);
    const kinds = new Set(records.map(({ kind }) => kind));
    for (const kind of kinds) expect(JOURNAL_KINDS).toContain(kind);
    for (const kind of ['settings', 'input', 'pinned', 'refused', 'moved', 'drifted', 'repaired'])
      expect(kinds).toContain(kind);
    const shown = await runInProcess(['events', '--journal', dir]);
    const replayed = await runInProcess(['replay', dir]);
    expect([shown.stderr, replayed.stderr]).toEqual(['', '']);
    const text = `${shown.stdout}\n${replayed.stdout}`;
    const golden = join(FIXTURES, `${version}.txt`);
    if (process.env['UPDATE_DOCS']) writeFileSync(golden, text);
    expect(text).toBe(readFileSync(golden, 'utf8'));
    expect(text).toContain('\nNo request has another outcome.\n');
  },
);

test('a journal of the next version is refused by name, whatever its records are', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cpusetd-golden-'));
  try {
    const header = { journal: JOURNAL_VERSION + 1, writtenBy: 'cpusetd 9.0.0', at: '2026-11-24T10:00:00Z' };
    writeFileSync(join(dir, '00000001.jsonl'), `${JSON.stringify(header)}\n{}\n`);
    for (const args of [
      ['events', '--journal', dir],
      ['replay', dir],
    ]) {
      const { status, stderr } = await runInProcess(args);
      expect(status).toBe(1);
      expect(stderr).toMatch(/has version 2, written by cpusetd 9\.0\.0, and version 1 is read here: use that cpusetd/);
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
});
