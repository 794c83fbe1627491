import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PauseFinder, type PauseFinderParts } from '../../../src/app/runtime/pause-finder';
import type { FoundPause, PauseInfo, PodInfo } from '../../../src/core/model/events';
import { openCgroups } from '../../../src/host';
import { NodeDriver, podOf } from '../../core/transition/node-driver';
import { readable } from '../../support/container-cgroups';
import { silentFaults } from '../../support/faults';

/** A kernel of plain files: cgroups v2, and the threads in /proc. */
class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'pauses-'));
  readonly node = new NodeDriver();
  readonly reported: FoundPause[][] = [];
  readonly stop = new AbortController();
  private onReport: () => void = () => undefined;

  constructor() {
    this.write('cgroup.controllers', 'cpuset\n');
  }

  finder({
    writes = true,
    ask,
    signal = this.stop.signal,
  }: Partial<PauseFinderParts> & { readonly writes?: boolean } = {}) {
    const files = openCgroups({ cgroupRoot: this.folder, procRoot: join(this.folder, 'proc') });
    return new PauseFinder({
      model: this.node.model,
      cgroups: { ...readable(files), canWrite: writes },
      ...(ask && { ask }),
      report: (pauses) => {
        this.reported.push([...pauses]);
        this.node.send({ kind: 'pauses-found', pauses });
        this.onReport();
      },
      faults: silentFaults(),
      signal,
    });
  }

  /** Starts the sandbox of a pod with these threads, each as `tid/pid name`. */
  run(uid: string, ...threads: readonly string[]): PodInfo {
    const path = `/kubepods/pod${uid}/${uid}`;
    this.write(`${path}/cpuset.cpus`, '\n');
    this.write(`${path}/cpuset.cpus.effective`, '0-7\n');
    this.setThreads(uid, ...threads);
    const pod = { ...podOf(uid), pause: { cgroupsPath: path } };
    this.node.send({ kind: 'pod-started', pod });
    return pod;
  }

  setThreads(uid: string, ...threads: readonly string[]): void {
    const parsed = threads.map((thread) => /^(\d+)\/(\d+) (.*)$/.exec(thread)!);
    this.write(`/kubepods/pod${uid}/${uid}/cgroup.threads`, parsed.map(([, tid]) => `${tid}\n`).join(''));
    for (const [, tid, pid, name] of parsed)
      this.write(`proc/${tid}/status`, `Name:\t${name}\nTgid:\t${pid}\nCpus_allowed_list:\t0-7\n`);
  }

  write(path: string, text: string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    writeFileSync(join(this.folder, path), text);
  }

  /** Resolves when this many pause containers were reported. */
  async reportedPauses(count: number): Promise<FoundPause[]> {
    while (this.reported.flat().length < count) await new Promise<void>((resolve) => (this.onReport = resolve));
    return this.reported.flat();
  }
}

let stage: Stage;
beforeEach(() => (stage = new Stage()));
afterEach(() => {
  stage.stop.abort();
  rmSync(stage.folder, { recursive: true });
});

/** Starts a pod, and returns its pause container if one is found. */
function findPause(pod: PodInfo, finder = stage.finder()): FoundPause | undefined {
  const [, found] = finder.withPause({ kind: 'pod-started', pod });
  return found?.kind === 'pauses-found' ? found.pauses[0] : undefined;
}

describe('a sandbox cgroup with these processes can be moved or stays:', () => {
  const more = /more than a pause process/;
  test.each`
    name                                                                        | threads                                                               | stays
    ${'one process with one thread: can be moved'}                              | ${['7/7 pause']}                                                      | ${undefined}
    ${'runc init before it becomes the pause process: can be moved'}            | ${['7/7 runc:[2:INIT]', '8/7 runc:[2:INIT]']}                         | ${undefined}
    ${'a virtual machine of Kata: stays'}                                       | ${['7/7 qemu-system-x86', '8/7 CPU 0/KVM']}                           | ${more}
    ${'one vCPU thread of a virtual machine whose process is elsewhere: stays'} | ${['8/7 CPU 0/KVM']}                                                  | ${more}
    ${'the kernel of gVisor: stays'}                                            | ${['7/7 exe', '8/7 exe', '9/7 exe']}                                  | ${more}
    ${'two processes: stays'}                                                   | ${['7/7 pause', '8/8 sh']}                                            | ${more}
    ${'a second process with the name of runc init: stays'}                     | ${['7/7 runc:[2:INIT]', '8/8 runc:[2:INIT]']}                         | ${more}
    ${'a thread with the name of runc init: stays'}                             | ${['7/7 qemu', '8/7 runc:[2:INIT]']}                                  | ${more}
    ${'more threads than are read: stays'}                                      | ${Array.from({ length: 70 }, (_, i) => `${i + 10}/10 runc:[2:INIT]`)} | ${more}
  `('$name', ({ threads, stays }: { threads: string[]; stays: RegExp | undefined }) => {
    expect(findPause(stage.run('p', ...threads))?.staysBecause).toEqual(stays && expect.stringMatching(stays));
    expect(findPause(stage.run('p', ...threads))).toBeDefined();
  });

  test('a process in a child cgroup counts: stays', () => {
    const pod = stage.run('p', '7/7 pause');
    stage.write('/kubepods/podp/p/below/cgroup.threads', '9\n');
    stage.write('proc/9/status', 'Name:\tsh\nTgid:\t9\nCpus_allowed_list:\t0-7\n');
    expect(findPause(pod)?.staysBecause).toMatch(more);
  });

  test('processes of another PID namespace can’t be told apart: stays', () => {
    const pod = stage.run('p', '7/7 pause');
    stage.write('/kubepods/podp/p/cgroup.threads', '0\n');
    expect(findPause(pod)?.staysBecause).toMatch(/PID namespace/);
  });

  test('cgroup writes are off: stays', () => {
    expect(findPause(stage.run('p', '7/7 pause'), stage.finder({ writes: false }))?.staysBecause).toMatch(
      /cgroup-writes/,
    );
  });

  test('a path that leads out of the cgroup tree is not read: stays', () => {
    const pod = { ...stage.run('p', '7/7 pause'), pause: { cgroupsPath: '/kubepods/../../p' } };
    expect(findPause(pod)?.staysBecause).toMatch(/cannot be used/);
  });
});

