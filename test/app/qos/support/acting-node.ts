import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../../src/app/alarms/alarms';
import { Faults } from '../../../../src/app/alarms/faults';
import type { Config } from '../../../../src/app/config';
import type { DaemonContext } from '../../../../src/app/context';
import { qosActionsFormat, type QosActions } from '../../../../src/app/owed-effects/qos-actions';
import type { NodeActions } from '../../../../src/app/qos/action-executor';
import { QosActionsNote } from '../../../../src/app/qos/qos-actions-note';
import { Avoidance } from '../../../../src/app/qos/avoidance';
import type { ObjectsOfNode } from '../../../../src/qos/objects/objects-of-node';
import type { EvictionOutcome } from '../../../../src/app/qos/pod-evictions';
import { QuotaWriter, type CpuUpdate } from '../../../../src/app/qos/quota-writer';
import { DaemonEvents } from '../../../../src/app/transaction/daemon-events';
import { parseCpuList } from '../../../../src/core/cpuset';
import type { Cgroups } from '../../../../src/host';
import type { AvoidanceEvent } from '../../../../src/qos/analysis/finding';
import type { PodActionEvent } from '../../../../src/qos/avoidance/pod-event';
import type { Throttle } from '../../../../src/qos/avoidance/situation';
import type { AvoidanceAction, PodQos, QosPod, QosRule } from '../../../../src/qos/objects/objects';
import type { Metrics, Series } from '../../../../src/qos/usage/metrics';
import type { FsOps } from '../../../../src/files/fs-ops';
import { readable } from '../../../support/container-cgroups';

export const PERIOD_US = 100_000;
export const INTERVAL_MS = 10_000;
export const NOTE_FILE = 'qos-actions.json';
const NEVER = new Promise<never>(() => undefined);

interface FakeContainer {
  readonly podUid: string;
  quotaUs: number;
  originalUs: number;
  periodUs: number;
  milliCpu: number;
  placement: 'shared' | 'exclusive' | 'numa' | 'left-alone';
}

export const THROTTLE: AvoidanceAction = {
  name: 'slow-down',
  coolDownSeconds: 0,
  throttle: { minCpuRatio: 10, stepCpuRatio: 50 },
};
export const EVICT: AvoidanceAction = { name: 'evict', coolDownSeconds: 0, eviction: {} };

export function ruleOf(given: Partial<QosRule> = {}): QosRule {
  return {
    name: 'cpu',
    metric: { name: 'cpu_total_usage', threshold: 1_000 },
    avoidanceThreshold: 1,
    restoreThreshold: 1,
    actionName: 'slow-down',
    strategy: 'None',
    ...given,
  };
}

/** A node as its kernel and the API server have it. It outlives the processes that act on it. */
export class FakeNode {
  readonly containers = new Map<string, FakeContainer>();
  pods: QosPod[] = [];
  rules: QosRule[] = [ruleOf()];
  actions: AvoidanceAction[] = [THROTTLE, EVICT];
  podQoss: PodQos[] = [
    {
      name: 'batch',
      labelSelector: { matchLabels: { tier: 'batch' }, matchExpressions: [] },
      scopes: [],
      allowedActions: ['slow-down', 'evict'],
    },
  ];
  /** In milli-CPU; undefined = the metric is gone. */
  cpuUsage: number | undefined = 500;
  isApiAway = false;
  isTainted = false;
  isSynchronized = true;
  readonly evicted: string[] = [];
  /** Names of pods that a PodDisruptionBudget protects. */
  readonly protectedPods = new Set<string>();
  readonly updates: CpuUpdate[] = [];
  /** Containers whose quota can't be read. */
  readonly unreadable = new Set<string>();
  /** Called before and after the effect of each call; what it throws is the answer. */
  during: (call: 'update' | 'mark' | 'evict', at: 'before' | 'after', subject: string) => void | Promise<void> = () =>
    undefined;
  /** Called after each effect, also of one whose answer is lost. */
  onEffect: () => void = () => undefined;

  add(
    name: string,
    given: {
      milliCpu?: number;
      quotaUs?: number;
      requestMilliCpu?: number;
      priority?: number;
      placement?: 'exclusive';
    } = {},
  ): void {
    const { milliCpu = 1_000, quotaUs = -1, requestMilliCpu = 0, priority = 0, placement = 'shared' } = given;
    const uid = `uid-${name}`;
    this.pods.push({
      uid,
      runtimeUid: uid,
      namespace: 'jobs',
      name,
      labels: { tier: 'batch' },
      qos: 'Burstable',
      priority,
      isCritical: false,
      isStatic: false,
      phase: 'Running',
      isBeingDeleted: false,
      startedAtMs: 0,
      containers: [{ name: 'main', requestMilliCpu, ...(quotaUs > 0 && { limitMilliCpu: quotaUs / 100 }) }],
    });
    this.containers.set(name, { podUid: uid, quotaUs, originalUs: quotaUs, periodUs: PERIOD_US, milliCpu, placement });
  }

