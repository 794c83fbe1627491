import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { Container } from '../../../src/core/model/container';
import type {
  ContainerInfo,
  ContainerPhase,
  CpuResources,
  FoundPause,
  NodeEvent,
  PodInfo,
  RuntimeAnswer,
} from '../../../src/core/model/events';
import { NodeModel } from '../../../src/core/model/node-model';
import { NO_OPTIONS, type Settings, type StaticPolicyOptions } from '../../../src/core/model/settings';
import type { Move } from '../../../src/core/plan/plan-moves';
import { buildTopology, type Topology } from '../../../src/core/topology';
import { Draft, handle, planChanges, type LiveCpusets, type DomainEvent } from '../../../src/core/transition';

/** `cores` cores in one socket; siblings are c, c + cores, and so on, as on bare metal. */
export function machineOf(cores: number, threads: number): Topology {
  return buildTopology({
    cpus: Array.from({ length: cores * threads }, (_, id) => {
      return { id, core: id % cores, socket: 0, numaNode: 0, uncoreCache: 0 };
    }),
  });
}

/** The machine with some of its CPUs offline. */
export function without(topology: Topology, cpus: string): Topology {
  const gone = parseCpuList(cpus);
  return buildTopology({ cpus: topology.cpus.filter(({ id }) => !gone.has(id)) });
}

/** Four cores of two threads; CPU 0 is reserved, so 7 CPUs can be given out. */
export const EIGHT_CPUS = machineOf(4, 2);

export interface Rules extends Partial<Omit<Settings, 'options' | 'reserved'>> {
  readonly options?: Partial<StaticPolicyOptions>;
  readonly reserved?: string;
}

export function settingsWith({ options, reserved = '0', ...rest }: Rules = {}): Settings {
  return {
    cpuManagerPolicy: 'static',
    minSharedCpus: 1,
    onInsufficientCpu: 'refuse',
    liftCpuQuota: false,
    ...rest,
    options: { ...NO_OPTIONS, ...options },
    reserved: parseCpuList(reserved),
  };
}

/** The numbers of a Guaranteed container of so many CPUs, a fraction included; 0 asks for none. */
export function resourcesOf(cpus: number): CpuResources {
  if (cpus === 0) return { shares: 2, periodUs: 100_000, memoryLimitBytes: 1 << 26 };
  return { shares: cpus * 1024, quotaUs: cpus * 100_000, periodUs: 100_000, memoryLimitBytes: 1 << 26 };
}

export function podOf(uid: string, sandboxId = `sandbox-${uid}`): PodInfo {
  return { sandboxId, uid, namespace: 'ns', name: uid, annotations: {}, cgroupParent: `/kubepods/pod${uid}` };
}

/**
 * A model that events are sent to, without disk and cgroups: moves count as carried out at once. Containers go by
 * `pod/name`; the nth of that name has the id `pod/name#n`.
 */
export class NodeDriver {
  readonly model: NodeModel;
  /** The answer to the last event. */
  answer: RuntimeAnswer | undefined;
  moves: readonly Move[] = [];
  reported: readonly DomainEvent[] = [];
  isDurable = false;
  /** Fields of pods that differ from `podOf`, by uid: annotations, a cgroup parent of another QoS class. */
  readonly podFields = new Map<string, Partial<PodInfo>>();
  /** Fields of requests that are beside or instead of the usual numbers, by `pod/name`. */
  readonly bringing = new Map<string, CpuResources>();
  private readonly count = new Map<string, number>();
  private readonly infos = new Map<string, { pod: PodInfo; container: ContainerInfo }>();
  private clock = 0;

  constructor(topology: Topology = EIGHT_CPUS, rules: Rules = {}) {
    this.model = new NodeModel(topology, settingsWith(rules));
  }

  send(event: NodeEvent, live?: LiveCpusets): RuntimeAnswer {
    let answer: RuntimeAnswer = { kind: 'ok' };
    this.change((draft) => {
      const outcome = handle(draft, event, live);
      answer = outcome.answer;
      return outcome.moves;
    });
    this.answer = answer;
    return answer;
  }

  change(work: (draft: Draft) => readonly Move[]): void {
    const draft = new Draft(this.model, new Date(++this.clock * 1000).toISOString());
    this.moves = work(draft);
    this.reported = draft.reported;
    this.isDurable = draft.isDurable;
    for (const { containerId, to } of this.moves) {
      const container = this.model.allContainers.get(containerId);
      if (container) this.model.apply({ kind: 'put-container', container: { ...container, applied: to } });
    }
  }

  setTopology(topology: Topology): void {
    this.change((draft) => {
      draft.put({ kind: 'set-topology', topology });
      return planChanges(draft);
    });
  }

  /** Sets other settings of the operator, as a start of cpusetd does. */
  setRules(rules: Rules): void {
    this.model.apply({ kind: 'set-settings', settings: settingsWith(rules) });
  }

  /** Runs a history such as `make p/app 2; end p/app; stop p`. See `step` for the words. */
  run(history: string): this {
    for (const line of history.split(';')) {
      const [verb = '', target = '', argument] = line.trim().split(/\s+/);
      if (verb !== '') this.step(verb, target, argument);
    }
    return this;
  }

  container(target: string): Container | undefined {
    return this.model.containers.get(this.idOf(target));
  }

