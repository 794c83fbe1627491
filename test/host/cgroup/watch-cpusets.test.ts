import { spawn, spawnSync } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseCpuList } from '../../../src/core/cpuset';
import type { CpusetWatch } from '../../../src/host';
import { watchCpusets, type CpusetWatchOptions } from '../../../src/host/cgroup/watch-cpusets';
import { bundleModule } from '../bundle-module';
import { waitUntil } from '../../support/wait-until';
import { describeOnKernel, TestCgroup } from './test-cgroup';

describeOnKernel('watching cpusets', 'any', () => {
  let group: TestCgroup;
  let watch: CpusetWatch;
  let reported: string[];
  let warnings: string[];
  beforeEach(() => {
    group = new TestCgroup('watch');
    reported = [];
    warnings = [];
    watch = group.cgroups.watch({ onChange: (dir) => reported.push(dir), onLost: (dir) => warnings.push(dir) });
  });
  afterEach(async () => {
    watch.close();
    expect(warnings).toEqual([]);
    await group.remove();
  });

  test('a write of another process is reported', async () => {
    const dir = group.make('/c1');
    expect(watch.add(dir)).toEqual({ kind: 'watched' });
    const writer = spawn('sh', ['-c', `echo 1 > ${group.file('/c1', 'cpuset.cpus')}`], { stdio: 'ignore' });
    await once(writer, 'exit');
    await waitUntil('the write is reported', () => reported.length > 0);
    expect(new Set(reported)).toEqual(new Set([dir])); // the shell truncates and then writes: one or two events
  });

  test('writes to two cgroups in one turn are reported once for each', async () => {
    const [a, b] = [group.make('/a'), group.make('/b')];
    for (const dir of [a, b]) watch.add(dir);
    for (const list of ['0', '1', '0']) {
      for (const dir of [a, b]) group.cgroups.writeCpuset(dir, { cpus: parseCpuList(list) });
    }
    await waitUntil('both are reported', () => reported.length >= 2);
    expect([...reported].sort()).toEqual([a, b]);
  });

  test('writes to cgroups that are not watched are not reported', async () => {
    const [removed, kept, never] = [group.make('/removed'), group.make('/kept'), group.make('/never')];
    watch.add(removed);
    watch.add(kept);
    watch.remove(removed);
    watch.remove(never);
    for (const dir of [removed, never, kept]) group.cgroups.writeCpuset(dir, { cpus: parseCpuList('0') });
    await waitUntil('the watched one is reported', () => reported.includes(kept));
    expect(reported).toEqual([kept]);
  });

  test('a cgroup that is removed from the watch before its report is not reported', async () => {
    const [a, b] = [group.make('/a'), group.make('/b')];
    watch.close();
    watch = group.cgroups.watch({
      onChange: (dir) => {
        reported.push(dir);
        for (const other of [a, b]) if (other !== dir) watch.remove(other);
      },
      onLost: (dir) => warnings.push(dir),
    });
    for (const dir of [a, b]) watch.add(dir);
    for (const dir of [a, b]) group.cgroups.writeCpuset(dir, { cpus: parseCpuList('0') });
    await waitUntil('one is reported', () => reported.length > 0);
    group.cgroups.writeCpuset(reported[0]!, { cpus: parseCpuList('1') });
    await waitUntil('it is reported again', () => reported.length > 1);
    expect(reported).toEqual([reported[0], reported[0]]);
  });

  test('adding a cgroup twice watches it once; adding a missing one gives gone', async () => {
    const dir = group.make('/c1');
    expect([watch.add(dir), watch.add(dir), watch.add(`${group.dir}/nope`)]).toEqual([
      { kind: 'watched' },
      { kind: 'watched' },
      { kind: 'gone' },
    ]);
    group.cgroups.writeCpuset(dir, { cpus: parseCpuList('0') });
    await waitUntil('it is reported', () => reported.length > 0);
    expect(reported).toEqual([dir]);
  });

  test('a removed cgroup is no error, and can be watched again under the same name', async () => {
    const dir = group.make('/c1');
    watch.add(dir);
    group.removeDir('/c1');
    expect(watch.add(dir)).toEqual({ kind: 'watched' });
    watch.remove(dir);
    expect(watch.add(dir)).toEqual({ kind: 'gone' });
    group.make('/c1');
    expect(watch.add(dir)).toEqual({ kind: 'watched' });
    group.cgroups.writeCpuset(dir, { cpus: parseCpuList('1') });
    await waitUntil('it is reported', () => reported.length > 0);
    expect(reported).toEqual([dir]);
  });

  test('after close nothing is reported, and a second close does nothing', async () => {
    const dir = group.make('/c1');
    watch.add(dir);
    group.cgroups.writeCpuset(dir, { cpus: parseCpuList('0') });
    watch.close();
    watch.close();
    const second: string[] = [];
    const other = group.cgroups.watch({ onChange: (changed) => second.push(changed), onLost: () => undefined });
    other.add(dir);
    group.cgroups.writeCpuset(dir, { cpus: parseCpuList('1') });
    await waitUntil('the other watch reports', () => second.length > 0);
    other.close();
    expect(reported).toEqual([]);
  });
});

