import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { PauseFinder, type PauseFinderParts } from '../../../src/app/runtime/pause-finder';
import type { FoundPause, PauseInfo, PodInfo } from '../../../src/core/model/events';
import { openCgroups } from '../../../src/host';
import { NodeDriver, podOf } from '../../core/transition/node-driver';
import { silentFaults } from '../../support/faults';

/** A kernel of plain files: cgroups of version 2, and what /proc tells of threads. */
class Stage {
  readonly folder = mkdtempSync(join(tmpdir(), 'pauses-'));
  readonly node = new NodeDriver();
  readonly told: FoundPause[][] = [];
  readonly stop = new AbortController();
  private noteTold: () => void = () => undefined;

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
      cgroups: { files, canWrite: writes },
      ...(ask && { ask }),
      report: (pauses) => {
        this.told.push([...pauses]);
        this.node.send({ kind: 'pauses-found', pauses });
        this.noteTold();
      },
      faults: silentFaults(),
      signal,
    });
  }

  /** A pod whose sandbox runs: each thread as `tid/pid name`. */
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

  /** Resolves when so many pauses in all were told. */
  async toldOf(count: number): Promise<FoundPause[]> {
    while (this.told.flat().length < count) await new Promise<void>((resolve) => (this.noteTold = resolve));
    return this.told.flat();
  }
}

let stage: Stage;
beforeEach(() => (stage = new Stage()));
afterEach(() => {
  stage.stop.abort();
  rmSync(stage.folder, { recursive: true });
});

/** Starts a pod, and gives the pause container that is found of it. */
function meet(pod: PodInfo, finder = stage.finder()): FoundPause | undefined {
  const [, found] = finder.withPause({ kind: 'pod-started', pod });
  return found?.kind === 'pauses-found' ? found.pauses[0] : undefined;
}

describe('a cgroup is that of a pause container, which may be moved, or stays', () => {
  const more = /more than a pause process/;
  test.each`
    name                                                     | threads                                                               | stays
    ${'one process of one thread'}                           | ${['7/7 pause']}                                                      | ${undefined}
    ${'runc, about to become the pause process'}             | ${['7/7 runc:[2:INIT]', '8/7 runc:[2:INIT]']}                         | ${undefined}
    ${'a virtual machine of Kata'}                           | ${['7/7 qemu-system-x86', '8/7 CPU 0/KVM']}                           | ${more}
    ${'the one virtual CPU of a machine that is elsewhere'}  | ${['8/7 CPU 0/KVM']}                                                  | ${more}
    ${'the kernel of gVisor'}                                | ${['7/7 exe', '8/7 exe', '9/7 exe']}                                  | ${more}
    ${'two processes'}                                       | ${['7/7 pause', '8/8 sh']}                                            | ${more}
    ${'a process that took the name of runc beside another'} | ${['7/7 runc:[2:INIT]', '8/8 runc:[2:INIT]']}                         | ${more}
    ${'a thread that took the name of runc'}                 | ${['7/7 qemu', '8/7 runc:[2:INIT]']}                                  | ${more}
    ${'more threads than anybody looks at'}                  | ${Array.from({ length: 70 }, (_, i) => `${i + 10}/10 runc:[2:INIT]`)} | ${more}
  `('$name', ({ threads, stays }: { threads: string[]; stays: RegExp | undefined }) => {
    expect(meet(stage.run('p', ...threads))?.staysBecause).toEqual(stays && expect.stringMatching(stays));
    expect(meet(stage.run('p', ...threads))).toBeDefined();
  });

  test('the processes of a cgroup below count', () => {
    const pod = stage.run('p', '7/7 pause');
    stage.write('/kubepods/podp/p/below/cgroup.threads', '9\n');
    stage.write('proc/9/status', 'Name:\tsh\nTgid:\t9\nCpus_allowed_list:\t0-7\n');
    expect(meet(pod)?.staysBecause).toMatch(more);
  });

  test('processes of another PID namespace are nothing that can be told apart', () => {
    const pod = stage.run('p', '7/7 pause');
    stage.write('/kubepods/podp/p/cgroup.threads', '0\n');
    expect(meet(pod)?.staysBecause).toMatch(/PID namespace/);
  });

  test('where cgroups are not written nothing is moved', () => {
    expect(meet(stage.run('p', '7/7 pause'), stage.finder({ writes: false }))?.staysBecause).toMatch(/cgroup-writes/);
  });

  test('a path that leads out of the cgroups is not followed', () => {
    const pod = { ...stage.run('p', '7/7 pause'), pause: { cgroupsPath: '/kubepods/../../p' } };
    expect(meet(pod)?.staysBecause).toMatch(/cannot be used/);
  });
});

