import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { MachineWatch } from '../../../src/app/node/machine-watch';
import { Transactor } from '../../../src/app/transaction/transactor';
import { parseCpuList } from '../../../src/core/cpuset';
import type { PodInfo } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import { barredCpus } from '../../../src/core/topology';
import type { DomainEvent } from '../../../src/core/transition';
import { openCgroups, readTopology, SysfsError } from '../../../src/host';
import { podOf, settingsWith } from '../../core/transition/node-driver';
import { createRandom } from '../../support/random';
import { contextOf } from '../../support/daemon-context';
import { loadMachine, withSysfs } from '../../support/sysfs-tree';

// Plain folders stand for the cgroups of the node: a machine of 8 CPUs, of which CPU 0 is reserved.

let root: string;
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'bound-'))));
afterEach(() => rmSync(root, { recursive: true }));

interface Node {
  readonly model: NodeModel;
  readonly watch: MachineWatch;
  readonly reported: DomainEvent[];
  /** Changes the effective CPUs of a cgroup. */
  readonly set: (cgroup: string, cpus: string) => void;
  readonly online: (cpus: string) => void;
  readonly alarms: () => string[];
  readonly context: ReturnType<typeof contextOf>;
  clockMs: number;
}

function withNode(
  {
    version = 2,
    tree,
    reserved = '0',
    pods = [],
  }: { version?: 1 | 2; tree: Readonly<Record<string, string>>; reserved?: string; pods?: readonly PodInfo[] },
  body: (node: Node) => void,
): void {
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  };
  const set = (cgroup: string, cpus: string): void => {
    if (version === 2) write(`${cgroup}/cpuset.cpus.effective`, cpus);
    else for (const name of ['cpus', 'effective_cpus']) write(`cpuset${cgroup}/cpuset.${name}`, cpus);
  };
  if (version === 2) write('cgroup.controllers', 'cpuset cpu');
  else write('cpuset/tasks', '');
  for (const [cgroup, cpus] of Object.entries(tree)) set(cgroup, cpus);
  withSysfs(loadMachine('1x4x2'), (sysfsRoot) => {
    const model = new NodeModel(readTopology({ sysfsRoot }), settingsWith({ reserved }));
    for (const pod of pods) model.apply({ kind: 'put-pod', pod: { ...pod, stopped: false } });
    const context = contextOf({ model, cgroups: openCgroups({ cgroupRoot: root }), config: { sysfsRoot } });
    const reported: DomainEvent[] = [];
    const transactor = new Transactor({
      model,
      save: () => undefined,
      mover: { move: () => undefined },
      now: () => '',
      log: context.log,
      observer: { onTransaction: (done) => void reported.push(...done.reported) },
    });
    const node = { clockMs: 0 };
    const watch = new MachineWatch({ context, transactor, nowMs: () => node.clockMs });
    const online = (cpus: string): void => writeFileSync(join(sysfsRoot, 'devices/system/cpu/online'), cpus);
    const alarms = (): string[] => context.alarms.list().map(({ kind, because }) => `${kind}: ${because}`);
    body(Object.assign(node, { model, watch, reported, set, online, alarms, context }));
  });
}

const settle = ({ watch }: Node): void => {
  for (let i = 0; i < 5 && watch.check(); i++);
  watch.check();
};
const usable = ({ model }: Node): string => model.topology.online.toString();
const kinds = ({ reported }: Node): string[] => reported.map(({ kind }) => kind);

test('nothing is narrower: no alarm, and nothing changes', () => {
  withNode({ tree: { '/': '0-7', '/kubepods.slice': '0-7' } }, (node) => {
    expect(node.watch.check()).toBe(false);
    expect([usable(node), ...node.alarms(), ...kinds(node)]).toEqual(['0-7']);
  });
});

test('AllowedCPUs= of the slice of the pods: it bounds the node, an alarm says the difference, and both go with it', () => {
  withNode({ tree: { '/': '0-7', '/kubepods.slice': '0-7' } }, (node) => {
    node.set('/kubepods.slice', '0-3');
    expect(node.watch.check()).toBe(true);
    expect([usable(node), barredCpus(node.model.topology).toString(), node.model.sharedPool.toString()]).toEqual([
      '0-3',
      '4-7',
      '0-3',
    ]);
    expect(node.reported).toMatchObject([
      { kind: 'cpu-bound-changed', because: 'CPUs 4-7 are online, but the cgroup /kubepods.slice has 0-3 only' },
    ]);
    settle(node);
    expect(node.alarms()).toEqual([
      'cpus-barred: CPUs 4-7 are online, but the cgroup /kubepods.slice has 0-3 only: nothing is given out of them',
    ]);
    node.set('/kubepods.slice', '0-5');
    settle(node);
    expect(node.alarms()).toEqual([expect.stringMatching(/^cpus-barred: CPUs 6-7 are online.* has 0-5 only/)]);
    node.set('/kubepods.slice', '0-7');
    settle(node);
    expect([usable(node), ...node.alarms()]).toEqual(['0-7']);
    expect(kinds(node)).toEqual(Array(3).fill('cpu-bound-changed'));
  });
});

