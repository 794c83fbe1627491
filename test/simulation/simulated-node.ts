import { logEvents } from '../../src/app/journal/event-log';
import { Transactor } from '../../src/app/transaction/transactor';
import type { Transaction } from '../../src/app/transaction/transaction';
import type { Mover } from '../../src/app/transaction/carry-out';
import { CpuSet, parseCpuList } from '../../src/core/cpuset';
import type { ContainerInfo, CpuResources, NodeEvent, PodInfo, RuntimeAnswer } from '../../src/core/model/events';
import type { PodSpec } from '../../src/core/model/pod-spec';
import { NodeModel } from '../../src/core/model/node-model';
import type { Settings } from '../../src/core/model/settings';
import type { Topology } from '../../src/core/topology';
import {
  changeSettings,
  changeTopology,
  type Draft,
  hasPending,
  planChanges,
  reconcile,
  retryPending,
} from '../../src/core/transition';
import type { Move } from '../../src/core/plan/plan-moves';
import type { Observation } from '../../src/core/verdict/observation';
import { decodeState, encodeState } from '../../src/state';
import { Observers } from './observers';
import { watchLog } from '../support/watched-log';

/** An exception that a test injects. */
export class InjectedFault extends Error {}

/** The places where a test can inject an exception: in a decision, before or after an effect, or after the answer. */
export type FaultPlace = 'decide' | 'save' | 'saved' | 'move' | 'moved' | 'widen' | 'report';

/** A model that calls `onRead` when its assignments are read. */
class WatchedModel extends NodeModel {
  onRead = (): void => undefined;

  constructor(topology: Topology, settings: Settings) {
    super(topology, settings);
    const { assignments } = this;
    const read = (): NodeModel['assignments'] => {
      this.onRead();
      return assignments;
    };
    Object.defineProperty(this, 'assignments', { get: read });
  }
}

interface SimulatedContainer {
  info: ContainerInfo;
  podId: string;
  /** The cpuset in the runtime's record; undefined when it has none. */
  recorded: string | undefined;
  running: boolean;
}

/**
 * A simulated node: the runtime keeps specs and sends events, the kernel has a cpuset for each running container, the
 * disk has the last document that was saved completely. The daemon is the real one: transactor, transitions, policy,
 * state encoding.
 */
export class SimulatedNode {
  disk: string | undefined;
  readonly kernel = new Map<string, CpuSet>();
  readonly pods = new Map<string, PodInfo>();
  readonly containers = new Map<string, SimulatedContainer>();
  /** The pods in the API server, by uid. The daemon knows only those that were sent to it. */
  readonly specs = new Map<string, PodSpec>();
  /** Containers that were created while no daemon answered. */
  readonly unadjusted = new Set<string>();
  daemon: { model: NodeModel; transactor: Transactor; observers?: Observers } | undefined;
  /** Number of effects until the process is killed; Infinity means never. */
  effectsUntilCut = Infinity;
  /** True when the daemon has an API server. */
  hasApiServer = false;
  diskIsFull = false;
  /** The CPUs and memory nodes that the request for a new container brings. */
  bring: () => Pick<CpuResources, 'cpus' | 'mems'> = () => ({});
  /** Throws where a test injects an exception. */
  faultAt: (place: FaultPlace, containerId?: string) => void = () => undefined;
  private isDeciding = false;
  readonly answers: string[] = [];
  /** Number of times that state was saved. */
  saves = 0;
  /** Number of running containers that were moved because the annotations of their pod changed. */
  switches = 0;
  /** The log of all daemons, at every level. */
  private readonly lines = watchLog();
  private ids = 0;
  private clock = 0;

  /**
   * Gets the model of each daemon that is started, before its first event, and each of its transactions, dated with
   * `at`.
   */
  readonly follower: {
    started: (model: NodeModel) => void;
    done: (done: Transaction, at: string) => void;
  } = { started: () => undefined, done: () => undefined };

  /**
   * `isObserved`: the daemon also has a reconciler, verdicts and a status, which work in later turns of the event loop.
   */
  constructor(
    public topology: Topology,
    public settings: Settings,
    private readonly isObserved = false,
  ) {}