test.each`
  name                                                        | prepare
  ${'no cgroup: the runtime has dropped the pause container'} | ${(pod: PodInfo) => ({ ...pod, pause: { cgroupsPath: '/kubepods/podp/other' } })}
  ${'no process in it'}                                       | ${(pod: PodInfo) => (stage.setThreads('p'), pod)}
  ${'a runtime that tells of none'}                           | ${({ pause: _none, ...pod }: PodInfo) => pod}
`('$name: there is none', ({ prepare }: { prepare: (pod: PodInfo) => PodInfo }) => {
  expect(meet(prepare(stage.run('p', '7/7 pause')))).toBeUndefined();
});

test('what may become a pause container is looked at again until it is one', async () => {
  const finder = stage.finder();
  const pod = stage.run('p', '7/7 crun', '8/7 crun');
  stage.node.run('make q/a 2');
  for (const event of finder.withPause({ kind: 'pod-started', pod })) stage.node.send(event);
  expect(stage.node.model.allContainers.get('sandbox-p')?.promise).toBeUndefined();
  stage.setThreads('p', '7/7 pause');
  await stage.toldOf(1);
  expect(stage.node.model.allContainers.get('sandbox-p')?.promise?.cpus.toString()).toBe('0');
});

test('of many pods some are looked at in each turn of the event loop', async () => {
  const pods = Array.from({ length: 100 }, (_, i) => stage.run(`p${i}`, `${i + 10}/${i + 10} pause`));
  stage.finder().follow({ kind: 'synchronize', pods, containers: [] });
  expect(stage.told).toEqual([]);
  const found = await stage.toldOf(100);
  expect(new Set(found.map(({ sandboxId }) => sandboxId)).size).toBe(100);
  expect(Math.max(...stage.told.map((turn) => turn.length))).toBeLessThanOrEqual(32);
});

test('a pod that was stopped meanwhile is not looked at', async () => {
  const pods = ['p', 'q'].map((uid) => stage.run(uid, '7/7 pause'));
  stage.finder().follow({ kind: 'synchronize', pods, containers: [] });
  stage.node.run('stop p');
  expect((await stage.toldOf(1)).map(({ sandboxId }) => sandboxId)).toEqual(['sandbox-q']);
});

describe('where events do not tell of pause containers, the runtime is asked', () => {
  const path = (id: string): PauseInfo => ({ cgroupsPath: id.replace(/^sandbox-(.*)$/, '/kubepods/pod$1/$1') });
  const start = (uid: string): PodInfo => {
    const { pause: _none, ...pod } = stage.run(uid, '7/7 pause');
    return pod;
  };

  test('about a few at a time', async () => {
    let [asking, most] = [0, 0];
    const ask = async (id: string): Promise<PauseInfo> => {
      most = Math.max(most, ++asking);
      await new Promise(setImmediate);
      asking--;
      return path(id);
    };
    const pods = Array.from({ length: 20 }, (_, i) => start(`p${i}`));
    stage.finder({ ask }).follow({ kind: 'synchronize', pods, containers: [] });
    await stage.toldOf(20);
    expect(most).toBe(4);
  });

  test('again when it could not answer', async () => {
    const failures = [new Error('away'), new Error('away')];
    const ask = (id: string): Promise<PauseInfo> => {
      const failure = failures.pop();
      return failure ? Promise.reject(failure) : Promise.resolve(path(id));
    };
    stage.finder({ ask }).follow({ kind: 'pod-started', pod: start('p') });
    expect(await stage.toldOf(1)).toMatchObject([{ sandboxId: 'sandbox-p', cgroupsPath: '/kubepods/podp/p' }]);
  });
});

test('nothing is looked at after the end of the daemon', async () => {
  const ended = new AbortController();
  const finder = stage.finder({ signal: ended.signal });
  const [p, q, r] = ['p', 'q', 'r'].map((uid) => stage.run(uid, '7/7 pause'));
  finder.follow({ kind: 'synchronize', pods: [p!], containers: [] });
  ended.abort();
  finder.follow({ kind: 'synchronize', pods: [q!], containers: [] });
  stage.finder().follow({ kind: 'synchronize', pods: [r!], containers: [] }); // whose turn comes after theirs
  expect((await stage.toldOf(1)).map(({ sandboxId }) => sandboxId)).toEqual(['sandbox-r']);
});