test('a CPU that goes offline leaves the cgroups before the list of the kernel: no alarm', () => {
  withNode({ tree: { '/': '0-7' } }, (node) => {
    node.set('/', '0-6');
    node.watch.check();
    expect([usable(node), ...node.alarms()]).toEqual(['0-6']);
    node.online('0-6');
    node.watch.check();
    settle(node);
    expect([usable(node), ...node.alarms()]).toEqual(['0-6']);
    node.online('0-7');
    node.watch.check();
    expect(usable(node)).toBe('0-6');
    node.set('/', '0-7');
    settle(node);
    expect([usable(node), ...node.alarms()]).toEqual(['0-7']);
  });
});

test('pods that are kept off reserved CPUs: no alarm', () => {
  withNode({ tree: { '/': '0-7', '/kubepods.slice': '1-7' } }, (node) => {
    settle(node);
    expect([usable(node), node.model.free.toString(), ...node.alarms()]).toEqual(['1-7', '1-7']);
  });
});

test('the root of the pods is known from a pod: another one does not bound the node', () => {
  const tree = { '/': '0-7', '/kubepods': '0-1', '/system': '0-7', '/system/kubepods': '0-5' };
  const pod = { ...podOf('p'), cgroupParent: '/system/kubepods/podp' };
  withNode({ tree }, (node) => {
    settle(node);
    expect(usable(node)).toBe('0-1');
    node.watch.meet([{ kind: 'pod-started', pod: { ...podOf('x'), cgroupParent: '/foreign' } }]);
    expect(usable(node)).toBe('0-1');
    node.watch.meet([{ kind: 'pod-started', pod }]);
    expect(usable(node)).toBe('0-5');
    node.model.apply({ kind: 'put-pod', pod: { ...pod, stopped: false } });
    settle(node);
    expect(usable(node)).toBe('0-5');
  });
});

test('a list that can’t be read any more: the last one counts, and is an alarm when that lasts', () => {
  withNode({ tree: { '/': '0-7', '/kubepods.slice': '0-3' } }, (node) => {
    settle(node);
    node.set('/kubepods.slice', 'nonsense');
    settle(node);
    expect(usable(node)).toBe('0-3');
    expect(node.alarms()).toHaveLength(1);
    node.clockMs += 9_999;
    settle(node);
    expect(node.alarms()).toHaveLength(1);
    node.clockMs += 1;
    settle(node);
    expect(node.alarms()).toContainEqual(
      expect.stringMatching(/^cpu-bound-unread: .* what was read last is in force: .*read "nonsense"/),
    );
    node.set('/kubepods.slice', '0-4');
    settle(node);
    expect(usable(node)).toBe('0-4');
    expect(node.alarms()).toEqual([expect.stringMatching(/^cpus-barred: CPUs 5-7/)]);
  });
});

test('of two roots of pods one can’t be read: what the other one has bounds the node all the same', () => {
  const pods = ['a', 'b'].map((name) => ({ ...podOf(name), cgroupParent: `/${name}/kubepods/pod${name}` }));
  withNode({ tree: { '/': '0-7', '/a/kubepods': '0-6', '/b/kubepods': '0-7' }, pods }, (node) => {
    settle(node);
    expect(usable(node)).toBe('0-6');
    node.set('/a/kubepods', 'rubbish');
    node.set('/b/kubepods', '0-3');
    settle(node);
    node.clockMs += 11_000;
    settle(node);
    expect(usable(node)).toBe('0-3');
    expect(node.alarms()).toEqual([
      expect.stringMatching(/^cpus-barred: CPUs 4-7 are online, but the cgroup \/b\/kubepods has 0-3 only/),
      expect.stringMatching(/^cpu-bound-unread: .*what was read last is in force: .*a\/kubepods/),
    ]);
    node.set('/a/kubepods', '0-7');
    node.set('/b/kubepods', '0-7');
    settle(node);
    expect([usable(node), ...node.alarms()]).toEqual(['0-7']);
  });
});

