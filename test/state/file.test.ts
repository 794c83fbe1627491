import { execFileSync, spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { defineAsRoot, defineWithPrerequisite } from '../support/not-run';
import { nodeFsOps, type FsOps } from '../../src/files/fs-ops';
import { openStateFile, type StateFile } from '../../src/state';
import { fsError, watchOps } from './support/fs-doubles';
import { useTempDirs } from './support/temp-dir';

const makeDir = useTempDirs();

function open(dir: string, fs?: FsOps): StateFile {
  const opened = openStateFile(fs ? { dir, fs } : { dir });
  if (!opened.ok) throw new Error(opened.because);
  return opened.file;
}

describe('openStateFile', () => {
  test('creates the directory and its parents with mode 0700', () => {
    const dir = join(makeDir(), 'lib/cpusetd');
    const file = open(dir);
    expect(statSync(dir).mode & 0o777).toBe(0o700);
    expect(file).toMatchObject({ path: join(dir, 'state.json'), notWritable: null });
    expect(file.read()).toEqual({ kind: 'none' });
  });

  test('syncs each directory with a new entry, and no other', () => {
    const dir = join(makeDir(), 'a/b');
    const synced = (): string[] => {
      const paths: string[] = [];
      open(dir, { ...nodeFsOps, openDirectory: (path) => (paths.push(path), nodeFsOps.openDirectory(path)) });
      return paths;
    };
    expect(synced()).toEqual([join(dir, '..'), join(dir, '../..')]);
    expect(synced()).toEqual([]);
  });

  test('accepts a directory with a trailing slash, and a relative one', () => {
    const dir = join(makeDir(), 'state');
    expect(open(`${dir}/`).path).toBe(join(dir, 'state.json'));
    expect(open('.').path).toBe(join(process.cwd(), 'state.json'));
  });

  test('refuses a file in place of the directory', () => {
    const path = join(makeDir(), 'file');
    writeFileSync(path, '');
    expect(openStateFile({ dir: path })).toEqual({
      ok: false,
      because: `can't use the state directory ${path}: the path exists and is not a directory: choose another --state-dir (EEXIST)`,
    });
    expect(openStateFile({ dir: join(path, 'below') })).toMatchObject({ because: expect.stringContaining('ENOTDIR') });
  });

  test('opens a read-only directory, and reports that it is not writable', () => {
    const dir = makeDir();
    open(dir).save('kept');
    const readOnly: FsOps = {
      ...nodeFsOps,
      assertWritable: () => {
        throw fsError('EROFS');
      },
    };
    const file = open(dir, readOnly);
    expect(file.notWritable).toContain('mounted read-only: mount it writable or choose another --state-dir (EROFS)');
    expect(file.read()).toEqual({ kind: 'text', text: 'kept' });
  });
});

describe('save', () => {
  test('is read back, with mode 0600 and no other file in the directory', () => {
    const dir = makeDir();
    const file = open(dir);
    expect(file.save('one')).toEqual({ ok: true });
    expect(file.save('zwei 💡')).toEqual({ ok: true });
    expect(open(dir).read()).toEqual({ kind: 'text', text: 'zwei 💡' });
    expect(statSync(file.path).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir)).toEqual(['state.json']);
  });

  test('makes its system calls in the order that makes the text durable', () => {
    const ops: string[] = [];
    const file = open(
      makeDir(),
      watchOps((op) => void ops.push(op)),
    );
    ops.length = 0;
    file.save('text');
    const order = ['openForWriting', 'write', 'fsync', 'close', 'rename', 'openDirectory', 'fsync', 'close'];
    expect(ops).toEqual(order);
  });

  const FAULTS = ['openForWriting', 'write', 'fsync', 'close', 'rename'] as const;
  const CODES = ['ENOSPC', 'EDQUOT', 'EROFS', 'EACCES', 'EPERM', 'EIO', 'EMFILE', 'EFBIG', 'ESTALE'];
  test.each(FAULTS.flatMap((op) => CODES.map((code) => [op, code] as const)))(
    'with a failing %s (%s) reports it, keeps the old text, removes the temporary file, and the next save succeeds',
    (failing, code) => {
      const dir = makeDir();
      let armed = false;
      const file = open(
        dir,
        watchOps((op) => {
          if (armed && op === failing) throw fsError(code);
        }),
      );
      file.save('old');
      armed = true;
      const outcome = file.save('new');
      armed = false;
      expect(outcome).toMatchObject({ ok: false, code, onDisk: 'old' });
      expect(outcome).toHaveProperty(
        'because',
        expect.stringMatching(new RegExp(`^can't save ${file.path}: .+ \\(${code}\\)$`)),
      );
      expect(file.read()).toEqual({ kind: 'text', text: 'old' });
      expect(readdirSync(dir)).toEqual(['state.json']);
      expect(file.save('newer')).toEqual({ ok: true });
    },
  );

  test('with a failing sync of the directory alone reports an unknown result', () => {
    let syncs = 0;
    const file = open(makeDir(), {
      ...nodeFsOps,
      fsync: (fd) => {
        if (++syncs === 2) throw fsError('EIO');
        nodeFsOps.fsync(fd);
      },
    });
    expect(file.save('new')).toMatchObject({ ok: false, code: 'EIO', onDisk: 'unknown' });
  });

  test('succeeds although an earlier temporary file could neither be completed nor removed', () => {
    const dir = makeDir();
    let broken = true;
    const file = open(
      dir,
      watchOps((op) => {
        if (broken && (op === 'fsync' || op === 'unlink')) throw fsError('EIO');
      }),
    );
    expect(file.save('a long text that fails')).toMatchObject({ ok: false });
    expect(existsSync(join(dir, 'state.json.tmp'))).toBe(true);
    broken = false;
    expect(file.save('short')).toEqual({ ok: true });
    expect(file.read()).toEqual({ kind: 'text', text: 'short' });
  });

  test.each`
    name                         | put
    ${'a symbolic link'}         | ${(path: string, victim: string) => symlinkSync(victim, path)}
    ${'a hard link'}             | ${(path: string, victim: string) => linkSync(victim, path)}
    ${'a FIFO without a reader'} | ${(path: string) => execFileSync('mkfifo', [path])}
    ${'a link to a device'}      | ${(path: string) => symlinkSync('/dev/full', path)}
    ${'a file of another user'}  | ${(path: string) => writeFileSync(path, 'x', { mode: 0o666 })}
  `('replaces $name at its path without writing to it or waiting for it', ({ put }) => {
    const dir = makeDir();
    const victim = join(dir, 'victim');
    writeFileSync(victim, 'untouched');
    const file = open(dir);
    for (const name of ['state.json.tmp', 'state.json']) {
      if (existsSync(join(dir, name))) rmSync(join(dir, name));
      (put as (path: string, victim: string) => void)(join(dir, name), victim);
      expect(file.save('text')).toEqual({ ok: true });
      expect(file.read()).toEqual({ kind: 'text', text: 'text' });
      expect(lstatSync(file.path)).toMatchObject({ nlink: 1 });
      expect(lstatSync(file.path).mode & 0o7777).toBe(0o600);
    }
    expect(readFileSync(victim, 'utf8')).toBe('untouched');
  });

  test('reports a directory at the path of its temporary file', () => {
    const file = open(makeDir());
    mkdirSync(`${file.path}.tmp`);
    const saved = file.save('text');
    expect(saved).toMatchObject({ ok: false, onDisk: 'old' });
    expect(saved).toMatchObject({ because: expect.stringMatching(/state\.json: .*\((EISDIR|EPERM)\)/) });
  });

  test('reports a directory that was removed meanwhile', () => {
    const dir = join(makeDir(), 'state');
    const file = open(dir);
    execFileSync('rm', ['-r', dir]);
    expect(file.save('text')).toMatchObject({ ok: false, code: 'ENOENT', onDisk: 'old' });
  });
});

