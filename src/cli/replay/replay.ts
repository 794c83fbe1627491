import type { CpuSet } from '../../core/cpuset';
import type { ContainerInfo, NodeEvent, PodInfo } from '../../core/model/events';
import { countFreeUnits, type FreeUnits } from '../../core/model/free-units';
import type { NodeView } from '../../core/model/node-view';
import type { Settings } from '../../core/model/settings';
import { VirtualNode, type Effect, type Remembered } from '../../core/replay/virtual-node';
import type { Topology } from '../../core/topology';
import type { History, Input, Outcome, ReplayedEvent } from './read-inputs';

/** The rules of a replay: options and machine as they were recorded, or others. */
export interface ReplayRules {
  readonly settingsFor: (recorded: Extract<Input, { kind: 'settings' }>, topology: Topology) => Settings;
  /** Another machine than the recorded one. */
  readonly topology?: Topology;
  /**
   * True for the recorded rules: what they led to before the journal begins is true here too. Else those containers are
   * placed again.
   */
  readonly isAsRecorded: boolean;
}

/** A container that was asked for; tries again after a refusal are the same request. */
export interface Request {
  readonly at: string;
  /** `namespace/name`. */
  readonly pod: string;
  readonly container: string;
  readonly recorded: Outcome;
  readonly replayed: Outcome;
  /** The node or its rules were not wholly known then, so that another outcome says nothing. */
  readonly isUncertain?: true;
}

export interface Replay {
  readonly requests: readonly Request[];
  /** Containers that were moved for others. */
  readonly moved: number;
  /** The distribution of the free CPUs, weighted by time. Absent when no time has passed. */
  readonly meanFree?: FreeUnits;
  /** The node after the last event; absent when no options and machine are known. */
  readonly view?: NodeView;
}

/**
 * Sends the inputs of a journal to a node that is not there, and compares its decisions with those that were recorded.
 * The later events of a real node after another decision are not known: a container that is refused here is
 * not tried again, and one that was refused then and is not here stays until its pod ends.
 */
export function replay({ inputs, outcomes, made, uncertain }: History, rules: ReplayRules): Replay {
  let player: Player | undefined;
  for (const input of inputs) {
    if (input.kind === 'settings') {
      const topology = rules.topology ?? input.topology;
      const settings = rules.settingsFor(input, topology);
      const { isAsRecorded } = rules;
      if (player) player.changeRules(settings, topology, input.at);
      else player = new Player(new VirtualNode(topology, settings), { outcomes, made, uncertain, isAsRecorded });
    } else player?.play(input);
  }
  return player?.finish() ?? { requests: [], moved: 0 };
}

const PHASES = {
  'container-created': 'created',
  'container-starting': 'starting',
  'container-started': 'running',
} as const;

interface OpenRequest {
  readonly containerId: string;
  readonly request: Request;
}

class Player {
  private readonly requests: Request[] = [];
  private readonly pods = new Map<string, PodInfo>();
  /** Containers that were made then, by id. */
  private readonly containers = new Map<string, ContainerInfo>();
  /** Ids of containers that are refused here: nothing else of them is played. */
  private readonly refused = new Set<string>();
  /** The last request for a container of a pod. */
  private readonly latest = new Map<string, OpenRequest>();
  private readonly mean = new TimeMean();
  private moved = 0;
  /** True when all that happens is known: the journal begins with a list, or a start. */
  private hasBegun = false;

  constructor(
    private readonly node: VirtualNode,
    private readonly known: Pick<History, 'outcomes' | 'made' | 'uncertain'> & { readonly isAsRecorded: boolean },
  ) {}

  changeRules(settings: Settings, topology: Topology, at: string): void {
    this.moved += this.node.setRules(settings, topology, at);
  }

  play(input: Exclude<Input, { kind: 'settings' }>): void {
    switch (input.kind) {
      case 'begun':
        this.begin(input);
        break;
      case 'restored':
        this.hasBegun = true;
        this.restart(input.remembered);
        break;
      case 'listed':
        this.list(input);
        break;
      case 'event':
        this.playEvent(input.event, input.at);
    }
    this.mean.add(countFreeUnits(this.node.view), Date.parse(input.at));
  }

