import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { MachineWatch } from '../../../src/app/node/machine-watch';
import { Transactor } from '../../../src/app/transaction/transactor';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { Assignment } from '../../../src/core/model/assignment';
import type { PodInfo } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import { readTopology, type CgroupPlace, type Cgroups } from '../../../src/host';
import { podOf } from '../../core/transition/node-driver';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';
import { contextOf } from '../../support/daemon-context';

/** Eight CPUs, two threads a core. CPUs 2-3 belong to one container; the reserved CPUs were chosen by count. */
function withMachine(body: (node: ReturnType<typeof build>) => void, writes = true): void {
  withSysfs(loadMachine('1x4x2'), (sysfsRoot) => body(build(sysfsRoot, writes)));
}

function build(sysfsRoot: string, writes: boolean) {
  const model = new NodeModel(readTopology({ sysfsRoot }), {
    cpuManagerPolicy: 'static',
    options: NO_OPTIONS,
    reserved: parseCpuList('0-1'),
    minSharedCpus: 1,
    onInsufficientCpu: 'refuse',
    liftCpuQuota: false,
  });
  const rules = { policy: 'static', options: [], reserved: parseCpuList('0-1') } as const;
  const assignment: Assignment = {
    podUid: 'uid', podNamespace: 'ns', podName: 'pod', containerName: 'db', kind: 'static', cpus: parseCpuList('2-3'), mems: CpuSet.empty,
    requested: 2, containerId: 'db', quotaLifted: false, rules, because: 'test', since: '',
  }; // prettier-ignore
  model.apply({ kind: 'put-assignment', assignment });
  const common = {
    sandboxId: 's',
    podUid: 'uid',
    phase: 'running',
    resources: {},
    freshAssignment: false,
    because: 'test',
  } as const;
  const [own, pool] = [parseCpuList('2-3'), parseCpuList('0-1,4-7')].map((cpus) => ({ cpus, mems: CpuSet.empty }));
  model.apply({
    kind: 'put-container',
    container: {
      ...common,
      id: 'db',
      name: 'db',
      cgroupsPath: '/p/db',
      placement: 'exclusive',
      entitledCpus: 2,
      promise: own!,
      applied: own!,
    },
  });
  model.apply({
    kind: 'put-container',
    container: {
      ...common,
      id: 'web',
      name: 'web',
      cgroupsPath: '/p/web',
      placement: 'shared',
      entitledCpus: 0,
      promise: pool!,
      applied: pool!,
    },
  });
  const done: string[] = [];
  const log: string[] = [];
  const logger = pino(
    { base: null, timestamp: false },
    { write: (line) => void log.push((JSON.parse(line) as { msg: string }).msg) },
  );
  const has = { cgroup: '/kubepods', cpus: model.topology.online };
  const cgroups = {
    version: 1,
    readBound: () => ({ kind: 'found', ...has }),
    // The kernel takes CPUs that go offline, and gives none back.
    readCpus: (dir: string) => ({
      kind: dir.startsWith('/kubepods.slice') ? 'gone' : 'found',
      cpus: parseCpuList('0-7'),
    }),
    readActive: () => parseCpuList('0-7'),
    widen: ({ top }: { top: string }, cpus: CpuSet) => (
      done.push(`widen ${top} ${cpus.toString()}`),
      { kind: 'ok', changed: true }
    ),
    reclaimTasks: ({ path }: CgroupPlace) => (done.push(`reclaim ${path}`), { kind: 'ok', changed: false }),
  } as unknown as Cgroups;
  const transactor = new Transactor({
    model,
    save: () => undefined,
    mover: { move: ({ containerId, to }) => void done.push(`move ${containerId} ${to.cpus.toString()}`) },
    now: () => '',
    log: logger,
    observer: { onTransaction: ({ reported }) => void log.push(...reported.map(({ kind }) => kind)) },
  });
  const context = contextOf({ model, cgroups, writes, config: { sysfsRoot }, log: logger });
  const watch = new MachineWatch({ context, transactor });
  const online = (list: string) => writeFileSync(join(sysfsRoot, 'devices/system/cpu/online'), list);
  const check = (): string[] => {
    done.length = 0;
    watch.check();
    return [...done];
  };
  const widenPod = (pod: PodInfo) => context.cgroups.widenPod(pod);
  return { model, check, online, log, sysfsRoot, widenPod };
}

test('given unchanged online CPUs, a check does nothing', () => {
  withMachine(({ check }) => expect([check(), check()]).toEqual([[], []]));
});