describe('read', () => {
  defineAsRoot(() =>
    test.each`
      name                                | make                                                                         | because
      ${'a directory'}                    | ${(path: string) => mkdirSync(path)}                                         | ${'is not a regular file'}
      ${'a FIFO without a writer'}        | ${(path: string) => execFileSync('mkfifo', [path])}                          | ${'is not a regular file'}
      ${'a file above the size limit'}    | ${(path: string) => writeFileSync(path, Buffer.alloc(16 * 1024 * 1024 + 1))} | ${'has 16777217 bytes; at most 16777216 are read'}
      ${'a symbolic link to itself'}      | ${(path: string) => symlinkSync(path, path)}                                 | ${'is not a regular file'}
      ${'a symbolic link to a good file'} | ${(path: string) => symlinkSync('/etc/hostname', path)}                      | ${'is not a regular file'}
      ${'a device'}                       | ${(path: string) => execFileSync('mknod', [path, 'c', '1', '5'])}            | ${'is not a regular file'}
      ${"another user's file"}            | ${(path: string) => (writeFileSync(path, '{}'), chownSync(path, 4711, 0))}   | ${'is not a regular file of ours'}
    `(
      '$name is unreadable and can be quarantined',
      ({ make, because }: { make: (path: string) => void; because: string }) => {
        const file = open(makeDir());
        make(file.path);
        expect(file.read()).toMatchObject({ kind: 'unreadable', because: expect.stringContaining(because) });
        expect(file.quarantine()).toEqual({ path: `${file.path}.bad-1` });
        expect(file.read()).toEqual({ kind: 'none' });
      },
    ),
  );

  test.each(['EMFILE', 'ENFILE', 'ENOMEM'])('%s is a failure that is not about the file', (code) => {
    const file = open(makeDir(), {
      ...nodeFsOps,
      readText: () => {
        throw fsError(code);
      },
    });
    file.save('good');
    expect(file.read()).toMatchObject({ kind: 'failed' });
  });
});