  remove(name: string): void {
    this.containers.delete(name);
    this.pods = this.pods.filter((pod) => pod.name !== name);
  }

  get quotas(): Record<string, number> {
    return Object.fromEntries([...this.containers].map(([id, { quotaUs }]) => [id, quotaUs]));
  }

  /** The containers whose quota is not what it was. */
  get changed(): string[] {
    return [...this.containers].filter(([, { quotaUs, originalUs }]) => quotaUs !== originalUs).map(([id]) => id);
  }

  get objects(): ObjectsOfNode {
    if (this.isApiAway) return { kind: 'unknown', because: 'no news from the API server' };
    return {
      kind: 'known',
      nodeQoss: this.rules.length === 0 ? [] : [{ name: 'busy', uid: 'u', rules: this.rules }],
      podQoss: this.podQoss,
      actions: new Map(this.actions.map((action) => [action.name, action])),
      pods: this.pods,
      nodeLabels: {},
    };
  }

  async update(change: CpuUpdate): Promise<void> {
    this.updates.push(change);
    await this.during('update', 'before', change.containerId);
    const container = this.containers.get(change.containerId);
    if (!container) throw Object.assign(new Error('there is no such container'), { code: 'NOT_FOUND' });
    container.quotaUs = change.quotaUs ?? container.quotaUs;
    this.onEffect();
    await this.during('update', 'after', change.containerId);
  }

  readonly mark: NodeActions['mark'] = async (isDisabled) => {
    await this.during('mark', 'before', 'node');
    if (this.isApiAway) throw new Error('the API server is away');
    this.isTainted = isDisabled;
    this.onEffect();
    await this.during('mark', 'after', 'node');
  };

  readonly evict: NodeActions['evict'] = async ({ name, uid }): Promise<EvictionOutcome> => {
    await this.during('evict', 'before', name);
    if (this.isApiAway) throw new Error('the API server is away');
    if (!this.pods.some((pod) => pod.uid === uid)) return { kind: 'gone' };
    if (this.protectedPods.has(name)) return { kind: 'refused', because: 'its budget allows 0 disruptions now' };
    this.evicted.push(name);
    this.onEffect();
    await this.during('evict', 'after', name);
    return { kind: 'evicted' };
  };
}

export interface ActingOptions {
  readonly stateDir: string;
  readonly node: FakeNode;
  readonly mode?: Config['qosActions'];
  readonly perHour?: number;
  readonly evictionsPerHour?: number;
  readonly bootId?: string;
  readonly fs?: FsOps;
}

