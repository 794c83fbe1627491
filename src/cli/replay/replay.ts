import type { ContainerInfo, NodeEvent, PodInfo } from '../../core/model/events';
import { countFreeUnits, type FreeUnits } from '../../core/model/free-units';
import type { Settings } from '../../core/model/settings';
import { VirtualNode, type Effect } from '../../core/replay/virtual-node';
import type { Topology } from '../../core/topology';
import type { History, Input, OptionTexts, Outcome, ReplayedEvent } from './read-inputs';

/** The rules of a replay: options and machine as they were recorded, or others. */
export interface ReplayRules {
  readonly settingsFor: (options: OptionTexts, topology: Topology) => Settings;
  /** Another machine than the recorded one. */
  readonly topology?: Topology;
  /** Containers that are there at the beginning keep their CPUs, where the rules allow it. */
  readonly keepsCpus: boolean;
}

/** A container that was asked for; tries again after a refusal are the same request. */
export interface Request {
  readonly at: string;
  /** `namespace/name`. */
  readonly pod: string;
  readonly container: string;
  readonly recorded: Outcome;
  readonly replayed: Outcome;
}

export interface Replay {
  readonly requests: readonly Request[];
  /** Containers that were moved for others. */
  readonly moved: number;
  /** How the free CPUs lay, weighted by time. Absent when no time has passed. */
  readonly meanFree?: FreeUnits;
  readonly topology: Topology | undefined;
}

/**
 * Sends the inputs of a journal to a node that is not there, and compares its decisions with those that were recorded. What a real node would
 * have done otherwise after another decision is not known: a container that is refused here is not tried again, and one that was refused then
 * and is not here stays until its pod ends.
 */
export function replay({ inputs, outcomes, made }: History, rules: ReplayRules): Replay {
  let player: Player | undefined;
  for (const input of inputs) {
    if (input.of === 'settings') {
      const topology = rules.topology ?? input.topology;
      const settings = rules.settingsFor(input.options, topology);
      if (player) player.changeRules(settings, topology, input.at);
      else player = new Player(new VirtualNode(topology, settings), { outcomes, made, keepsCpus: rules.keepsCpus });
    } else player?.play(input);
  }
  return player?.finish() ?? { requests: [], moved: 0, topology: undefined };
}

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
  private hasListed = false;

  constructor(
    private readonly node: VirtualNode,
    private readonly known: Pick<History, 'outcomes' | 'made'> & { readonly keepsCpus: boolean },
  ) {}

  changeRules(settings: Settings, topology: Topology, at: string): void {
    this.node.setSettings(settings);
    this.moved += this.node.setTopology(topology, at);
  }

  play(input: Exclude<Input, { of: 'settings' }>): void {
    if (input.of === 'listed') this.list(input);
    else this.playEvent(input.event, input.at);
    this.mean.add(countFreeUnits(this.node.view), Date.parse(input.at));
  }

  finish(): Replay {
    const { requests, moved } = this;
    const meanFree = this.mean.result;
    return { requests, moved, ...(meanFree && { meanFree }), topology: this.node.view.topology };
  }

  /** A list at the beginning of a file tells nothing new when what came before it was played. */
  private list({ at, isStart, pods, containers, specs, cpus }: Extract<Input, { of: 'listed' }>): void {
    if (isStart && this.hasListed) return;
    this.hasListed = true;
    for (const spec of specs) this.send({ kind: 'pod-spec', spec }, at);
    for (const pod of pods) this.pods.set(pod.sandboxId, pod);
    for (const container of containers) this.containers.set(container.id, container);
    const present = containers.filter(({ id }) => !this.refused.has(id));
    this.send({ kind: 'synchronize', pods, containers: present }, at, this.known.keepsCpus ? cpus : new Map());
  }

  private playEvent(event: ReplayedEvent, at: string): void {
    switch (event.kind) {
      case 'create-container':
        this.create(event, at);
        return;
      case 'container-started': {
        const container = this.containers.get(event.containerId);
        const pod = container && this.pods.get(container.sandboxId);
        if (!pod || this.refused.has(event.containerId)) return;
        for (const [kind, phase] of [
          ['container-starting', 'starting'],
          ['container-started', 'running'],
        ] as const)
          this.send({ kind, pod, container: { ...container, phase } }, at);
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
    const request = {
      at,
      pod: `${pod.namespace}/${pod.name}`,
      container: container.name,
      recorded,
      replayed: outcomeOf(answer, reported, container.id),
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

/** True for a request whose outcome is another one. */
export function isDifferent({ recorded, replayed }: Request): boolean {
  return (
    recorded.kind !== replayed.kind ||
    (recorded.kind === 'pinned' && replayed.kind === 'pinned' && recorded.cpus !== replayed.cpus)
  );
}
