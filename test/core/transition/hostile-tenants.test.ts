import { decisiveAnnotations, DecisiveAnnotations } from '../../../src/core/annotations/decisive';
import type { Annotations } from '../../../src/core/annotations/annotations';
import type { ContainerInfo, NodeEvent, PodInfo } from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import type { PolicyName } from '../../../src/core/model/policies';
import { Draft, handle } from '../../../src/core/transition';
import { leastCpuMsOf } from '../../support/cpu-time';
import { costlyAnnotations } from '../../support/hostile-annotations';
import { machineOf, settingsWith } from './node-driver';

/** The least of so many is the cost of an event: what else runs on the machine only adds to it. */
const TRIES = 25;

/** Maximum time of an event, for any text that tenants of the node write. */
const BUDGET_MS = 20;

const PODS = 110;
const CONTAINERS = 300;
const names = Array.from({ length: CONTAINERS }, (_, i) => `c${i}`);

/** A copy, as the adapters make it: each message has annotations of its own. */
const fromRuntime = (annotations: Annotations): Annotations => {
  const kept = new DecisiveAnnotations();
  for (const [name, value] of Object.entries(annotations)) kept.put(name, value);
  return kept.all;
};

/** Uids in the form of Kubernetes: other texts would get regular expressions of their own. */
const uidOf = (i: number): string => `7d5c9a52-1a63-4a71-9f3e-${String(i).padStart(12, '0')}`;

const podInfo = (i: number, annotations: Annotations): PodInfo => ({
  sandboxId: `s${i}`,
  uid: uidOf(i),
  namespace: 'ns',
  name: `p${i}`,
  annotations: fromRuntime(annotations),
  cgroupParent: `/kubepods/burstable/pod${uidOf(i)}`,
});

const containerInfo = (i: number, name: string, phase: ContainerInfo['phase'] = 'running'): ContainerInfo => ({
  id: `${i}-${name}`,
  sandboxId: `s${i}`,
  name,
  phase,
  cgroupsPath: `/kubepods/burstable/pod${uidOf(i)}/${i}-${name}`,
  resources: { shares: 2, periodUs: 100_000 },
  oomScoreAdj: 999,
});

const podSpec = (i: number, annotations: Annotations): PodSpec => ({
  uid: uidOf(i),
  namespace: 'ns',
  name: `p${i}`,
  annotations: decisiveAnnotations(annotations, names),
  qos: 'Burstable',
  finished: false,
  containers: names.map((name) => ({ name, kind: 'app', ended: false, requestMilliCpu: 1 })),
});

const raw = costlyAnnotations(names);
/** Annotations at the API server that differ from those of the sandbox: the spec has to be kept. */
const changed = { ...raw, 'topology.crane.io/exclude-reserved-cpus': 'false' };

/** A node whose 110 pods are at the API server's maxima. All containers run, and all specs are kept. */
function crowdedNode(podPolicies: readonly PolicyName[]) {
  const model = new NodeModel(machineOf(64, 2), settingsWith({ podPolicies }));
  let clock = 0;
  const send = (event: NodeEvent): Draft => {
    const draft = new Draft(model, new Date(++clock).toISOString());
    const { moves } = handle(draft, event);
    for (const { containerId, to } of moves) {
      const container = model.containers.get(containerId)!;
      model.apply({ kind: 'put-container', container: { ...container, applied: to } });
    }
    return draft;
  };
  const numbers = Array.from({ length: PODS }, (_, i) => i);
  const pods = numbers.map((i) => podInfo(i, raw));
  const containers = numbers.flatMap((i) => names.map((name) => containerInfo(i, name)));
  send({ kind: 'synchronize', pods, containers });
  send({ kind: 'pod-specs', specs: numbers.map((i) => podSpec(i, changed)) });
  return { model, send };
}