describe('quarantine', () => {
  test('keeps the newest eight files', () => {
    const dir = makeDir();
    const file = open(dir);
    for (let n = 1; n <= 11; n++) {
      file.save(`bad ${n}`);
      expect(file.quarantine()).toEqual({ path: `${file.path}.bad-${n}` });
    }
    const kept = readdirSync(dir).map((name) => readFileSync(join(dir, name), 'utf8'));
    expect(kept.sort()).toEqual([4, 5, 6, 7, 8, 9, 10, 11].map((n) => `bad ${n}`).sort());
  });

  test('ignores files with similar names', () => {
    const dir = makeDir();
    const others = [
      'state.json.bad-',
      'state.json.bad-0',
      'state.json.bad-x',
      'state.json.bad-1.old',
      'xstate.json.bad-7',
    ];
    for (const name of others) writeFileSync(join(dir, name), '');
    const file = open(dir);
    file.save('bad');
    expect(file.quarantine()).toEqual({ path: `${file.path}.bad-1` });
    expect(readdirSync(dir).sort()).toEqual([...others, 'state.json.bad-1'].sort());
  });
});

test('backupAs keeps the present text over later saves; a second backup replaces the first', () => {
  const file = open(makeDir());
  for (const text of ['first', 'second']) {
    file.save(text);
    expect(file.backupAs('v1')).toEqual({ path: `${file.path}.v1` });
    file.save('after');
    expect(readFileSync(`${file.path}.v1`, 'utf8')).toBe(text);
  }
});

describe('on real file systems', () => {
  const mount = (dir: string, options: string): boolean =>
    spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', dir]).status === 0;
  const canMount = ((): boolean => {
    const dir = makeDir();
    return mount(dir, 'size=4k') && spawnSync('umount', [dir]).status === 0;
  })();

  const mounted: string[] = [];
  afterEach(() => mounted.splice(0).forEach((dir) => execFileSync('umount', [dir])));
  const mountAt = (options: string): string => {
    const dir = makeDir();
    expect(mount(dir, options)).toBe(true);
    mounted.push(dir);
    return dir;
  };

  defineWithPrerequisite(canMount ? undefined : 'root is needed to mount a file system', () => {
    test('a full one: the save fails and the old text stays', () => {
      const file = open(mountAt('size=64k'));
      expect(file.save('x'.repeat(20_000))).toEqual({ ok: true });
      expect(file.save('y'.repeat(60_000))).toMatchObject({ ok: false, code: 'ENOSPC', onDisk: 'old' });
      expect(file.read()).toEqual({ kind: 'text', text: 'x'.repeat(20_000) });
      expect(file.save('z'.repeat(20_000))).toEqual({ ok: true });
    });

    test('a read-only one: it is read, and reported as not writable before the first save', () => {
      const dir = mountAt('size=64k');
      open(dir).save('kept');
      execFileSync('mount', ['-o', 'remount,ro', dir]);
      const file = open(dir);
      expect(file.notWritable).toContain('EROFS');
      expect(file.read()).toEqual({ kind: 'text', text: 'kept' });
      expect(file.save('new')).toMatchObject({ ok: false, code: 'EROFS', onDisk: 'old' });
      expect(file.quarantine()).toMatchObject({ because: expect.stringContaining('EROFS') });
    });
  });
});