describeOnKernel('at the inotify limit', 'any', () => {
  // A user namespace of its own has the lowered limit, so that other processes keep theirs.
  test('existing watches work, a freed watch can be used again, and a raised limit takes effect at once', () => {
    const folder = mkdtempSync(join(tmpdir(), 'watch-'));
    const bundle = bundleModule('cgroup/watch-cpusets.ts');
    try {
      for (const name of ['a', 'b', 'c', 'd']) {
        mkdirSync(join(folder, name));
        writeFileSync(join(folder, name, 'cpuset.cpus'), '0-1\n');
      }
      const script = `
        const { watchCpusets } = require(${JSON.stringify(bundle.file)});
        const fs = require('fs');
        const root = ${JSON.stringify(folder)};
        const log = [];
        const changed = new Set();
        const watch = watchCpusets(root, {
          onChange: (dir) => {
            changed.add(dir);
            if (changed.size < 3) return;
            console.log(JSON.stringify([...log, [...changed].sort().join()]));
            watch.close();
            clearTimeout(alive);
          },
          onLost: (dir) => log.push('lost ' + dir),
        });
        const add = (dir) => {
          const { kind, because } = watch.add(dir);
          log.push(kind + ' ' + dir + (because ? ': ' + because : ''));
        };
        ['/a', '/b', '/c'].forEach(add);
        watch.remove('/b');
        ['/d', '/c'].forEach(add);
        fs.writeFileSync('/proc/sys/user/max_inotify_watches', '3');
        ['/c', '/b'].forEach(add);
        for (const dir of ['/a', '/b', '/c', '/d']) fs.writeFileSync(root + dir + '/cpuset.cpus', '1');
        const alive = setTimeout(() => process.exit(1), 60_000);
      `;
      const shell = 'echo 2 > /proc/sys/user/max_inotify_watches && exec "$0" -e "$1"';
      const run = spawnSync('unshare', ['-Ur', 'sh', '-c', shell, process.execPath, script], { encoding: 'utf8' });
      expect(run.stderr).toBe('');
      const none = 'the kernel has no inotify watch left (ENOSPC); raise fs.inotify.max_user_watches';
      expect(JSON.parse(run.stdout)).toEqual([
        'watched /a',
        'watched /b',
        `unwatched /c: ${none}`,
        'watched /d',
        `unwatched /c: ${none}`,
        'watched /c',
        `unwatched /b: ${none}`,
        '/a,/c,/d',
      ]);
    } finally {
      bundle.remove();
      rmSync(folder, { recursive: true });
    }
  });
});

describe('errors of a watch', () => {
  /** A watch whose watchers the test can break. */
  function breakable() {
    const watchers: (EventEmitter & { close(): void })[] = [];
    let refusal: string | undefined;
    const lost: string[] = [];
    const watch = watchCpusets('/root', {
      onChange: () => undefined,
      onLost: (dir, because) => lost.push(`${dir}: ${because}`),
      watchFile: (() => {
        if (refusal !== undefined) throw Object.assign(new Error('refused'), { code: refusal });
        const watcher = Object.assign(new EventEmitter(), { close: () => undefined });
        watchers.push(watcher);
        return watcher;
      }) as unknown as NonNullable<CpusetWatchOptions['watchFile']>,
    });
    return { watch, watchers, lost, refuse: (errno: string) => (refusal = errno) };
  }

  test('a broken watch is reported once, and the cgroup can be watched again', () => {
    const { watch, watchers, lost } = breakable();
    watch.add('/a');
    watchers[0]!.emit('error', new Error('EIO'));
    watchers[0]!.emit('error', new Error('EIO'));
    expect(lost).toEqual(['/a: EIO']);
    expect([watch.add('/a'), watchers.length]).toEqual([{ kind: 'watched' }, 2]);
    watchers[0]!.emit('error', new Error('of the old one'));
    expect(lost).toHaveLength(1);
  });

  test.each`
    errno       | isLimit  | remedy
    ${'ENOSPC'} | ${true}  | ${/raise fs.inotify.max_user_watches$/}
    ${'EMFILE'} | ${true}  | ${/raise fs.inotify.max_user_instances, or the number of files/}
    ${'EACCES'} | ${false} | ${/^inotify: EACCES$/}
  `('$errno has its own remedy', ({ errno, isLimit, remedy }: { errno: string; isLimit: boolean; remedy: RegExp }) => {
    const { watch, refuse } = breakable();
    refuse(errno);
    expect(watch.add('/a')).toEqual({ kind: 'unwatched', isLimit, because: expect.stringMatching(remedy) });
  });
});