  finish(): Replay {
    const { requests, moved } = this;
    const meanFree = this.mean.result;
    return { requests, moved, ...(meanFree && { meanFree }), view: this.node.view };
  }

  /** The beginning of a file has nothing new when what came before it was played. */
  private begin(input: Extract<Input, { kind: 'begun' }>): void {
    if (this.hasBegun && !input.afterGap) return;
    this.hasBegun = true;
    const { at, moment, specs } = input;
    for (const pod of input.pods) this.pods.set(pod.sandboxId, pod);
    for (const container of input.containers) this.containers.set(container.id, container);
    if (this.known.isAsRecorded) {
      this.refused.clear();
      this.node.begin(moment);
      return;
    }
    this.restart(moment);
    for (const spec of specs) this.send({ kind: 'pod-spec', spec }, at);
    this.list({ ...input, kind: 'listed', newer: [] });
  }

  private restart(remembered: Remembered): void {
    const { assignments, keptSpecs, brought, podLevel } = this.node.view;
    const { hasReported } = remembered.source;
    const uids = new Set([...assignments.values()].map(({ podUid }) => podUid));
    this.node.restart(
      this.known.isAsRecorded
        ? remembered
        : {
            assignments: [...assignments.values()],
            keptSpecs: [...keptSpecs.values()],
            brought: [...brought.values()],
            podLevel: [...podLevel.values()],
            source: { hasReported, awaited: remembered.source.awaited.size > 0 ? uids : new Set() },
          },
    );
  }

  private list({ at, newer, pods, containers, cpus }: Extract<Input, { kind: 'listed' }>): void {
    const later = newer.flatMap((id) => this.containers.get(id) ?? []);
    const present = [...containers, ...later].filter(({ id }) => !this.refused.has(id));
    const sandboxes = [...pods, ...newer.flatMap((id) => this.pods.get(id) ?? [])];
    for (const pod of pods) this.pods.set(pod.sandboxId, pod);
    for (const container of containers) this.containers.set(container.id, container);
    const live = this.known.isAsRecorded ? cpus : new Map<string, CpuSet>();
    this.send({ kind: 'synchronize', pods: sandboxes, containers: present }, at, live);
  }

  private playEvent(event: ReplayedEvent, at: string): void {
    switch (event.kind) {
      case 'create-container':
        this.create(event, at);
        return;
      case 'container-created':
      case 'container-starting':
      case 'container-started': {
        const { kind, containerId } = event;
        const container = this.containers.get(containerId);
        const pod = container && this.pods.get(container.sandboxId);
        if (!pod || this.refused.has(containerId)) return;
        this.send({ kind, pod, container: { ...container, phase: PHASES[kind] } }, at);
        return;
      }
      case 'container-named': {
        const { temporaryId, containerId } = event;
        const container = this.containers.get(temporaryId);
        if (container) this.containers.set(containerId, { ...container, id: containerId });
        if (this.refused.has(temporaryId)) this.refused.add(containerId);
        else this.send(event, at);
        return;
      }
      case 'update-container':
      case 'container-stopped':
      case 'container-removed': {
        const id = event.kind === 'update-container' ? event.container.id : event.containerId;
        if (!this.refused.has(id)) this.send(event, at);
        return;
      }
      case 'pod-started':
        this.pods.set(event.pod.sandboxId, event.pod);
        this.send(event, at);
        return;
      case 'pod-specs': {
        const { kind, specs, known } = event;
        const { podSpecs } = this.node.view;
        // A list decides on the specs that are other objects than before.
        this.send({ kind, specs: specs.map((spec) => (known.has(spec.uid) && podSpecs.get(spec.uid)) || spec) }, at);
        return;
      }
      default:
        this.send(event, at);
    }
  }

