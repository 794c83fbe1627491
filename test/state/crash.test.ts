import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStateFile, openStateStore, inspectState, type FsOps } from '../../src/state';
import { assignmentOf } from './support/assignments';
import { dieBefore, inShortWrites, watchOps } from './support/fs-doubles';
import { PowerCutDisk } from './support/power-cut-disk';
import { useTempDirs } from './support/temp-dir';

const makeDir = useTempDirs();
const version = '0.1.0';
const OLD = { generation: 1, assignments: [assignmentOf('old', '1')] };
const NEW = { generation: 2, assignments: [assignmentOf('old', '1'), assignmentOf('new', '2-3')] };

/** Opens the store and saves; a death on the way shows as a failed outcome, as nothing is left to be told. */
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

/** What a restart finds after a death in front of each operation, and at last after none. */
function runMatrix(prepare: (dir: string) => void, act: (dir: string, fs: FsOps) => boolean): (number | string)[] {
  const found: (number | string)[] = [];
  for (let index = 0; index < 100; index++) {
    const dir = join(makeDir(), 'state');
    prepare(dir);
    const finished = act(dir, dieBefore(index, inShortWrites(200)));
    found.push(generationAfterRestart(dir));
    expect(generationAfterRestart(dir)).toBe(found.at(-1) === 'set-aside' ? 'none' : found.at(-1));
    if (finished) return found;
  }
  throw new Error('never finished');
}

describe('the process dies between any two operations', () => {
  test('of the first save: nothing or the new state', () => {
    const found = runMatrix(
      () => undefined,
      (dir, fs) => openAndSave(dir, fs, NEW),
    );
    expect(found.length).toBeGreaterThan(12);
    expect(found.join(' ')).toMatch(/^(none ){8,}(2 ){3}2$/);
  });

  test('of a save over an old state: the old or the new state', () => {
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

  test('of setting a broken file aside and saving: the same problem, nothing, or the new state', () => {
    const found = runMatrix(
      (dir) => {
        openStateFile({ dir });
        writeFileSync(join(dir, 'state.json'), '{"version":1,');
      },
      (dir, fs) => openAndSave(dir, fs, NEW),
    );
    expect(found.join(' ')).toMatch(/^(set-aside ){5,}(none ){8,}(2 ){3}2$/);
  });

  test('of keeping an old version: the file is at its place all the time', () => {
    const found = runMatrix(
      (dir) =>
        void openAndSave(
          dir,
          watchOps(() => undefined),
          OLD,
        ),
      (dir, fs) => {
        const opened = openStateFile({ dir, fs });
        return opened.ok && 'keptAs' in opened.file.keepAs('v1');
      },
    );
    expect(new Set(found)).toEqual(new Set([1]));
  });
});

describe('the power is cut between any two operations', () => {
  const path = '/state/state.json';
  const saveOn = (disk: PowerCutDisk, fs: FsOps): boolean => {
    const opened = openStateFile({ dir: '/state', fs });
    return opened.ok && opened.file.save('the new text').ok && disk.fs.readText(path) === 'the new text';
  };

  test('of a save: the old or the new text, and only the new one once the save is answered', () => {
    let finished = false;
    for (let index = 0; !finished; index++) {
      const disk = PowerCutDisk.holding(path, 'the old text');
      finished = saveOn(disk, dieBefore(index, inShortWrites(5, disk.fs)));
      const left = [...disk.textsAfterPowerCut(path)].sort();
      if (finished) expect(left).toEqual(['the new text']);
      else expect(['the new text', 'the new text,the old text', 'the old text']).toContain(left.join(','));
    }
  });

  test.each`
    name                                       | skip                      | left
    ${'the sync of the file is left out'}      | ${(n: number) => n === 1} | ${['', 'the ne', 'the new text']}
    ${'the sync of the directory is left out'} | ${(n: number) => n === 2} | ${['the new text', 'the old text']}
  `('the test disk notices when $name', ({ skip, left }: { skip: (n: number) => boolean; left: string[] }) => {
    const disk = PowerCutDisk.holding(path, 'the old text');
    let syncs = 0;
    const forgetful: FsOps = { ...disk.fs, fsync: (fd) => (skip(++syncs) ? undefined : disk.fs.fsync(fd)) };
    expect(saveOn(disk, forgetful)).toBe(true);
    expect([...disk.textsAfterPowerCut(path)].sort()).toEqual(left);
  });

  test('of setting aside: the bad file has one of its two names', () => {
    for (let index = 0; index < 12; index++) {
      const disk = PowerCutDisk.holding(path, 'broken');
      const opened = openStateFile({ dir: '/state', fs: dieBefore(index, disk.fs) });
      if (opened.ok) opened.file.setAside();
      const names = [path, `${path}.bad-1`].map((name) => [...disk.textsAfterPowerCut(name)]);
      expect(names.flat().filter((text) => text !== undefined && text !== 'broken')).toEqual([]);
      expect(names.flat()).toContain('broken');
    }
  });
});

test('a leftover of a crashed save is gone after the next open', () => {
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

test('looking at the state beside a running daemon leaves its temporary file alone', () => {
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
