import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ContainerDirectories, HostError } from '../../src/host';

let dir: string;
let root: string;
let directories: ContainerDirectories;
let umask: number;
beforeEach(() => {
  umask = process.umask(0o077);
  dir = mkdtempSync(join(tmpdir(), 'cpusetd-cd-'));
  root = join(dir, 'run/identity');
  directories = new ContainerDirectories(root);
});
afterEach(() => {
  process.umask(umask);
  rmSync(dir, { recursive: true, force: true });
});

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);

test('given any umask, then everyone can read a file, and nobody can list the directories of others', () => {
  directories.open();
  directories.make('s.app');
  directories.replace('s.app', 'cpus.json', 'one');
  expect(modeOf(root)).toBe('711');
  expect(modeOf(directories.pathOf('s.app'))).toBe('755');
  expect(modeOf(join(root, 's.app/cpus.json'))).toBe('644');
  expect(directories.read('s.app', 'cpus.json')).toBe('one');
});

test('given a new text, then the directory stays the same one and sees one complete file arrive', async () => {
  directories.open();
  directories.make('s.app');
  directories.replace('s.app', 'cpus.json', 'a long text');
  const path = directories.pathOf('s.app');
  const { ino } = statSync(path);
  const old = statSync(join(path, 'cpus.json')).ino;
  const watcher = watch(path);
  const seen: string[] = [];
  watcher.on('change', (_kind, name) => seen.push(String(name)));
  const changed = once(watcher, 'change');
  directories.make('s.app');
  directories.replace('s.app', 'cpus.json', 'short');
  await changed;
  watcher.close();
  expect(new Set(seen)).toEqual(new Set(['cpus.json']));
  expect(readdirSync(path)).toEqual(['cpus.json']);
  expect(readFileSync(join(path, 'cpus.json'), 'utf8')).toBe('short');
  expect(statSync(path).ino).toBe(ino);
  expect(statSync(join(path, 'cpus.json')).ino).not.toBe(old);
});

test('directories are listed, without a text that an earlier process was writing', () => {
  expect(directories.list()).toEqual([]);
  directories.open();
  directories.make('s.app');
  writeFileSync(join(root, '.draft'), 'half');
  expect(directories.list()).toEqual(['s.app']);
  directories.replace('s.app', 'cpus.json', 'one');
  expect(directories.read('s.app', 'cpus.json')).toBe('one');
});

test('a directory goes with what is in it, and again without effect', () => {
  directories.open();
  directories.make('s.app');
  directories.replace('s.app', 'cpus.json', 'one');
  expect(directories.exists('s.app')).toBe(true);
  directories.remove('s.app', 'cpus.json');
  directories.remove('s.app', 'cpus.json');
  expect(directories.exists('s.app')).toBe(false);
  expect(directories.read('s.app', 'cpus.json')).toBeUndefined();
});

describe('what a container has put in its directory', () => {
  const fill = (path: string): void => {
    for (let i = 0; i < 50; i++) writeFileSync(join(path, `file${i}`), 'x');
    let deep = path;
    for (let i = 0; i < 40; i++) {
      deep = join(deep, `d${i}`);
      mkdirSync(deep);
      writeFileSync(join(deep, 'file'), 'x');
    }
  };
  const outside = (): string => {
    const path = join(dir, 'outside');
    mkdirSync(path);
    writeFileSync(join(path, 'precious'), 'precious');
    return path;
  };

  test('is removed with it, at any depth; links are not followed', () => {
    directories.open();
    directories.make('s.app');
    fill(directories.pathOf('s.app'));
    symlinkSync(outside(), join(directories.pathOf('s.app'), 'd0', 'link'));
    directories.remove('s.app', 'cpus.json');
    expect(directories.exists('s.app')).toBe(false);
    expect(readdirSync(join(dir, 'outside'))).toEqual(['precious']);
    expect(readdirSync(root)).toEqual([]);
  });

  test('is removed without the file, which stays', () => {
    directories.open();
    directories.make('s.app');
    directories.replace('s.app', 'cpus.json', 'one');
    expect(directories.tidy('s.app', 'cpus.json')).toBe(false);
    fill(directories.pathOf('s.app'));
    expect(directories.tidy('s.app', 'cpus.json')).toBe(true);
    expect(readdirSync(directories.pathOf('s.app'))).toEqual(['cpus.json']);
    expect(directories.read('s.app', 'cpus.json')).toBe('one');
  });

  test('is removed in parts, each of a bounded number of entries', () => {
    directories.open();
    directories.make('s.app');
    for (let i = 0; i < 2_500; i++) writeFileSync(join(directories.pathOf('s.app'), `file${i}`), '');
    expect(() => directories.remove('s.app', 'cpus.json')).toThrow(/more than 1000 files of the container are in it/);
    expect(() => directories.remove('s.app', 'cpus.json')).toThrow(HostError);
    directories.remove('s.app', 'cpus.json');
    expect(directories.exists('s.app')).toBe(false);
  });

  test.each(['directory', 'link'])('a %s in the place of its file gives way to the file', (what) => {
    directories.open();
    directories.make('s.app');
    const path = join(directories.pathOf('s.app'), 'cpus.json');
    if (what === 'link') symlinkSync(outside(), path);
    else mkdirSync(join(path, 'deep'), { recursive: true });
    directories.replace('s.app', 'cpus.json', 'one');
    expect(directories.read('s.app', 'cpus.json')).toBe('one');
  });

  test('a directory of an earlier process is known as ours', () => {
    directories.open();
    directories.make('s.app');
    fill(directories.pathOf('s.app'));
    new ContainerDirectories(root).remove('s.app', 'cpus.json');
    expect(readdirSync(root)).toEqual([]);
  });
});

test('a directory of somebody else is neither emptied nor removed, and files are no directories', () => {
  directories.open();
  writeFileSync(join(root, 'state.json'), 'precious');
  mkdirSync(join(root, 'of.others'));
  writeFileSync(join(root, 'of.others/file'), 'precious');
  expect(directories.list()).toEqual(['of.others']);
  expect(() => directories.remove('of.others', 'cpus.json')).toThrow(/the directory has files that are not of cpusetd/);
  expect(readFileSync(join(root, 'of.others/file'), 'utf8')).toBe('precious');
});

test('a root that others may write to is refused, with the remedy', () => {
  mkdirSync(root, { recursive: true });
  chmodSync(root, 0o777);
  expect(() => directories.open()).toThrow(
    new HostError(`${root}: others may write to this directory; run: chown 0:0 and chmod go-w on it`),
  );
});

test('a link in the place of a directory is not followed', () => {
  directories.open();
  const outside = join(dir, 'outside');
  mkdirSync(outside);
  symlinkSync(outside, directories.pathOf('s.app'));
  expect(() => directories.make('s.app')).toThrow(/something that is no directory is there: remove it \(EEXIST\)$/);
  expect(directories.exists('s.app')).toBe(false);
  expect(() => directories.remove('s.app', 'cpus.json')).toThrow(HostError);
  expect(readdirSync(dir).sort()).toEqual(['outside', 'run']);
});

test('each failure names the path and the reason', () => {
  expect(() => directories.replace('s.app', 'cpus.json', 'x')).toThrow(
    /s\.app\/cpus\.json: the directory is gone \(ENOENT\)$/,
  );
  mkdirSync(join(dir, 'run'));
  writeFileSync(root, '');
  expect(() => directories.open()).toThrow(/identity: something that is no directory is there: remove it \(EEXIST\)$/);
  expect(() => directories.list()).toThrow(/identity: a part of the path is no directory/);
});