  /** Lines of the log about a container or a pod that do not name it. */
  get unnamedLines(): readonly string[] {
    return this.lines.unnamed;
  }

  nextId(prefix: string): string {
    return `${prefix}${++this.ids}`;
  }

  start(): void {
    const model = new WatchedModel(this.topology, this.settings);
    model.onRead = () => {
      if (this.isDeciding) this.throwIfInjected('decide');
    };
    if (this.disk !== undefined) {
      const decoded = decodeState(this.disk);
      if (!decoded.ok)
        throw new Error(`the disk holds a document that can't be read: ${JSON.stringify(decoded.problem)}`);
      for (const assignment of decoded.state.assignments) model.apply({ kind: 'put-assignment', assignment });
      for (const brought of decoded.state.brought) model.apply({ kind: 'put-brought', brought });
      for (const podLevel of decoded.state.podLevel) model.apply({ kind: 'put-pod-level', podLevel });
      for (const kind of ['put-spec', 'keep-spec'] as const)
        for (const spec of decoded.state.pods) model.apply({ kind, spec });
    }
    if (this.hasApiServer) {
      const awaited = new Set([...model.assignments.values()].map(({ podUid }) => podUid));
      model.apply({ kind: 'set-spec-source', source: { hasReported: false, awaited } });
    }
    // After a kill, the daemon's effects and answers are lost.
    const isAlive = (): boolean => this.daemon?.model === model && this.outlives();
    const mover: Mover = {
      move: ({ containerId, to }) => {
        if (!isAlive()) return undefined;
        if (!this.kernel.has(containerId)) return { kind: 'gone', because: 'gone' };
        this.throwIfInjected('move', containerId);
        this.kernel.set(containerId, to.cpus);
        this.throwIfInjected('moved', containerId);
        return undefined;
      },
      widenPod: () => this.throwIfInjected('widen'),
    };
    const transactor = new Transactor({
      model,
      mover,
      save: ({ assignments, pods, brought, podLevel }) => {
        if (!isAlive()) return { because: 'dead', onDisk: 'old' };
        this.saves++;
        this.throwIfInjected('save');
        if (this.diskIsFull) return { because: 'ENOSPC', onDisk: 'old' };
        const text = encodeState({
          writtenBy: 'test',
          generation: 1,
          assignments: [...assignments],
          pods,
          brought,
          podLevel,
        });
        this.disk = text;
        isAlive(); // saved, not yet answered
        this.throwIfInjected('saved');
        return undefined;
      },
      now: () => {
        this.isDeciding = true;
        this.throwIfInjected('decide');
        return this.tick();
      },
      log: this.lines.log,
      observer: {
        onTransaction: (done) => {
          const { reported } = done;
          this.follower.done(done, this.time());
          logEvents(this.lines.log, reported);
          this.throwIfInjected('report');
          this.daemon?.observers?.begin(done);
          this.switches += reported.filter(({ kind }) => kind === 'switched').length;
        },
      },
    });
    const observers = this.isObserved && {
      observers: new Observers({ model, transactor, kernel: this.kernel, now: () => this.tick(), log: this.lines.log }),
    };
    this.daemon = { model, transactor, ...observers };
    this.follower.started(model);
    this.synchronize();
  }

  private tick(): string {
    this.clock += 1;
    return this.time();
  }

  private time(): string {
    return new Date(this.clock * 1000).toISOString();
  }

  /** Synchronizes. An error ends the connection, and the next connection synchronizes again. */
  synchronize(): void {
    const synchronize = (): RuntimeAnswer | undefined =>
      this.send(
        {
          kind: 'synchronize',
          pods: [...this.pods.values()],
          containers: [...this.containers.values()].map((container) => this.infoOf(container)),
        },
        new Map([...this.kernel]),
      );
    if (synchronize()?.kind === 'refuse') synchronize();
    this.sendPauses([...this.pods.values()]);
    this.unadjusted.clear();
  }

