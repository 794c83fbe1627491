import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { FsOps } from '../../src/files/fs-ops';
import { openStateFile, openStateStore, inspectState } from '../../src/state';
import { assignmentOf } from './support/assignments';
import { dieBefore, inShortWrites, watchOps } from './support/fs-doubles';
import { PowerCutDisk } from './support/power-cut-disk';
import { useTempDirs } from './support/temp-dir';

const makeDir = useTempDirs();
const version = '0.1.0';
const OLD = { generation: 1, assignments: [assignmentOf('old', '1')] };
const NEW = { generation: 2, assignments: [assignmentOf('old', '1'), assignmentOf('new', '2-3')] };

/** Opens the store and saves. A simulated death of the process shows as a failed outcome. */
function openAndSave(dir: string, fs: FsOps, state: typeof OLD): boolean {
  const opened = openStateStore({ dir, version, fs });
  return opened.ok && opened.store.save(state).ok;
}

function generationAfterRestart(dir: string): number | string {
  const opened = openStateStore({ dir, version });
  if (!opened.ok) return opened.because;
  const { loaded } = opened.store;
  return loaded.kind === 'loaded' ? loaded.state.generation : loaded.kind;
}

/** The result of a restart after a death before each operation, and after no death. */
function runMatrix(prepare: (dir: string) => void, act: (dir: string, fs: FsOps) => boolean): (number | string)[] {
  const found: (number | string)[] = [];
  for (let index = 0; index < 100; index++) {
    const dir = join(makeDir(), 'state');
    prepare(dir);
    const finished = act(dir, dieBefore(index, inShortWrites(200)));
    found.push(generationAfterRestart(dir));
    expect(generationAfterRestart(dir)).toBe(found.at(-1) === 'quarantined' ? 'none' : found.at(-1));
    if (finished) return found;
  }
  throw new Error('never finished');
}

describe('the process dies between two operations', () => {
  test('of the first save: no state or the new one', () => {
    const found = runMatrix(
      () => undefined,
      (dir, fs) => openAndSave(dir, fs, NEW),
    );
    expect(found.length).toBeGreaterThan(12);
    expect(found.join(' ')).toMatch(/^(none ){8,}(2 ){3}2$/);
  });

  test('of a save over an old state: the old or the new one', () => {
    const found = runMatrix(
      (dir) =>
        void openAndSave(
          dir,
          watchOps(() => undefined),
          OLD,
        ),
      (dir, fs) => openAndSave(dir, fs, NEW),
    );
    expect(found.length).toBeGreaterThan(12);
    expect(found.join(' ')).toMatch(/^(1 ){8,}(2 ){3}2$/);
  });

  test('of a quarantine and a save: the same problem, no state, or the new one', () => {
    const found = runMatrix(
      (dir) => {
        openStateFile({ dir });
        writeFileSync(join(dir, 'state.json'), '{"version":1,');
      },
      (dir, fs) => openAndSave(dir, fs, NEW),
    );
    expect(found.join(' ')).toMatch(/^(quarantined ){5,}(none ){8,}(2 ){3}2$/);
  });

  test('of a backup of an old version: the file is always at its path', () => {
    const found = runMatrix(
      (dir) =>
        void openAndSave(
          dir,
          watchOps(() => undefined),
          OLD,
        ),
      (dir, fs) => {
        const opened = openStateFile({ dir, fs });
        return opened.ok && 'path' in opened.file.backupAs('v1');
      },
    );
    expect(new Set(found)).toEqual(new Set([1]));
  });
});

describe('the power is cut between two operations', () => {
  const path = '/state/state.json';
  const saveOn = (fs: FsOps): boolean => {
    const opened = openStateFile({ dir: '/state', fs });
    return opened.ok && opened.file.save('the new text').ok;
  };
  const possibleTexts = (disk: PowerCutDisk): unknown[] =>
    [...new Set(disk.afterPowerCut().map((files) => files.get(path)))].sort();

  test('of a save: the old or the new text, and only the new one once the save is answered', () => {
    let finished = false;
    for (let index = 0; !finished; index++) {
      const disk = PowerCutDisk.holding(path, 'the old text');
      finished = saveOn(dieBefore(index, inShortWrites(5, disk.fs)));
      const left = possibleTexts(disk).join(',');
      if (finished) expect(left).toBe('the new text');
      else expect(['the new text', 'the new text,the old text', 'the old text']).toContain(left);
    }
  });

  test.each`
    sync               | skipped | left
    ${'the file'}      | ${1}    | ${['', 'the ne', 'the new text']}
    ${'the directory'} | ${2}    | ${['the new text', 'the old text']}
  `('the simulated disk shows a missing sync of $sync', ({ skipped, left }: { skipped: number; left: string[] }) => {
    const disk = PowerCutDisk.holding(path, 'the old text');
    let syncs = 0;
    const withoutOneSync: FsOps = { ...disk.fs, fsync: (fd) => (++syncs === skipped ? undefined : disk.fs.fsync(fd)) };
    expect(saveOn(withoutOneSync)).toBe(true);
    expect(possibleTexts(disk)).toEqual(left);
  });

  test('of a quarantine and a save: the bad file has one of its two names', () => {
    let finished = false;
    for (let index = 0; !finished; index++) {
      const disk = PowerCutDisk.holding(path, 'broken');
      const opened = openStateFile({ dir: '/state', fs: dieBefore(index, disk.fs) });
      finished = opened.ok && 'path' in opened.file.quarantine() && opened.file.save('new').ok;
      for (const files of disk.afterPowerCut())
        expect([files.get(path), files.get(`${path}.bad-1`)]).toContain('broken');
    }
  });

  test('of a backup and a save: the backup exists before the new text', () => {
    let finished = false;
    for (let index = 0; !finished; index++) {
      const disk = PowerCutDisk.holding(path, 'version 1');
      const opened = openStateFile({ dir: '/state', fs: dieBefore(index, disk.fs) });
      finished = opened.ok && 'path' in opened.file.backupAs('v1') && opened.file.save('version 2').ok;
      for (const files of disk.afterPowerCut())
        expect([files.get(path), files.get(`${path}.v1`)]).toContain('version 1');
    }
  });
});

test('a temporary file of a crashed save is gone after the next open', () => {
  const dir = makeDir();
  openAndSave(
    dir,
    watchOps(() => undefined),
    OLD,
  );
  writeFileSync(join(dir, 'state.json.tmp'), 'half a docu');
  const opened = openStateStore({ dir, version });
  expect(opened).toMatchObject({ ok: true, store: { loaded: { kind: 'loaded' }, warnings: [] } });
  expect(() => writeFileSync(join(dir, 'state.json.tmp'), '', { flag: 'wx' })).not.toThrow();
});

test('inspectState does not touch the temporary file of a running daemon', () => {
  const dir = makeDir();
  openAndSave(
    dir,
    watchOps(() => undefined),
    OLD,
  );
  writeFileSync(join(dir, 'state.json.tmp'), 'being written');
  expect(inspectState({ dir })).toMatchObject({ kind: 'loaded', state: { generation: 1 } });
  expect(() => writeFileSync(join(dir, 'state.json.tmp'), '', { flag: 'wx' })).toThrow('EEXIST');
});
