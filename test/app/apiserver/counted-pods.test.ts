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

describe('the phase decides if a pod counts', () => {
  const node = new NodeDriver();
  test.each<[string, boolean, boolean]>([
    ['Pending', false, false],
    ['Running', true, true],
    ['Succeeded', true, false],
    ['Failed', true, false],
    ['Unknown', true, false],
  ])('%s: counted in mode dedicated %s, in mode shared %s', (phase, dedicated, shared) => {
    const pod = watched(phase, specOf('p', 'a 0.5'));
    const counts = (mode: CountMode): boolean => countPods(mode, [pod], node.model).counted.length === 1;
    expect([counts('dedicated'), counts('shared')]).toEqual([dedicated, shared]);
  });

  test.each<[CountMode, InformerMode]>([
    ['dedicated', 'Dedicated'],
    ['shared', 'Shared'],
  ])('in mode %s the fingerprint equals that of the scheduler plugin in mode %s', async (mode, informerMode) => {
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
  /** Events of the runtime, in the words of NodeDriver. */
  readonly history?: string;
}

const DB = specOf('p', 'db 2');

describe('undecided: the pod still waits for its CPUs', () => {
  test.each<[string, boolean, Situation]>([
    ['bound, and unknown to the runtime', true, {}],
    ['bound, with a sandbox and no container', true, { history: 'pod p' }],
    ['a created container with CPUs', false, { history: 'pod p; create p/db 2' }],
    ['a running container', false, { history: 'pod p; make p/db 2' }],
    ['a refused container', true, { history: 'pod x; make x/big 6; pod p; ask p/db 2' }],
    [
      'a container that shares because it did not fit',
      false,
      { history: 'pod x; make x/big 6; pod p; make p/db 2', rules: { onInsufficientCpu: 'share' } },
    ],
    [
      'an ended container that will start again: the CPUs stay with the pod',
      false,
      { phase: 'Running', history: 'pod p; make p/db 2; end p/db' },
    ],
    ['running for the API server, unknown to the runtime', true, { phase: 'Running' }],
    [
      'a removed sandbox of a running pod',
      true,
      { phase: 'Running', history: 'pod p; make p/db 2; end p/db; forget p/db; stop p; remove p' },
    ],
    ['a pod that has succeeded', false, { phase: 'Succeeded' }],
    ['a pod that has failed', false, { phase: 'Failed' }],
    ['a pod in phase Unknown', true, { phase: 'Unknown' }],
    ['a request of half a CPU', false, { spec: specOf('p', 'web 0.5') }],
    ['no request', false, { spec: specOf('p', 'web 0') }],
    ['a Burstable pod', false, { spec: specOf('p', 'db 2', { qos: 'Burstable' }) }],
    [
      'a pod with pod-level resources',
      true,
      { spec: specOf('p', 'db 2', { podResources: { requestMilliCpu: 2000 } }) },
    ],
    [
      'one whose container has no limit of its own',
      false,
      { spec: specOf('p', 'db 2/-', { podResources: { requestMilliCpu: 2000 } }) },
    ],
    ['one of two containers with CPUs', true, { spec: specOf('p', 'a 1, b 1'), history: 'pod p; make p/a 1' }],
    ['both containers with CPUs', false, { spec: specOf('p', 'a 1, b 1'), history: 'pod p; make p/a 1; make p/b 1' }],
    [
      'a container with CPUs and one that shares',
      false,
      { spec: specOf('p', 'a 1, log 0'), history: 'pod p; make p/a 1' },
    ],
    ['an init container that is not created yet', true, { spec: specOf('p', 'setup init 2, web 0') }],
    [
      'an init container with the CPUs that the app container takes over',
      false,
      { spec: specOf('p', 'setup init 2, db 2'), history: 'pod p; make p/setup 2' },
    ],
    [
      'an init container with fewer CPUs than the app container needs',
      true,
      { spec: specOf('p', 'setup init 1, db 2'), history: 'pod p; make p/setup 1' },
    ],
    [
      'a request above the CPUs of the ended container',
      true,
      { phase: 'Running', spec: specOf('p', 'db 4'), history: 'pod p; make p/db 2; end p/db' },
    ],
    ['an init container that has ended', false, { spec: specOf('p', 'setup init 2!, web 0') }],
    [
      'a running pod, whose init containers have ended',
      false,
      { phase: 'Running', spec: specOf('p', 'setup init 2, web 0') },
    ],
    ['a sidecar that is not created yet', true, { phase: 'Running', spec: specOf('p', 'proxy sidecar 1, web 0') }],
    [
      'a container that ended and will not start again',
      false,
      { phase: 'Running', spec: specOf('p', 'job 2!, web 0') },
    ],
    ['the policy none', false, { rules: { cpuManagerPolicy: 'none' } }],
    [
      'a pod that chooses to share',
      false,
      { spec: { ...DB, annotations: { 'cpusetd.io/policy': 'none' } }, rules: { podPolicies: ['none'] } },
    ],
    [
      'a pod that chooses to share without permission',
      true,
      { spec: { ...DB, annotations: { 'cpusetd.io/policy': 'none' } } },
    ],
    [
      'a pod with the policy numa, which takes no CPUs',
      false,
      { spec: { ...DB, annotations: { 'topology.crane.io/cpu-policy': 'numa' } }, rules: { podPolicies: ['numa'] } },
    ],
    [
      'a Burstable pod that chooses exclusive CPUs',
      true,
      {
        spec: specOf('p', 'db 2', { qos: 'Burstable', annotations: { 'topology.crane.io/cpu-policy': 'exclusive' } }),
        rules: { podPolicies: ['exclusive'] },
      },
    ],
    [
      'a mirror pod, which the runtime knows by the hash of the kubelet',
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
      'a pod that names the uid of another pod as its mirror hash',
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

  test('the answer follows new rules', () => {
    const node = new NodeDriver();
    const pods = [watched('Pending', DB)];
    expect(countPods('dedicated', pods, node.model).undecided).toBeDefined();
    node.setRules({ cpuManagerPolicy: 'none' });
    expect(countPods('dedicated', pods, node.model).undecided).toBeUndefined();
  });
});

/** All CPUs that can be allocated exclusively: CPU 0 is reserved. */
const ALL = 7;

interface SimulatedPod extends ApiPod {
  readonly spec: PodSpec;
  readonly demand: number;
  /** The number of containers that the runtime has made. */
  made: number;
}

/**
 * Random pods come, run, end and go. The API server knows at once; the daemon and the scheduler hear of it later, each
 * at its own pace. The object is published at any time, and the scheduler reads it at any time after that.
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
    const choice = random.int(0, 11);
    if (choice <= 1 && this.pods.size < 6) this.bind();
    else if (choice <= 4 && pod) this.makeNext(pod);
    else if (choice === 5 && pod?.phase === 'Running') this.finish(pod);
    else if (choice === 6 && pod && random.chance(0.5)) this.remove(pod);
    else if (choice <= 8) this.news.daemon.shift()?.();
    else if (choice <= 10) this.news.plugin.shift()?.();
    else this.publish();
  }

  private bind(): void {
    const uid = `p${++this.uids}`;
    const sizes = Array.from({ length: this.random.int(1, 3) }, () => this.random.pick([0, 0.5, 1, 2]));
    const spec = specOf(uid, sizes.map((size, i) => `c${i} ${size}`).join(', '));
    const demand = sizes.filter(Number.isInteger).reduce((sum, size) => sum + size, 0);
    this.update({ namespace: 'ns', name: uid, nodeName: 'n1', phase: 'Pending', spec, demand, made: 0 });
  }

  private makeNext(pod: SimulatedPod): void {
    const next = pod.spec.containers[pod.made];
    if (!next || pod.phase !== 'Pending') return;
    if (pod.made === 0 && this.node.model.podsOf(pod.name).length === 0) this.node.run(`pod ${pod.name}`);
    this.node.run(`make ${pod.name}/${next.name} ${(next.requestMilliCpu ?? 0) / 1000}`);
    if (this.node.answer?.kind === 'refuse') return;
    pod.made++;
    if (pod.made === pod.spec.containers.length) this.update({ ...pod, phase: 'Running' });
  }

  private finish(pod: SimulatedPod): void {
    this.tearDown(pod);
    const phase = this.random.pick(['Succeeded', 'Failed']);
    this.update({ ...pod, phase, spec: { ...pod.spec, finished: true } });
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

  private update(pod: SimulatedPod): void {
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
  'mode %s, random histories: with equal fingerprints no CPU is published that a pod will take',
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
        // Pods that the daemon knew, and that have CPUs or will get some.
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
  ['33,000 shared containers', '0.5', 110],
  ['one pod of 3,000 exclusive containers, and others', '1', 11],
])('counting takes less than 20 ms: %s', (_name, size, pods) => {
  const node = new NodeDriver();
  const containers = Array.from({ length: 33_000 / pods }, (_, i) => `c${i} ${size}`).join(', ');
  const makePods = () => Array.from({ length: pods }, (_, i) => watched('Pending', specOf(`p${i}`, containers)));
  expect(leastCpuMsOf(makePods, (all) => countPods('dedicated', all, node.model), { limitMs: 20 })).toBeLessThan(20);
});