  private create(event: Extract<NodeEvent, { kind: 'create-container' }>, at: string): void {
    const { pod, container } = event;
    const { view } = this.node;
    this.pods.set(pod.sandboxId, pod);
    this.containers.set(container.id, container);
    if (view.containers.has(container.id)) return; // a list had it already
    const key = `${pod.uid}/${container.name}`;
    const before = this.latest.get(key);
    const isRetry = before?.request.recorded.kind === 'refused' && !this.known.made.has(before.containerId);
    if (isRetry && view.containers.has(before.containerId)) {
      // It has its CPUs here since the first try. Once it was made then, it goes by that id.
      if (!this.known.made.has(container.id)) return;
      const named = { temporaryId: before.containerId, containerId: container.id, cgroupsPath: container.cgroupsPath };
      this.send({ kind: 'container-named', ...named }, at);
      this.latest.set(key, { containerId: container.id, request: before.request });
      return;
    }
    const { answer, reported } = this.send(event, at);
    if (answer.kind === 'refuse') this.refused.add(container.id);
    const recorded = this.known.outcomes.get(container.id) ?? this.guess(container.id, isRetry);
    const request: Request = {
      at,
      pod: `${pod.namespace}/${pod.name}`,
      container: container.name,
      recorded,
      replayed: outcomeOf(answer, reported, container.id),
      ...(this.known.uncertain.has(container.id) && { isUncertain: true }),
    };
    if (!isRetry) this.requests.push(request);
    this.latest.set(key, { containerId: container.id, request: isRetry ? before.request : request });
  }

  /** Containers that share are not in the journal, nor are most of the tries again after a refusal. */
  private guess(containerId: string, isRetry: boolean): Outcome {
    return isRetry && !this.known.made.has(containerId) ? { kind: 'refused', because: '' } : { kind: 'shares' };
  }

  private send(event: NodeEvent, at: string, live?: Parameters<VirtualNode['send']>[2]): Effect {
    const effect = this.node.send(event, at, live);
    this.moved += effect.moved;
    return effect;
  }
}

function outcomeOf(answer: Effect['answer'], reported: Effect['reported'], containerId: string): Outcome {
  if (answer.kind === 'refuse') return { kind: 'refused', because: answer.message };
  for (const event of reported)
    if (event.kind === 'pinned' && event.subject.containerId === containerId)
      return { kind: 'pinned', cpus: event.cpus?.toString() ?? '', because: event.because };
    else if ((event.kind === 'shares' || event.kind === 'left-alone') && event.subject.containerId === containerId)
      return { kind: 'shares', because: event.because };
  return { kind: 'shares' };
}

/** Means of numbers over time. */
class TimeMean {
  private sums: FreeUnits | undefined;
  private last: { readonly units: FreeUnits; readonly atMs: number } | undefined;
  private totalMs = 0;

  add(units: FreeUnits, atMs: number): void {
    if (this.last) {
      const { units: before, atMs: beforeMs } = this.last;
      const ms = Math.max(0, atMs - beforeMs); // a clock may be set back
      this.sums = combine(before, (name) => (this.sums?.[name] ?? 0) + before[name] * ms);
      this.totalMs += ms;
    }
    this.last = { units, atMs };
  }

  get result(): FreeUnits | undefined {
    const { sums, totalMs } = this;
    return sums && totalMs > 0 ? combine(sums, (name) => sums[name] / totalMs) : undefined;
  }
}

function combine(units: FreeUnits, make: (name: keyof FreeUnits) => number): FreeUnits {
  return Object.fromEntries(
    (Object.keys(units) as (keyof FreeUnits)[]).map((name) => [name, make(name)]),
  ) as unknown as FreeUnits;
}

/** True for a request whose outcome is another one, as far as that can be known. */
export function isDifferent(request: Request): boolean {
  return request.isUncertain !== true && cameOutOtherwise(request);
}

/** True for a request whose outcome is another one, while it is not known what it was decided on. */
export function isUnexplained(request: Request): boolean {
  return request.isUncertain === true && cameOutOtherwise(request);
}

function cameOutOtherwise({ recorded, replayed }: Request): boolean {
  return (
    recorded.kind !== replayed.kind ||
    (recorded.kind === 'pinned' && replayed.kind === 'pinned' && recorded.cpus !== replayed.cpus)
  );
}