  /** Sends the pause containers of these pods. After an injected exception they are sent again. */
  private sendPauses(pods: readonly PodInfo[]): void {
    const found = (): NodeEvent => ({
      kind: 'pauses-found',
      pauses: pods.flatMap(({ sandboxId, pause }) => {
        const has = this.kernel.get(sandboxId);
        return pause && has ? [{ sandboxId, ...pause, found: has }] : [];
      }),
    });
    for (let tries = 0; tries < 3 && this.send(found())?.kind === 'refuse'; tries++);
  }

  /** Sends an event. Undefined when the daemon dies before its answer; the runtime then goes on without it. */
  send(event: NodeEvent, live?: ReadonlyMap<string, CpuSet>): RuntimeAnswer | undefined {
    const { daemon } = this;
    if (!daemon) return undefined;
    try {
      const answer = daemon.transactor.handle(event, live);
      if (this.daemon !== daemon) return undefined;
      this.answers.push(`${event.kind} ${JSON.stringify(answer)}`);
      return answer;
    } finally {
      this.isDeciding = false;
    }
  }

  kill(): void {
    this.daemon?.observers?.end();
    this.daemon = undefined;
    this.effectsUntilCut = Infinity;
  }

  addPod(guaranteed: boolean, more: Partial<Pick<PodInfo, 'annotations' | 'podResources'>> = {}): PodInfo {
    const uid = this.nextId('uid-');
    const pod: PodInfo = {
      sandboxId: this.nextId('pod-'),
      uid,
      namespace: 'ns',
      name: `p-${uid}`,
      annotations: {},
      cgroupParent: guaranteed ? `/kubepods/pod${uid}` : `/kubepods/burstable/pod${uid}`,
      ...more,
    };
    const withPause = { ...pod, pause: { cgroupsPath: `${pod.cgroupParent}/${pod.sandboxId}` } };
    this.pods.set(pod.sandboxId, withPause);
    this.kernel.set(pod.sandboxId, this.topology.online); // it runs before the event is sent
    // After an injected exception the runtime sends the event again.
    for (let tries = 0; tries < 3 && this.send({ kind: 'pod-started', pod: withPause })?.kind === 'refuse'; tries++);
    this.sendPauses([withPause]);
    return withPause;
  }

  /** Returns the container's id, or undefined when it was refused. */
  create(pod: PodInfo, name: string, cpus: number): string | undefined {
    const id = this.nextId('c-');
    const info: ContainerInfo = {
      id,
      sandboxId: pod.sandboxId,
      name,
      phase: 'creating',
      cgroupsPath: `${pod.cgroupParent}/${id}`,
      resources: { ...resourcesFor(cpus), ...this.bring() },
    };
    const answer = this.send({ kind: 'create-container', pod, container: info });
    if (answer?.kind === 'refuse') return undefined;
    const container: SimulatedContainer = { info, podId: pod.sandboxId, recorded: undefined, running: false };
    if (answer) {
      if (answer.adjust?.cpus) container.recorded = answer.adjust.cpus.toString();
      this.applyUpdates(answer);
    } else this.unadjusted.add(id);
    this.containers.set(id, container);
    this.send({ kind: 'container-created', pod, container: this.infoOf(container) });
    return id;
  }

  startContainer(id: string): void {
    const container = this.containers.get(id)!;
    const pod = this.pods.get(container.podId)!;
    const { cpus } = this.infoOf(container).resources;
    this.kernel.set(id, cpus === undefined ? this.topology.online : parseCpuList(cpus));
    container.running = true;
    const answer = this.send({ kind: 'container-starting', pod, container: this.infoOf(container) });
    if (answer?.kind === 'refuse') {
      // The container has a cgroup and no process: the runtime fails the start.
      container.running = false;
      this.kernel.delete(id);
      return;
    }
    this.send({ kind: 'container-started', pod, container: this.infoOf(container) });
  }

  end(id: string, { isAnnounced = true } = {}): void {
    this.containers.delete(id);
    this.kernel.delete(id);
    this.unadjusted.delete(id);
    if (isAnnounced) this.send({ kind: 'container-stopped', containerId: id });
  }

