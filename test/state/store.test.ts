import { copyFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFsOps } from '../../src/files/fs-ops';
import { inspectState, openStateStore, type StateStore } from '../../src/state';
import { assignmentOf } from './support/assignments';
import { fsError } from './support/fs-doubles';
import { useTempDirs } from './support/temp-dir';

const FIXTURES = join(__dirname, '../fixtures/state');
const makeDir = useTempDirs();
const version = '0.1.0';

function dirWith(fixture: string): string {
  const dir = makeDir();
  copyFileSync(join(FIXTURES, fixture), join(dir, 'state.json'));
  return dir;
}

function open(dir: string): StateStore {
  const opened = openStateStore({ dir, version });
  if (!opened.ok) throw new Error(opened.because);
  return opened.store;
}

test('a saved state is loaded after a restart', () => {
  const dir = join(makeDir(), 'new');
  const assignments = [assignmentOf('a', '2-3'), assignmentOf('b', '4', { containerId: null })];
  const store = open(dir);
  expect(store.loaded).toEqual({ kind: 'none' });
  expect(store.save({ generation: 7, assignments: new Map(assignments.entries()).values() })).toEqual({
    ok: true,
    leftOut: [],
  });
  expect(open(dir).loaded).toEqual({
    kind: 'loaded',
    state: { writtenBy: version, generation: 7, assignments, pods: [], brought: [], podLevel: [] },
  });
});

test.each`
  fixture                           | problem
  ${'broken-empty.json'}            | ${'empty'}
  ${'broken-torn-in-a-string.json'} | ${'torn'}
  ${'broken-binary.json'}           | ${'torn'}
  ${'broken-foreign-kubelet.json'}  | ${'foreign'}
  ${'broken-changed-cpu.json'}      | ${'garbled'}
  ${'inconsistent-cpu-twice.json'}  | ${'inconsistent'}
`(
  '$fixture is quarantined unchanged, and the next start finds no state',
  ({ fixture, problem }: Record<string, string>) => {
    const dir = dirWith(fixture!);
    const store = open(dir);
    expect(store.loaded).toMatchObject({
      kind: 'quarantined',
      problem: { kind: problem },
      movedTo: `${store.path}.bad-1`,
    });
    expect(readFileSync(`${store.path}.bad-1`)).toEqual(readFileSync(join(FIXTURES, fixture!)));
    expect(open(dir).loaded).toEqual({ kind: 'none' });
  },
);

test('an inconsistent file: the entries without a contradiction are salvaged', () => {
  expect(open(dirWith('inconsistent-cpu-twice.json')).loaded).toMatchObject({
    problem: {
      salvaged: { generation: 4711, assignments: [{ containerName: 'side.car' }, { containerName: '__proto__' }] },
    },
  });
});

test('a file of a newer version refuses the start and stays in place', () => {
  const dir = dirWith('newer-v99.json');
  expect(openStateStore({ dir, version })).toEqual({
    ok: false,
    because: `${join(dir, 'state.json')}: version 99 was written by cpusetd 9.0.0; this cpusetd reads up to 2: start that one or a newer`,
  });
  expect(readdirSync(dir)).toEqual(['state.json']);
  expect(readFileSync(join(dir, 'state.json'))).toEqual(readFileSync(join(FIXTURES, 'newer-v99.json')));
});

test('a file that can’t be opened is quarantined', () => {
  const dir = dirWith('v1-one.json');
  const fs = {
    ...nodeFsOps,
    readText: () => {
      throw fsError('EACCES');
    },
  };
  const opened = openStateStore({ dir, version, fs });
  expect(opened).toMatchObject({
    ok: true,
    store: { loaded: { kind: 'quarantined', problem: { kind: 'unreadable' } } },
  });
  expect(readdirSync(dir)).toEqual(['state.json.bad-1']);
});

test('too many open files refuse the start, and the good file stays in place', () => {
  const dir = dirWith('v2-kinds.json');
  const fs = {
    ...nodeFsOps,
    readText: () => {
      throw fsError('EMFILE');
    },
  };
  expect(openStateStore({ dir, version, fs })).toMatchObject({ ok: false, because: expect.stringContaining('EMFILE') });
  expect(open(dir).loaded).toMatchObject({ kind: 'loaded' });
});

test('a broken file that can’t be moved is a warning, and the next save replaces it', () => {
  const dir = dirWith('broken-empty.json');
  let readOnly = true;
  const opened = openStateStore({
    dir,
    version,
    fs: {
      ...nodeFsOps,
      rename: (from, to) => {
        if (readOnly) throw fsError('EPERM');
        nodeFsOps.rename(from, to);
      },
    },
  });
  if (!opened.ok) throw new Error(opened.because);
  expect(opened.store.loaded).toMatchObject({ kind: 'quarantined', movedTo: null });
  expect(opened.store.warnings).toEqual([expect.stringContaining("can't set aside")]);
  readOnly = false;
  expect(opened.store.save({ generation: 1, assignments: [] })).toEqual({ ok: true, leftOut: [] });
  expect(open(dir).loaded).toMatchObject({ kind: 'loaded' });
});

test('inspectState finds the same problem and changes nothing on disk', () => {
  const dir = dirWith('broken-changed-cpu.json');
  writeFileSync(join(dir, 'state.json.tmp'), 'being written');
  expect(inspectState({ dir })).toMatchObject({ kind: 'problem', problem: { kind: 'garbled' } });
  expect(readdirSync(dir).sort()).toEqual(['state.json', 'state.json.tmp']);
  expect(inspectState({ dir: join(dir, 'nowhere') })).toEqual({ kind: 'none' });
});
