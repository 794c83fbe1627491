import { countPods, type CountMode } from '../../../src/app/apiserver/counted-pods';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { countNodeResources } from '../../../src/core/node-resources/node-resources';
import { loadPodFingerprint } from '../../../src/kube/node-resource-topology/pod-fingerprint';
import type { WatchedPod } from '../../../src/kube';
import { NodeDriver, type Rules } from '../../core/transition/node-driver';
import { leastCpuMsOf } from '../../support/cpu-time';
import { loadFingerprintOfPlugin, type ApiPod, type InformerMode } from '../../support/kube/fingerprint-of-plugin';
import { createRandom, type Random } from '../../support/random';
import { specOf } from '../../support/spec-of';

const watched = (phase: string, spec: PodSpec): WatchedPod => ({
  phase,
  spec: { ...spec, finished: phase === 'Succeeded' || phase === 'Failed' },
});

describe('which pods count', () => {
  const node = new NodeDriver();
  test.each<[string, boolean, boolean]>([
    ['Pending', false, false],
    ['Running', true, true],
    ['Succeeded', true, false],
    ['Failed', true, false],
    ['Unknown', true, false],
  ])('%s: dedicated %s, shared %s', (phase, dedicated, shared) => {
    const pod = watched(phase, specOf('p', 'a 0.5'));
    const counts = (mode: CountMode): boolean => countPods(mode, [pod], node.model).counted.length === 1;
    expect([counts('dedicated'), counts('shared')]).toEqual([dedicated, shared]);
  });

  test.each<[CountMode, InformerMode]>([
    ['dedicated', 'Dedicated'],
    ['shared', 'Shared'],
  ])('%s makes the fingerprint that the plugin makes in the mode %s', async (mode, informerMode) => {
    const [fingerprintOf, ofPlugin] = await Promise.all([loadPodFingerprint(), loadFingerprintOfPlugin()]);
    const pods = ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'].map((phase) =>
      watched(phase, specOf(phase.toLowerCase(), 'a 0.5')),
    );
    const api = pods.map(({ phase, spec: { namespace, name } }) => ({ namespace, name, phase, nodeName: 'n1' }));
    const elsewhere = { namespace: 'ns', name: 'other', phase: 'Running', nodeName: 'n2' };
    const { counted } = countPods(mode, pods, node.model);
    expect(fingerprintOf(counted)).toBe(ofPlugin(informerMode, [...api, elsewhere], 'n1'));
  });
});

interface Situation {
  readonly phase?: string;
  readonly spec?: PodSpec;
  readonly rules?: Rules;
  /** Told by the runtime; the words are those of NodeDriver. */
  readonly history?: string;
}

const DB = specOf('p', 'db 2');

