import fs, {
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
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { ContainerDirectories, HostError } from '../../../src/host';

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
    expect(directories.tidy('s.app', 'cpus.json')).toBeUndefined();
    fill(directories.pathOf('s.app'));
    expect(directories.tidy('s.app', 'cpus.json')).toEqual({});
    expect(readdirSync(directories.pathOf('s.app'))).toEqual(['cpus.json']);
    expect(directories.read('s.app', 'cpus.json')).toBe('one');
  });

  test('is removed in parts, each of a bounded number of entries', () => {
    directories.open();
    directories.make('s.app');
    for (let i = 0; i < 2_500; i++) writeFileSync(join(directories.pathOf('s.app'), `file${i}`), '');
    expect(() => directories.remove('s.app', 'cpus.json')).toThrow(
      /files of the container are left in it, of which 1000 are removed at one time/,
    );
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

  test.each`
    what                 | want     | put
    ${'its own text'}    | ${true}  | ${() => undefined}
    ${'nothing'}         | ${false} | ${(path: string) => rmSync(path)}
    ${'a directory'}     | ${false} | ${(path: string) => (rmSync(path), mkdirSync(path))}
    ${'a link'}          | ${false} | ${(path: string) => (rmSync(path), symlinkSync('/etc/hostname', path))}
    ${'a long text'}     | ${false} | ${(path: string) => writeFileSync(path, 'x'.repeat(64 * 1024 + 1))}
    ${'a file of holes'} | ${false} | ${(path: string) => fs.truncateSync(path, 2 ** 30)}
  `('given $what at the path of the file: it is the file of cpusetd: $want', ({ want, put }) => {
    directories.open();
    directories.make('s.app');
    directories.replace('s.app', 'cpus.json', 'one');
    (put as (path: string) => void)(join(directories.pathOf('s.app'), 'cpus.json'));
    expect(directories.hasFile('s.app', 'cpus.json')).toBe(want);
  });

  test('memory that a container has taken for its file, and does not use, counts', () => {
    directories.open();
    directories.make('s.app');
    directories.replace('s.app', 'cpus.json', 'one');
    const path = join(directories.pathOf('s.app'), 'cpus.json');
    execFileSync('fallocate', ['--keep-size', '--length', '8M', path]);
    expect([statSync(path).size, directories.hasFile('s.app', 'cpus.json')]).toEqual([3, false]);
  });

  describe('where somebody else has a hand in it', () => {
    afterEach(() => jest.restoreAllMocks());

    /** Each file whose name begins so is treated by somebody else first. */
    const before = (start: string, act: (path: string) => void): void => {
      const unlink = fs.unlinkSync;
      jest.spyOn(fs, 'unlinkSync').mockImplementation((path) => {
        if (basename(String(path)).startsWith(start)) act(String(path));
        unlink(path);
      });
    };
    const immutable = (path: string): never => {
      throw Object.assign(new Error(`EPERM: operation not permitted, unlink '${path}'`), { code: 'EPERM' });
    };
    const takenAway = (path: string): void => fs.rmSync(path);
    const NOT_PERMITTED = 'not permitted: look for an immutable attribute (lsattr) or a security module (EPERM)';

    const fillWithStuck = (): string => {
      const path = directories.pathOf('s.app');
      for (const name of ['a', 'stuck1', 'b', 'stuck2', 'c']) writeFileSync(join(path, name), '');
      for (const deep of ['d', 'd/e', 'd/e/f', 'g']) {
        mkdirSync(join(path, deep));
        writeFileSync(join(path, deep, 'file'), '');
      }
      writeFileSync(join(path, 'd/e/stuck3'), '');
      return path;
    };
    const filesBelow = (path: string): string[] =>
      readdirSync(path, { recursive: true, withFileTypes: true })
        .flatMap((entry) => (entry.isDirectory() ? [] : [entry.name]))
        .sort();

    test.each(['openSync', 'mkdirSync', 'chmodSync'] as const)(
      'cpusetd ends at %s of a new directory: it is made again, readable by all, and goes',
      (call) => {
        directories.open();
        jest.spyOn(fs, call).mockImplementation(() => {
          throw Object.assign(new Error('ENOSPC'), { code: 'ENOSPC' });
        });
        expect(() => directories.make('s.app')).toThrow('the file system is full');
        jest.restoreAllMocks();
        directories.make('s.app');
        expect(modeOf(directories.pathOf('s.app'))).toBe('755');
        fill(directories.pathOf('s.app'));
        directories.remove('s.app', 'cpus.json');
        expect(readdirSync(root)).toEqual([]);
      },
    );

    test('what can’t be removed stays, and all else goes', () => {
      directories.open();
      directories.make('s.app');
      directories.replace('s.app', 'cpus.json', 'one');
      const path = fillWithStuck();
      before('stuck', immutable);
      for (let i = 0; i < 3; i++) {
        expect(directories.tidy('s.app', 'cpus.json')).toEqual({ stays: NOT_PERMITTED });
        expect(filesBelow(path)).toEqual(['cpus.json', 'stuck1', 'stuck2', 'stuck3']);
      }
      for (let i = 0; i < 2; i++) {
        expect(() => directories.remove('s.app', 'cpus.json')).toThrow(`${path}: ${NOT_PERMITTED}`);
        expect(filesBelow(path)).toEqual(['stuck1', 'stuck2', 'stuck3']);
      }
      jest.restoreAllMocks();
      directories.remove('s.app', 'cpus.json');
      expect(readdirSync(root)).toEqual([]);
    });

    test('what can’t be removed is tried once a time, however deep the rest is', () => {
      directories.open();
      directories.make('s.app');
      const path = directories.pathOf('s.app');
      for (let i = 0; i < 100; i++) writeFileSync(join(path, `stuck${i}`), '');
      fill(path);
      let tries = 0;
      before('stuck', (path) => {
        tries += 1;
        immutable(path);
      });
      expect(() => directories.remove('s.app', 'cpus.json')).toThrow(NOT_PERMITTED);
      expect([tries, readdirSync(path).length]).toEqual([100, 100]);
    });

    test.each(['a file', 'all of it'])(
      '%s is taken away meanwhile: the directory goes, and its mark with it',
      (what) => {
        directories.open();
        directories.make('s.app');
        const path = directories.pathOf('s.app');
        fill(path);
        let isOver = false;
        before('file7', (file) => {
          takenAway(file);
          if (what === 'all of it' && !isOver) fs.rmSync(path, { recursive: true });
          isOver = true;
        });
        directories.remove('s.app', 'cpus.json');
        expect(isOver).toBe(true);
        expect(readdirSync(root)).toEqual([]);
      },
    );

    test('a file that comes meanwhile: the directory keeps its mark, and goes later', () => {
      directories.open();
      directories.make('s.app');
      const path = directories.pathOf('s.app');
      fill(path);
      before('file7', (file) => {
        takenAway(file);
        writeFileSync(join(path, 'later'), '');
      });
      expect(() => directories.remove('s.app', 'cpus.json')).toThrow(HostError);
      expect(directories.list()).toEqual(['s.app']);
      jest.restoreAllMocks();
      directories.remove('s.app', 'cpus.json');
      expect(readdirSync(root)).toEqual([]);
    });
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