test('a shared CPU goes offline and comes back: shared containers leave it and get it back', () => {
  withMachine(({ model, check, online }) => {
    online('0-6');
    expect(check()).toEqual(['move web 0-1,4-6', 'reclaim /p/db', 'reclaim /p/web']);
    expect(model.sharedPool.toString()).toBe('0-1,4-6');
    online('0-7');
    expect(check()).toEqual(['widen /kubepods 7', 'move web 0-1,4-7', 'reclaim /p/db', 'reclaim /p/web']);
  });
});

test('huge pages that are set aside later count when CPUs change, and not before', () => {
  withMachine(({ model, check, online, sysfsRoot }) => {
    const hugePages = () => model.topology.memoryNodes.map((node) => node.hugePages);
    const directory = join(sysfsRoot, 'devices/system/node/node0/hugepages/hugepages-2048kB');
    mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, 'nr_hugepages'), '64');
    expect([check(), hugePages()]).toEqual([[], [undefined]]);
    online('0-6');
    check();
    expect(hugePages()).toEqual([{ 'hugepages-2Mi': 64 * 2 ** 21 }]);
  });
});

test('a check after a change reads again: the topology is corrected', () => {
  withMachine(({ model, check, online, log, sysfsRoot }) => {
    online('0-6');
    check();
    online('0-7');
    const setSockets = (socketOf: (cpu: number) => string): void => {
      for (let cpu = 0; cpu < 8; cpu++)
        writeFileSync(join(sysfsRoot, `devices/system/cpu/cpu${cpu}/topology/package_cpus_list`), socketOf(cpu));
    };
    setSockets((cpu) => (cpu < 7 ? '0-6' : '7'));
    check();
    expect(model.topology.sockets).toHaveLength(2);
    setSockets(() => '0-7');
    expect(check()).toEqual(['reclaim /p/db', 'reclaim /p/web']);
    expect(model.topology.sockets).toHaveLength(1);
    expect(check()).toEqual([]);
    expect(log.filter((line) => line === 'online-cpus-changed')).toHaveLength(2);
  });
});

test('a CPU comes back: the cgroups of all pods get it once, wherever the kubelet keeps them', () => {
  withMachine(({ check, online, widenPod }) => {
    const uid = '8f3c1a52-0f7e-4d0e-9b0e-1c2d3e4f5a6b';
    widenPod({ ...podOf('new'), uid, cgroupParent: `/x/kubepods/pod${uid}` });
    online('0-6');
    check();
    online('0-7');
    expect(check().filter((each) => each.startsWith('widen'))).toEqual(['widen /kubepods 7', 'widen /x/kubepods 7']);
    expect(check().filter((each) => each.startsWith('widen'))).toEqual([]);
  });
});

test('one CPU of a pinned container goes offline: the container keeps the rest, and gets the CPU back later', () => {
  withMachine(({ model, check, online }) => {
    online('0-2,4-7');
    expect(check()).toContain('move db 2');
    expect(model.sharedPool.toString()).toBe('0-1,4-7');
    expect(model.free.toString()).toBe('4-7');
    online('0-7');
    expect(check()).toContain('move db 2-3');
  });
});

test('all CPUs of a pinned container go offline: it runs in the shared pool until one is back', () => {
  withMachine(({ check, online }) => {
    online('0-1,4-7');
    expect(check()).toContain('move db 0-1,4-7');
    online('0-1,3-7');
    expect(check()).toContain('move db 3');
  });
});

test('a reserved CPU goes offline: no other CPU is reserved in its place', () => {
  withMachine(({ model, check, online }) => {
    online('0,2-7');
    check();
    expect(model.settings.reserved.toString()).toBe('0-1');
    expect(model.free.toString()).toBe('4-7');
    online('0-7');
    check();
    expect(model.free.toString()).toBe('4-7');
  });
});

test('a list of online CPUs that can’t be read: the check throws, and nothing changes', () => {
  withMachine(({ model, check, online }) => {
    online('nonsense');
    for (let i = 0; i < 2; i++) expect(check).toThrow(/online.*nonsense/);
    expect(model.topology.online.toString()).toBe('0-7');
    online('0-6');
    expect(check()).toContain('move web 0-1,4-6');
  });
});

test('given cgroup writes off, no cgroup is widened, and shared containers are moved all the same', () => {
  withMachine(({ check, online }) => {
    online('0-6');
    expect(check()).toEqual(['move web 0-1,4-6']);
    online('0-7');
    expect(check()).toEqual(['move web 0-1,4-7']);
  }, false);
});

test('a container without a cgroup is skipped', () => {
  withMachine(({ model, check, online }) => {
    const web = model.containers.get('web')!;
    model.apply({ kind: 'put-container', container: { ...web, phase: 'creating' } });
    online('0-6');
    expect(check()).toEqual(['reclaim /p/db']);
  });
});