describe('a pod waits for its CPUs', () => {
  test.each<[string, boolean, Situation]>([
    ['bound, nothing of it is in the runtime', true, {}],
    ['bound, its sandbox is there, its image is on the way', true, { history: 'pod p' }],
    ['its container is created and has CPUs', false, { history: 'pod p; create p/db 2' }],
    ['its container runs', false, { history: 'pod p; make p/db 2' }],
    ['its container was refused', true, { history: 'pod x; make x/big 6; pod p; ask p/db 2' }],
    [
      'its container shares, since it did not fit',
      false,
      { history: 'pod x; make x/big 6; pod p; make p/db 2', rules: { onInsufficientCpu: 'share' } },
    ],
    [
      'its container ended and is started again: the CPUs stay with the pod',
      false,
      { phase: 'Running', history: 'pod p; make p/db 2; end p/db' },
    ],
    ['it runs, as the API server says, and the runtime has not told of it', true, { phase: 'Running' }],
    [
      'its sandbox is gone, and another one will come',
      true,
      { phase: 'Running', history: 'pod p; make p/db 2; end p/db; forget p/db; stop p; remove p' },
    ],
    ['it has succeeded', false, { phase: 'Succeeded' }],
    ['it has failed', false, { phase: 'Failed' }],
    ['its state is unknown', true, { phase: 'Unknown' }],
    ['it asks for a fraction', false, { spec: specOf('p', 'web 0.5') }],
    ['it asks for nothing', false, { spec: specOf('p', 'web 0') }],
    ['it is Burstable', false, { spec: specOf('p', 'db 2', { qos: 'Burstable' }) }],
    ['it has resources as a whole', false, { spec: specOf('p', 'db 2', { podResources: { requestMilliCpu: 2000 } }) }],
    ['one of two has its CPUs', true, { spec: specOf('p', 'a 1, b 1'), history: 'pod p; make p/a 1' }],
    ['both have', false, { spec: specOf('p', 'a 1, b 1'), history: 'pod p; make p/a 1; make p/b 1' }],
    ['the other one only shares', false, { spec: specOf('p', 'a 1, log 0'), history: 'pod p; make p/a 1' }],
    ['its init container is not created yet', true, { spec: specOf('p', 'setup init 2, web 0') }],
    [
      'its init container has the CPUs that the others will take over',
      false,
      { spec: specOf('p', 'setup init 2, db 2'), history: 'pod p; make p/setup 2' },
    ],
    [
      'its init container has fewer than the others need',
      true,
      { spec: specOf('p', 'setup init 1, db 2'), history: 'pod p; make p/setup 1' },
    ],
    [
      'it asks for more than it got before it ended',
      true,
      { phase: 'Running', spec: specOf('p', 'db 4'), history: 'pod p; make p/db 2; end p/db' },
    ],
    ['its init container has ended', false, { spec: specOf('p', 'setup init 2!, web 0') }],
    [
      'it runs, so its init containers have ended',
      false,
      { phase: 'Running', spec: specOf('p', 'setup init 2, web 0') },
    ],
    ['its sidecar is not created yet', true, { phase: 'Running', spec: specOf('p', 'proxy sidecar 1, web 0') }],
    ['a container that ended for good', false, { phase: 'Running', spec: specOf('p', 'job 2!, web 0') }],
    ['nobody is pinned here', false, { rules: { cpuManagerPolicy: 'none' } }],
    [
      'it chose to share',
      false,
      { spec: { ...DB, annotations: { 'cpusetd.io/policy': 'none' } }, rules: { podPolicies: ['none'] } },
    ],
    ['it chose to share, and may not', true, { spec: { ...DB, annotations: { 'cpusetd.io/policy': 'none' } } }],
    [
      'it follows NUMA nodes, which takes no CPUs',
      false,
      { spec: { ...DB, annotations: { 'topology.crane.io/cpu-policy': 'numa' } }, rules: { podPolicies: ['numa'] } },
    ],
    [
      'it is Burstable and chose exclusive CPUs',
      true,
      {
        spec: specOf('p', 'db 2', { qos: 'Burstable', annotations: { 'topology.crane.io/cpu-policy': 'exclusive' } }),
        rules: { podPolicies: ['exclusive'] },
      },
    ],
    [
      'a mirror of a static pod, which the runtime knows by the kubelet’s uid',
      false,
      {
        phase: 'Running',
        spec: {
          ...DB,
          uid: 'mirror',
          annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.hash': 'p' },
        },
        history: 'pod p; make p/db 2',
      },
    ],
    [
      'it names another pod’s uid as its own',
      true,
      {
        spec: {
          ...DB,
          uid: 'q',
          name: 'q',
          annotations: { 'kubernetes.io/config.mirror': 'x', 'kubernetes.io/config.hash': 'p' },
        },
        history: 'pod p; make p/db 2',
      },
    ],
  ])('%s: %s', (_name, waits, { phase = 'Pending', spec = DB, rules, history = '' }) => {
    const node = new NodeDriver(undefined, rules).run(history);
    for (const mode of ['dedicated', 'shared'] as const)
      expect(countPods(mode, [watched(phase, spec)], node.model).undecided?.uid).toBe(waits ? spec.uid : undefined);
  });

  test('other rules are other entitlements', () => {
    const node = new NodeDriver();
    const pods = [watched('Pending', DB)];
    expect(countPods('dedicated', pods, node.model).undecided).toBeDefined();
    node.setRules({ cpuManagerPolicy: 'none' });
    expect(countPods('dedicated', pods, node.model).undecided).toBeUndefined();
  });
});

/** All CPUs of the machine that can be given out to a container alone: CPU 0 is reserved. */
const ALL = 7;

interface SimulatedPod extends ApiPod {
  readonly spec: PodSpec;
  readonly demand: number;
  /** Containers that the runtime has made, in their order. */
  made: number;
}

/**
 * Pods come, run, end and go; the API server has it at once, the daemon and the scheduler hear of it in their own time. The
 * object is published at any time, and the scheduler looks at it at any time after that.
 */
class History {
  readonly node = new NodeDriver();
  readonly pods = new Map<string, SimulatedPod>();
  readonly daemon = new Map<string, SimulatedPod>();
  readonly plugin = new Map<string, SimulatedPod>();
  published: { fingerprint: string | undefined; available: number; knew: ReadonlySet<string> } | undefined;
  private readonly news: Record<'daemon' | 'plugin', (() => void)[]> = { daemon: [], plugin: [] };
  private uids = 0;

  constructor(
    private readonly random: Random,
    private readonly mode: CountMode,
    private readonly fingerprintOf: (pods: readonly PodSpec[]) => string,
  ) {
    this.node.send({ kind: 'synchronize', pods: [], containers: [] });
  }

  step(): void {
    const { random } = this;
    const pod = this.pods.size > 0 ? random.pick([...this.pods.values()]) : undefined;
    const what = random.int(0, 11);
    if (what <= 1 && this.pods.size < 6) this.bind();
    else if (what <= 4 && pod) this.makeNext(pod);
    else if (what === 5 && pod?.phase === 'Running') this.finish(pod);
    else if (what === 6 && pod && random.chance(0.5)) this.remove(pod);
    else if (what <= 8) this.news.daemon.shift()?.();
    else if (what <= 10) this.news.plugin.shift()?.();
    else this.publish();
  }