describe.each<{ name: string; podPolicies: PolicyName[] }>([
  { name: 'pods may choose nothing', podPolicies: [] },
  { name: 'pods may choose every policy', podPolicies: ['none', 'static', 'exclusive', 'numa', 'immovable'] },
])('given 110 pods of 300 containers with 256 KiB of annotations each, and $name', ({ podPolicies }) => {
  const { model, send } = crowdedNode(podPolicies);
  let made = 0;
  /** A pod of another tenant, with one plain container. */
  const other = (): { pod: PodInfo; container: ContainerInfo } => {
    const i = 1000 + ++made;
    return { pod: podInfo(i, {}), container: containerInfo(i, 'app', 'creating') };
  };
  /** The next container of a hostile pod. */
  const another = (): { pod: PodInfo; container: ContainerInfo } => ({
    pod: podInfo(7, raw),
    container: { ...containerInfo(7, 'c7', 'creating'), id: `again-${++made}` },
  });

  test('then the model has all of it', () => {
    expect(model.containers.size).toBe(PODS * CONTAINERS);
    expect(model.podSpecs.size).toBe(PODS);
    expect(model.keptSpecs.size).toBe(PODS);
  });

  const kinds: [name: string, make: () => NodeEvent[]][] = [
    ['a creation in another pod', () => [{ kind: 'create-container', ...other() }]],
    ['the events of a container in another pod, from start to end', () => {
      const { pod, container } = other();
      return [
        { kind: 'pod-started', pod },
        { kind: 'create-container', pod, container },
        { kind: 'container-created', pod, container: { ...container, phase: 'created' } },
        { kind: 'container-starting', pod, container: { ...container, phase: 'running' } },
        { kind: 'container-started', pod, container: { ...container, phase: 'running' } },
        { kind: 'container-stopped', containerId: container.id },
        { kind: 'container-removed', containerId: container.id },
        { kind: 'pod-stopped', sandboxId: pod.sandboxId },
        { kind: 'pod-removed', sandboxId: pod.sandboxId },
      ];
    }],
    ['a creation in a hostile pod', () => [{ kind: 'create-container', ...another() }]],
    ['a start in a hostile pod', () => [
      { kind: 'container-started', pod: podInfo(8, raw), container: containerInfo(8, 'c8') },
    ]],
    ['an update in a hostile pod', () => [
      { kind: 'update-container', pod: podInfo(9, raw), container: containerInfo(9, 'c9'), resources: { shares: 3 + ++made } },
    ]],
    ['an unchanged spec of a hostile pod', () => [{ kind: 'pod-spec', spec: podSpec(10, changed) }]],
    ['a changed spec of a hostile pod', () => [
      { kind: 'pod-spec', spec: podSpec(11, { ...changed, 'topology.crane.io/exclude-reserved-cpus': `${++made % 2 === 0}` }) },
    ]],
    ['the deletion of a hostile pod', () => [{ kind: 'pod-spec-gone', uid: uidOf(20 + (++made % 50)) }]],
  ]; // prettier-ignore

  test.each(kinds)('%s: no event takes 20 ms', (_, make) => {
    const worst = make().map((_each, n) =>
      leastCpuMsOf(
        () => {
          const events = make();
          for (const before of events.slice(0, n)) send(before);
          return events[n]!;
        },
        (event) => void send(event),
        { tries: TRIES, limitMs: BUDGET_MS },
      ),
    );
    expect(Math.max(...worst)).toBeLessThan(BUDGET_MS);
  });

  test('then the list of all pods takes less than 10 ms for each new pod, and less than 20 ms when no pod is new', () => {
    const list = () => Array.from({ length: PODS }, (_, i) => podSpec(i, changed));
    const specs = list();
    expect(
      leastCpuMsOf(list, (specs) => void send({ kind: 'pod-specs', specs }), { tries: 3, limitMs: 10 * PODS }) / PODS,
    ).toBeLessThan(10);
    for (const spec of specs) send({ kind: 'pod-spec', spec });
    const again = () => [...specs];
    expect(
      leastCpuMsOf(again, (specs) => void send({ kind: 'pod-specs', specs }), { tries: 3, limitMs: BUDGET_MS }),
    ).toBeLessThan(BUDGET_MS);
  });
});