test.each`
  name                                           | prepare
  ${'a missing cgroup'}                          | ${(pod: PodInfo) => ({ ...pod, pause: { cgroupsPath: '/kubepods/podp/other' } })}
  ${'a cgroup without processes'}                | ${(pod: PodInfo) => (stage.setThreads('p'), pod)}
  ${'a runtime that reports no pause container'} | ${({ pause: _none, ...pod }: PodInfo) => pod}
`('$name: no pause container is found', ({ prepare }: { prepare: (pod: PodInfo) => PodInfo }) => {
  expect(findPause(prepare(stage.run('p', '7/7 pause')))).toBeUndefined();
});

test('a process that may become a pause process is read again until it is one', async () => {
  const finder = stage.finder();
  const pod = stage.run('p', '7/7 crun', '8/7 crun');
  stage.node.run('make q/a 2');
  for (const event of finder.withPause({ kind: 'pod-started', pod })) stage.node.send(event);
  expect(stage.node.model.allContainers.get('sandbox-p')?.promise).toBeUndefined();
  stage.setThreads('p', '7/7 pause');
  await stage.reportedPauses(1);
  expect(stage.node.model.allContainers.get('sandbox-p')?.promise?.cpus.toString()).toBe('0');
});

test('100 pods are read in several turns of the event loop', async () => {
  const pods = Array.from({ length: 100 }, (_, i) => stage.run(`p${i}`, `${i + 10}/${i + 10} pause`));
  stage.finder().follow({ kind: 'synchronize', pods, containers: [] });
  expect(stage.reported).toEqual([]);
  const found = await stage.reportedPauses(100);
  expect(new Set(found.map(({ sandboxId }) => sandboxId)).size).toBe(100);
  expect(Math.max(...stage.reported.map((turn) => turn.length))).toBeLessThanOrEqual(32);
});

test('a pod that was stopped meanwhile is not read', async () => {
  const pods = ['p', 'q'].map((uid) => stage.run(uid, '7/7 pause'));
  stage.finder().follow({ kind: 'synchronize', pods, containers: [] });
  stage.node.run('stop p');
  expect((await stage.reportedPauses(1)).map(({ sandboxId }) => sandboxId)).toEqual(['sandbox-q']);
});

describe('where events lack the pause container, the runtime is asked', () => {
  const path = (id: string): PauseInfo => ({ cgroupsPath: id.replace(/^sandbox-(.*)$/, '/kubepods/pod$1/$1') });
  const start = (uid: string): PodInfo => {
    const { pause: _none, ...pod } = stage.run(uid, '7/7 pause');
    return pod;
  };

  test('with at most four calls at once', async () => {
    let [asking, most] = [0, 0];
    const ask = async (id: string): Promise<PauseInfo> => {
      most = Math.max(most, ++asking);
      await new Promise(setImmediate);
      asking--;
      return path(id);
    };
    const pods = Array.from({ length: 20 }, (_, i) => start(`p${i}`));
    stage.finder({ ask }).follow({ kind: 'synchronize', pods, containers: [] });
    await stage.reportedPauses(20);
    expect(most).toBe(4);
  });

  test('again after an error', async () => {
    const failures = [new Error('away'), new Error('away')];
    const ask = (id: string): Promise<PauseInfo> => {
      const failure = failures.pop();
      return failure ? Promise.reject(failure) : Promise.resolve(path(id));
    };
    stage.finder({ ask }).follow({ kind: 'pod-started', pod: start('p') });
    expect(await stage.reportedPauses(1)).toMatchObject([{ sandboxId: 'sandbox-p', cgroupsPath: '/kubepods/podp/p' }]);
  });
});

test('after the end of the daemon no pod is read', async () => {
  const ended = new AbortController();
  const finder = stage.finder({ signal: ended.signal });
  const [p, q, r] = ['p', 'q', 'r'].map((uid) => stage.run(uid, '7/7 pause'));
  finder.follow({ kind: 'synchronize', pods: [p!], containers: [] });
  ended.abort();
  finder.follow({ kind: 'synchronize', pods: [q!], containers: [] });
  stage.finder().follow({ kind: 'synchronize', pods: [r!], containers: [] }); // read after the two pods above
  expect((await stage.reportedPauses(1)).map(({ sandboxId }) => sandboxId)).toEqual(['sandbox-r']);
});