  private bind(): void {
    const uid = `p${++this.uids}`;
    const sizes = Array.from({ length: this.random.int(1, 3) }, () => this.random.pick([0, 0.5, 1, 2]));
    const spec = specOf(uid, sizes.map((size, i) => `c${i} ${size}`).join(', '));
    const demand = sizes.filter(Number.isInteger).reduce((sum, size) => sum + size, 0);
    this.tell({ namespace: 'ns', name: uid, nodeName: 'n1', phase: 'Pending', spec, demand, made: 0 });
  }

  private makeNext(pod: SimulatedPod): void {
    const next = pod.spec.containers[pod.made];
    if (!next || pod.phase !== 'Pending') return;
    if (pod.made === 0 && this.node.model.podsOf(pod.name).length === 0) this.node.run(`pod ${pod.name}`);
    this.node.run(`make ${pod.name}/${next.name} ${(next.requestMilliCpu ?? 0) / 1000}`);
    if (this.node.answer?.kind === 'refuse') return;
    pod.made++;
    if (pod.made === pod.spec.containers.length) this.tell({ ...pod, phase: 'Running' });
  }

  private finish(pod: SimulatedPod): void {
    this.tearDown(pod);
    const phase = this.random.pick(['Succeeded', 'Failed']);
    this.tell({ ...pod, phase, spec: { ...pod.spec, finished: true } });
  }

  private remove(pod: SimulatedPod): void {
    this.tearDown(pod);
    this.pods.delete(pod.name);
    this.news.daemon.push(() => {
      this.daemon.delete(pod.name);
      this.node.send({ kind: 'pod-spec-gone', uid: pod.name });
    });
    this.news.plugin.push(() => this.plugin.delete(pod.name));
  }

  private tearDown({ name, spec, made }: SimulatedPod): void {
    if (this.node.model.podsOf(name).length === 0) return;
    const ended = spec.containers.slice(0, made).map((container) => `end ${name}/${container.name}`);
    this.node.run([...ended, `stop ${name}`, `remove ${name}`].join(';'));
  }

  private tell(pod: SimulatedPod): void {
    this.pods.set(pod.name, pod);
    this.news.daemon.push(() => {
      this.daemon.set(pod.name, pod);
      this.node.send({ kind: 'pod-spec', spec: pod.spec });
    });
    this.news.plugin.push(() => this.plugin.set(pod.name, pod));
  }

  private publish(): void {
    const known = [...this.daemon.values()].map(({ phase, spec }) => ({ phase, spec }));
    const { counted, undecided } = countPods(this.mode, known, this.node.model);
    this.published = {
      fingerprint: undecided ? undefined : this.fingerprintOf(counted),
      available: countNodeResources(this.node.model).zones[0]!.cpu.available,
      knew: new Set(this.daemon.keys()),
    };
  }
}

test.each<[CountMode, InformerMode]>([
  ['dedicated', 'Dedicated'],
  ['shared', 'Shared'],
])(
  '%s: in every history, when fingerprints match no CPU is offered that a pod will take',
  async (mode, informerMode) => {
    const [fingerprintOf, ofPlugin] = await Promise.all([loadPodFingerprint(), loadFingerprintOfPlugin()]);
    let [matches, full] = [0, 0];
    for (let seed = 1; seed <= 100; seed++) {
      const history = new History(createRandom(seed), mode, fingerprintOf);
      for (let i = 0; i < 120; i++) {
        history.step();
        const { published, plugin, pods } = history;
        const theirs = ofPlugin(informerMode, [...plugin.values()], 'n1');
        if (published === undefined || theirs === undefined || theirs !== published.fingerprint) continue;
        matches++;
        // Of the pods that the daemon had heard of, those that still have CPUs or will get some.
        const live = [...pods.values()].filter(
          ({ name, phase }) => published.knew.has(name) && /Pending|Running/.test(phase),
        );
        const left = ALL - live.reduce((sum, { demand }) => sum + demand, 0);
        if (published.available === 0) full++;
        expect([seed, i, published.available <= Math.max(0, left)]).toEqual([seed, i, true]);
      }
    }
    expect(matches).toBeGreaterThan(300);
    expect(full).toBeGreaterThan(20);
  },
);

test.each<[string, string, number]>([
  ['33,000 containers that share', '0.5', 110],
  ['one pod of 3,000 that are entitled, before others', '1', 11],
])('counting costs one turn of the event loop little: %s', (_name, size, pods) => {
  const node = new NodeDriver();
  const containers = Array.from({ length: 33_000 / pods }, (_, i) => `c${i} ${size}`).join(', ');
  const told = () => Array.from({ length: pods }, (_, i) => watched('Pending', specOf(`p${i}`, containers)));
  expect(leastCpuMsOf(told, (all) => countPods('dedicated', all, node.model))).toBeLessThan(20);
});