/** One process that acts on the node. */
export function actingNode(given: ActingOptions) {
  const { stateDir, node, mode = 'enforce', perHour = 1_000, evictionsPerHour = 100, bootId = 'boot-1', fs } = given;
  const process = { isDead: false };
  const lines: { msg: string; level: number; because?: string; action?: string; subject?: string }[] = [];
  const log = pino(
    { level: 'info' },
    {
      write: (line: string) => {
        if (!process.isDead) lines.push(JSON.parse(line) as (typeof lines)[number]);
      },
    },
  );
  const alarms = new Alarms({ log, now: () => '', onChange: () => undefined });
  const faults = new Faults({ log, alarms });
  const events = new DaemonEvents(faults);
  const config = {
    qosActions: mode,
    collectIntervalMs: INTERVAL_MS,
    executeExcess: 0,
    qosActionsPerHour: perHour,
    qosEvictionsPerHour: evictionsPerHour,
  } as Config;
  const viewOf = (id: string, { podUid, placement }: FakeContainer) => ({
    id,
    podUid,
    name: 'main',
    phase: 'running',
    cgroupsPath: `/kubepods/${id}`,
    placement,
    entitledCpus: 0,
    ...(placement === 'left-alone' && { leftAlone: true }),
  });
  const model = {
    topology: { online: parseCpuList('0-7') },
    podSpecs: new Map(),
    specSource: { hasReported: true },
    get synchronized() {
      return node.isSynchronized;
    },
    get containers() {
      return new Map(
        node.isSynchronized ? [...node.containers].map(([id, container]) => [id, viewOf(id, container)]) : [],
      );
    },
    containersOf: (uid: string) => [...model.containers.values()].filter(({ podUid }) => podUid === uid),
  } as unknown as DaemonContext['model'];
  const readQuota = (path: string) => {
    const id = path.split('/').at(-1)!;
    const found = node.unreadable.has(id) ? undefined : node.containers.get(id);
    return found ? { kind: 'found', quotaUs: found.quotaUs, periodUs: found.periodUs } : { kind: 'gone' };
  };
  /** A process that was killed never goes on. */
  const alive = async <T>(work: () => Promise<T>): Promise<T> => {
    if (process.isDead) return NEVER;
    try {
      const result = await work();
      return process.isDead ? await NEVER : result;
    } catch (error) {
      if (process.isDead) return NEVER;
      throw error;
    }
  };
  const note = new QosActionsNote({ stateDir, bootId, alarms, log, ...(fs && { fs }) });
  const nodeEvents: AvoidanceEvent[] = [];
  const podEvents: PodActionEvent[] = [];
  const counts = new Map<string, number>();
  const avoidance = new Avoidance({
    context: { config, model, alarms, faults, events, log },
    note,
    quotas: new QuotaWriter({
      model,
      cgroups: readable({ readQuota } as unknown as Cgroups),
      update: (change) => alive(() => node.update(change)),
    }),
    node: {
      isMarked: () => (node.isApiAway ? undefined : node.isTainted),
      mark: (...args) => alive(() => node.mark(...args)),
      evict: (...args) => alive(() => node.evict(...args)),
    },
    objects: () => node.objects,
    writeEvent: (event) => void nodeEvents.push(event),
    writePodEvent: (event) => void podEvents.push(event),
    count: (action, outcome) => void counts.set(`${action} ${outcome}`, (counts.get(`${action} ${outcome}`) ?? 0) + 1),
  });
  const end = new AbortController();
  return {
    avoidance,
    note,
    lines,
    alarms,
    events,
    nodeEvents,
    podEvents,
    counts,
    end,
    process,
    model,
    run: () => avoidance.run(end.signal),
    kill: (): void => void (process.isDead = true),
    set: (changed: Partial<Config>): void => events.emit('optionsChanged', { ...config, ...changed }),
    /** One collection, of what the node has now or had at an earlier time. */
    collect: (metrics = measure(node)): Promise<void> =>
      process.isDead
        ? Promise.resolve()
        : avoidance.take({ metrics, atMs: Date.now(), exclusive: parseCpuList(''), busyMs: 0, sets: [] }),
  };
}

/** The values that a collection reads now. */
export function measure({ containers, cpuUsage }: FakeNode): Metrics {
  const atMs = Date.now();
  const read = (value: (container: FakeContainer) => number) =>
    [...containers].map(([id, container]) => ({ labels: { ContainerId: id }, value: value(container), atMs }));
  return new Map<string, readonly Series[]>([
    ['container_cpu_quota', read(({ quotaUs }) => quotaUs)],
    ['container_cpu_period', read(({ periodUs }) => periodUs)],
    ['container_cpu_total_usage', read(({ milliCpu }) => milliCpu / 1_000)],
    ['cpu_total_usage', cpuUsage === undefined ? [] : [{ labels: {}, value: cpuUsage, atMs }]],
  ]);
}

/** The content of the disk for the next process. */
export function onDisk(stateDir: string): QosActions | undefined {
  const path = join(stateDir, NOTE_FILE);
  if (!existsSync(path)) return undefined;
  const decoded = qosActionsFormat.decode(readFileSync(path, 'utf8'));
  if (!decoded.ok) throw new Error(decoded.because);
  return decoded.value;
}

/**
 * True when the note can't be used, or was set aside and is not replaced yet: what it said is undone from the specs.
 */
export function isSpoiled(stateDir: string): boolean {
  const path = join(stateDir, NOTE_FILE);
  if (existsSync(path)) return !qosActionsFormat.decode(readFileSync(path, 'utf8')).ok;
  return existsSync(stateDir) && readdirSync(stateDir).some((name) => name.startsWith(`${NOTE_FILE}.bad-`));
}

/** All that differs from its original and is not on disk, so that no next start would undo it. */
export function findForgotten({ containers, isTainted }: FakeNode, stateDir: string): string[] {
  const saved = isSpoiled(stateDir) ? undefined : onDisk(stateDir);
  if (isSpoiled(stateDir) || saved?.owesUnknown) return [];
  const byId = new Map((saved?.throttles ?? []).map((throttle) => [throttle.id, throttle]));
  const knows = ({ quotaUs, originalUs }: FakeContainer, throttle: Throttle | undefined): boolean =>
    throttle?.originalUs === originalUs && [throttle.quotaUs, throttle.previousUs].includes(quotaUs);
  return [
    ...(isTainted && saved?.tainted !== true ? ['the taint'] : []),
    ...[...containers]
      .filter(([id, container]) => container.quotaUs !== container.originalUs && !knows(container, byId.get(id)))
      .map(
        ([id, { quotaUs, originalUs }]) =>
          `${id} has ${quotaUs}, before ${originalUs}: ${JSON.stringify(byId.get(id))}`,
      ),
  ];
}