  /** `p/app` is the newest of that name, `p/app#1` the first. */
  idOf(target: string): string {
    return target.includes('#') ? target : `${target}#${this.count.get(target) ?? 0}`;
  }

  infoOf(target: string): { pod: PodInfo; container: ContainerInfo } {
    return this.infos.get(this.idOf(target))!;
  }

  /** The assignments and the pool, sorted: `p/app 1,5; p/init 2 idle; pool 0,3-4,6-7`. */
  get state(): string {
    const owners = [...this.model.assignments.values()].map(
      ({ podUid, containerName, cpus, containerId }) =>
        `${podUid}/${containerName} ${cpus.toString()}${containerId === null ? ' idle' : ''}`,
    );
    return [...owners.sort(), `pool ${this.model.sharedPool.toString()}`].join('; ');
  }

  /** The answer to the last event: `cpus 1,5`, `refused RESOURCE_EXHAUSTED`, or `ok`. */
  get reply(): string {
    const { answer } = this;
    if (answer?.kind === 'refuse') return `refused ${answer.code}`;
    const { cpus, quotaUs } = answer?.adjust ?? {};
    return `${cpus ? `cpus ${cpus.toString()}` : 'ok'}${quotaUs === undefined ? '' : ` quota ${quotaUs}`}`;
  }

  /** The last event's moves in their order: `p/app#1 1-2>0,3`. */
  get movesMade(): string {
    return this.moves
      .map(({ containerId, from, to }) => `${containerId} ${from?.cpus.toString() ?? '?'}>${to.cpus.toString()}`)
      .join('; ');
  }

  private step(verb: string, target: string, argument: string | undefined): void {
    const [uid = '', name = ''] = target.split('/');
    const sandboxId = argument ?? `sandbox-${uid}`;
    switch (verb) {
      case 'ask': // CreateContainer alone
        this.ask(uid, name, Number(argument));
        break;
      case 'create': // and the runtime has created it
        if (this.ask(uid, name, Number(argument)).kind === 'ok') this.advance(target, 'container-created', 'created');
        break;
      case 'make': // and it runs
        this.step('create', target, argument);
        if (this.answer?.kind === 'ok') this.step('start', target, undefined);
        break;
      case 'start':
        this.advance(target, 'container-starting', 'starting');
        this.advance(target, 'container-started', 'running');
        break;
      case 'created':
        this.advance(target, 'container-created', 'created');
        break;
      case 'starting':
        this.advance(target, 'container-starting', 'starting');
        break;
      case 'started':
        this.advance(target, 'container-started', 'running');
        break;
      case 'know': // the container exists, and no event of it came
        this.announce(uid, name, Number(argument));
        break;
      case 'end':
        this.send({ kind: 'container-stopped', containerId: this.idOf(target) });
        break;
      case 'forget': // RemoveContainer
        this.send({ kind: 'container-removed', containerId: this.idOf(target) });
        break;
      case 'resize':
        this.update(target, resourcesOf(Number(argument)));
        break;
      case 'pod':
        this.send({ kind: 'pod-started', pod: { ...podOf(uid, sandboxId), ...this.podFields.get(uid) } });
        break;
      case 'pause': // its pause container is found, on these CPUs
        this.findPause(`sandbox-${uid}`, argument ?? '');
        break;
      case 'stop':
        this.send({ kind: 'pod-stopped', sandboxId });
        break;
      case 'remove':
        this.send({ kind: 'pod-removed', sandboxId });
        break;
      default:
        throw new Error(`no such step: ${verb}`);
    }
  }

  findPause(sandboxId: string, found: string, more: Partial<FoundPause> = {}): void {
    const cgroupsPath = `/kubepods/${sandboxId}/${sandboxId}`;
    this.send({ kind: 'pauses-found', pauses: [{ sandboxId, cgroupsPath, found: parseCpuList(found), ...more }] });
  }

  update(target: string, resources: CpuResources): RuntimeAnswer {
    return this.send({ kind: 'update-container', ...this.infoOf(target), resources });
  }

  private ask(uid: string, name: string, cpus: number): RuntimeAnswer {
    return this.send({ kind: 'create-container', ...this.announce(uid, name, cpus) });
  }

  /** A container of the newest sandbox of the pod. */
  private announce(uid: string, name: string, cpus: number): { pod: PodInfo; container: ContainerInfo } {
    const nth = (this.count.get(`${uid}/${name}`) ?? 0) + 1;
    this.count.set(`${uid}/${name}`, nth);
    const known = [...this.model.pods.values()].reverse().find((pod) => pod.uid === uid);
    const pod = { ...(known ?? podOf(uid)), ...this.podFields.get(uid) };
    const id = `${uid}/${name}#${nth}`;
    const container: ContainerInfo = {
      id,
      sandboxId: pod.sandboxId,
      name,
      phase: 'creating',
      cgroupsPath: `${pod.cgroupParent}/${name}${nth}`,
      resources: { ...resourcesOf(cpus), ...this.bringing.get(`${uid}/${name}`) },
    };
    this.infos.set(id, { pod, container });
    return { pod, container };
  }

  private advance(
    target: string,
    kind: 'container-created' | 'container-starting' | 'container-started',
    phase: ContainerPhase,
  ): void {
    const { pod, container } = this.infoOf(target);
    this.send({ kind, pod, container: { ...container, phase } });
  }
}

export function cpus(list: string): CpuSet {
  return parseCpuList(list);
}