test('two roots of pods without a CPU in common: an alarm, and the first counts', () => {
  const pods = ['a', 'b'].map((name) => ({ ...podOf(name), cgroupParent: `/${name}/kubepods/pod${name}` }));
  withNode({ tree: { '/': '0-7', '/a/kubepods': '0-3', '/b/kubepods': '4-7' }, pods }, (node) => {
    node.clockMs += 10_000;
    settle(node);
    expect(usable(node)).toBe('0-3');
    expect(node.alarms()).toContainEqual(
      expect.stringMatching(
        /^cpu-bound-unread: .*the cgroups \/a\/kubepods and \/b\/kubepods have no online CPU in common$/,
      ),
    );
  });
});

test('no list at all from the start: an alarm at once, and all online CPUs are usable', () => {
  withNode({ tree: {} }, (node) => {
    expect(node.alarms()).toEqual([
      expect.stringMatching(/^cpu-bound-unread: .* all online CPUs are taken for usable: .*ENOENT/),
    ]);
    expect(node.watch.check()).toBe(false);
    expect(usable(node)).toBe('0-7');
  });
});

test('a list without an online CPU is not believed', () => {
  withNode({ tree: { '/': '0-9', '/kubepods.slice': '0-3' } }, (node) => {
    settle(node);
    node.set('/kubepods.slice', '9');
    settle(node);
    node.clockMs += 10_000;
    settle(node);
    expect(usable(node)).toBe('0-3');
    expect(node.alarms()).toContainEqual(
      expect.stringMatching(/the cgroup \/kubepods.slice has CPUs 9 only, and none of them is online/),
    );
  });
});

test('version 1: a class of pods without a CPU bounds the node, and nothing is written to the cgroups of Kubernetes', () => {
  const tree = { '/': '0-7', '/kubepods': '0-7', '/kubepods/burstable': '0-6', '/kubepods/burstable/podp': '0-6' };
  const pod = { ...podOf('p'), cgroupParent: '/kubepods/burstable/podp' };
  withNode({ version: 1, tree, pods: [pod] }, (node) => {
    settle(node);
    expect([usable(node), node.model.free.toString()]).toEqual(['0-6', '1-6']);
    expect(node.alarms()).toEqual([
      expect.stringMatching(/CPU 7 is online, but the cgroup \/kubepods\/burstable has 0-6 only/),
    ]);
    for (const [cgroup, cpus] of Object.entries(tree))
      expect(readFileSync(join(root, `cpuset${cgroup}/cpuset.cpus`), 'utf8')).toBe(`${cpus}\n`);
  });
});

test.each([1, 2] as const)(
  'version %i: whatever happened before, the machine is followed when it can be read again',
  (version) => {
    const kubepods = version === 1 ? '/kubepods' : '/kubepods.slice';
    for (let seed = 1; seed <= 40; seed++) {
      const random = createRandom(seed);
      const list = (): string => random.pick(['0-7', '0-3', '4-7', '2', '0,7', '1-6', '9', '', 'nonsense']);
      withNode({ version, tree: { '/': '0-7', [kubepods]: '0-7' } }, (node) => {
        for (let step = 0; step < 12; step++) {
          const change = random.pick([
            () => node.online(random.pick(['0-7', '0-6', '0-3', '5', 'nonsense', ''])),
            () => node.set(random.pick(['/', kubepods, `${kubepods}/burstable`]), list()),
            () => rmSync(join(root, version === 1 ? 'cpuset' : '', kubepods), { recursive: true, force: true }),
          ]);
          change();
          node.clockMs += random.pick([0, 1_000, 20_000]);
          try {
            node.watch.check();
          } catch (error) {
            expect(error).toBeInstanceOf(SysfsError);
          }
          expect(node.model.sharedPool.isEmpty).toBe(false);
        }
        const [online, bound] = [random.pick(['0-7', '0-5']), random.pick(['0-7', '0-3', '2-6'])];
        node.online(online);
        node.set('/', online);
        rmSync(join(root, version === 1 ? 'cpuset' : '', kubepods), { recursive: true, force: true });
        node.set(kubepods, bound);
        settle(node);
        const want = parseCpuList(online).intersect(parseCpuList(bound));
        const barred = parseCpuList(online).minus(want).minus(parseCpuList('0'));
        expect([seed, usable(node), node.alarms().length]).toEqual([seed, want.toString(), barred.isEmpty ? 0 : 1]);
      });
    }
  },
);