  removePod(sandboxId: string, { isAnnounced = true } = {}): void {
    for (const [id, container] of [...this.containers])
      if (container.podId === sandboxId) this.end(id, { isAnnounced });
    this.pods.delete(sandboxId);
    this.kernel.delete(sandboxId);
    if (!isAnnounced) return;
    this.send({ kind: 'pod-stopped', sandboxId });
    this.send({ kind: 'pod-removed', sandboxId });
  }

  update(id: string, resources: CpuResources): RuntimeAnswer | undefined {
    const container = this.containers.get(id)!;
    const pod = this.pods.get(container.podId)!;
    const answer = this.send({ kind: 'update-container', pod, container: this.infoOf(container), resources });
    if (answer?.kind === 'refuse') return answer;
    container.info = { ...container.info, resources: { ...container.info.resources, ...resources } };
    const cpus = answer?.adjust?.cpus?.toString() ?? resources.cpus;
    if (cpus !== undefined) {
      container.recorded = cpus;
      if (container.running) this.kernel.set(id, parseCpuList(cpus));
    }
    if (answer) this.applyUpdates(answer);
    return answer;
  }

  /** Runs one round of the reconciler. */
  sweep(): void {
    if (!this.daemon) return;
    if (hasPending(this.daemon.model))
      this.change((draft) => {
        retryPending(draft);
        return planChanges(draft);
      });
    if (!this.daemon) return;
    if (this.daemon.observers) {
      this.daemon.observers.sweep();
      return;
    }
    this.change((draft) => {
      const observations = new Map<string, Observation>();
      for (const [id, cpus] of this.kernel) {
        observations.set(id, { kind: 'seen', cpus, effective: cpus, mems: CpuSet.empty });
      }
      return reconcile(draft, observations).moves;
    });
  }

  /** Takes CPUs offline or brings them back. */
  changeTopology(topology: Topology): void {
    this.topology = topology;
    this.change((draft) => changeTopology(draft, topology));
  }

  /** Changes the rules; a daemon that runs takes them live. */
  reload(settings: Settings): void {
    this.settings = settings;
    this.change((draft) => changeSettings(draft, settings));
  }

  /** A change that no event of the runtime causes. After an injected exception it is made again. */
  private change(work: (draft: Draft) => readonly Move[]): void {
    for (let tries = 0; this.daemon && tries < 2; tries++) {
      try {
        this.daemon.transactor.change(work);
        return;
      } catch (error) {
        if (!(error instanceof InjectedFault)) throw error;
      } finally {
        this.isDeciding = false;
      }
    }
  }

  private infoOf({ info, recorded, running }: SimulatedContainer): ContainerInfo {
    return {
      ...info,
      phase: running ? 'running' : 'created',
      resources: { ...info.resources, ...(recorded !== undefined && { cpus: recorded }) },
    };
  }

  private applyUpdates(answer: RuntimeAnswer): void {
    if (answer.kind !== 'ok') return;
    for (const { containerId, cpus } of answer.updates ?? []) {
      const container = this.containers.get(containerId);
      if (!container || !cpus) continue;
      container.recorded = cpus.toString();
      if (container.running) this.kernel.set(containerId, cpus);
    }
  }

  private throwIfInjected(place: FaultPlace, containerId?: string): void {
    if (place !== 'decide') this.isDeciding = false;
    try {
      this.faultAt(place, containerId);
    } catch (error) {
      this.isDeciding = false;
      throw error;
    }
  }

  /** Counts one more effect; false when the process is killed before it. */
  private outlives(): boolean {
    if (--this.effectsUntilCut < 0) this.kill();
    return this.daemon !== undefined;
  }
}

/**
 * The numbers that the kubelet sends for this number of whole CPUs; 0 means a container of a Burstable pod without a
 * limit.
 */
export function resourcesFor(cpus: number): CpuResources {
  if (cpus === 0) return { shares: 102, periodUs: 100_000 };
  return { shares: cpus * 1024, quotaUs: cpus * 100_000, periodUs: 100_000, memoryLimitBytes: 1 << 26 };
}
