import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { keyOf, type Assignment } from '../../../src/core/model/assignment';
import type { NodeEvent } from '../../../src/core/model/events';
import type { PodSpec } from '../../../src/core/model/pod-spec';
import { rulesOf, type Settings } from '../../../src/core/model/settings';
import { VirtualNode } from '../../../src/core/replay/virtual-node';
import type { Topology } from '../../../src/core/topology';
import { containersOf, creationOf, infoOf, isInit, specOf } from './pods';
import type { Admission, PodQuestion } from './questions';

const NOW = '2026-01-01T00:00:00Z';

/** The decision on one container. */
export interface Placed {
  readonly name: string;
  /** Undefined: it shares. */
  readonly cpus: CpuSet | undefined;
  readonly mems: CpuSet;
  /** CPUs that were free on the node, and idle in the pod, before it. */
  readonly free: CpuSet;
  readonly idle: CpuSet;
}

export interface Outcome {
  /** The refusal; undefined when all containers were created. */
  readonly refused: string | undefined;
  /** In the order of creation, up to a refusal. */
  readonly placed: readonly Placed[];
}

/** The node as cpusetd decides on it. A pod is admitted when all its containers are created. */
export class HistoryNode {
  private node: VirtualNode;
  private readonly live = new Map<string, { readonly pod: PodQuestion; readonly spec: PodSpec }>();

  constructor(
    private readonly topology: Topology,
    private settings: Settings,
  ) {
    this.node = new VirtualNode(topology, settings);
    this.send({ kind: 'synchronize', pods: [], containers: [] }, { kind: 'pod-specs', specs: [] });
  }

  get sharedPool(): CpuSet {
    return this.node.view.sharedPool;
  }

  admit(pod: PodQuestion): Outcome {
    const spec = specOf(pod);
    this.live.set(pod.uid, { pod, spec });
    this.send({ kind: 'pod-started', pod: infoOf(pod, spec) }, { kind: 'pod-spec', spec });
    const placed: Placed[] = [];
    for (const container of containersOf(pod)) {
      const { view } = this.node;
      const idle = view.assignmentsOf(pod.uid).filter(({ containerId, planned }) => containerId === null && !planned);
      const planned = view.assignmentsOf(pod.uid).filter((own) => own.planned);
      const before = {
        idle: CpuSet.unionOf(idle.map(({ cpus }) => cpus)),
        free: view.free.union(CpuSet.unionOf(planned.map(({ cpus }) => cpus))),
      };
      const creation = creationOf(pod, spec, container);
      const [answer] = this.send(creation);
      if (answer?.kind === 'refuse') {
        this.remove(pod.uid);
        return { refused: answer.message, placed };
      }
      const own = view.assignments.get(keyOf({ podUid: pod.uid, containerName: container.name }));
      placed.push({ name: container.name, cpus: own?.cpus, mems: own?.mems ?? CpuSet.empty, ...before });
      this.send({
        kind: 'container-started',
        pod: creation.pod,
        container: { ...creation.container, phase: 'running' },
      });
      if (isInit(pod, container.name)) this.send({ kind: 'container-stopped', containerId: creation.container.id });
    }
    return { refused: undefined, placed };
  }

  remove(uid: string): void {
    const { pod, spec } = this.live.get(uid)!;
    this.live.delete(uid);
    const removed = containersOf(pod).map(({ name }): NodeEvent => ({
      kind: 'container-removed',
      containerId: `${uid}/${name}`,
    }));
    const { sandboxId } = infoOf(pod, spec);
    this.send(
      ...removed,
      { kind: 'pod-stopped', sandboxId },
      { kind: 'pod-removed', sandboxId },
      { kind: 'pod-spec-gone', uid },
    );
  }

  /** A container exits, and the kubelet makes it again. Undefined when it is created, else the refusal. */
  makeAgain(uid: string, name: string): string | undefined {
    const { pod, spec } = this.live.get(uid)!;
    const creation = creationOf(
      pod,
      spec,
      containersOf(pod).find((container) => container.name === name)!,
    );
    const [, , answer] = this.send(
      { kind: 'container-stopped', containerId: creation.container.id },
      { kind: 'container-removed', containerId: creation.container.id },
      creation,
    );
    if (answer?.kind === 'refuse') return answer.message;
    this.send({ kind: 'container-started', pod: creation.pod, container: { ...creation.container, phase: 'running' } });
    return undefined;
  }

  cpusOf(uid: string, name: string): CpuSet | undefined {
    return this.node.view.assignments.get(keyOf({ podUid: uid, containerName: name }))?.cpus;
  }

  /** The daemon starts again, with other settings. The assignments are those that it had, or those that are given. */
  restart(settings: Settings, assignments: Iterable<Assignment> = [...this.node.view.assignments.values()]): void {
    const { keptSpecs, brought, podLevel, specSource } = this.node.view;
    const remembered = {
      assignments,
      keptSpecs: [...keptSpecs.values()],
      brought: [...brought.values()],
      podLevel: [...podLevel.values()],
      source: specSource,
    };
    this.settings = settings;
    this.node = new VirtualNode(this.topology, settings);
    this.node.restart(remembered);
    const live = [...this.live.values()];
    const containers = live.flatMap(({ pod, spec }) =>
      containersOf(pod)
        .filter(({ name }) => !isInit(pod, name))
        .map((container) => ({ ...creationOf(pod, spec, container).container, phase: 'running' as const })),
    );
    this.send(
      { kind: 'synchronize', pods: live.map(({ pod, spec }) => infoOf(pod, spec)), containers },
      { kind: 'pod-specs', specs: live.map(({ spec }) => spec) },
    );
  }

  /** The CPUs that the kubelet gave, as assignments of cpusetd: so both go on from the same state. */
  adopt(given: ReadonlyMap<string, Admission['cpus']>, mems: ReadonlyMap<string, Admission['memory']>): void {
    for (const uid of this.live.keys()) if (!given.has(uid)) this.live.delete(uid);
    const assignments = [...this.live.values()].flatMap(({ pod }) =>
      Object.entries(given.get(pod.uid) ?? {}).map(([containerName, list]): Assignment => {
        const cpus = parseCpuList(list);
        return {
          podUid: pod.uid,
          podNamespace: 'ns',
          podName: pod.uid,
          containerName,
          kind: 'static',
          cpus,
          mems:
            this.settings.memoryNodes === 'follow' ? CpuSet.of(mems.get(pod.uid)?.[containerName] ?? []) : CpuSet.empty,
          requested: cpus.size,
          containerId: isInit(pod, containerName) ? null : `${pod.uid}/${containerName}`,
          quotaLifted: false,
          rules: rulesOf(this.settings),
          because: 'as the kubelet gave it',
          since: NOW,
        };
      }),
    );
    this.restart(this.settings, assignments);
  }

  /** Keeps a pod that the kubelet admitted, and cpusetd refused. */
  keep(pod: PodQuestion): void {
    this.live.set(pod.uid, { pod, spec: specOf(pod) });
  }

  private send(...events: readonly NodeEvent[]) {
    return events.map((event) => this.node.send(event, NOW).answer);
  }
}
