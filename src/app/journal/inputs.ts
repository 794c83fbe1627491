import { infoOf, type Container } from '../../core/model/container';
import type { ContainerInfo, NodeEvent, PodInfo, RuntimeAnswer } from '../../core/model/events';
import type { NodeView } from '../../core/model/node-view';
import type { PodSpec } from '../../core/model/pod-spec';
import { describeMachine, type NewRecord } from '../../state/journal';
import type { Transaction } from '../transaction/transaction';

const record = (facts: Readonly<Record<string, unknown>>): NewRecord => ({ kind: 'input', ...facts });

type RecordedView = Pick<
  NodeView,
  | 'pods'
  | 'containers'
  | 'podSpecs'
  | 'keptSpecs'
  | 'brought'
  | 'podLevel'
  | 'assignments'
  | 'unplanned'
  | 'specSource'
  | 'synchronized'
  | 'settings'
  | 'topology'
>;

type RecordedTransaction = Pick<Transaction, 'request' | 'timing' | 'answer' | 'reported'>;

/**
 * Makes records of the events that decisions follow from, so that `cpusetd replay` can decide again. Events that change no placement are left out,
 * and so is the end of a container or pod whose beginning is not in the journal.
 */
export class InputRecorder {
  private readonly containerIds = new Set<string>();
  private readonly sandboxIds = new Set<string>();
  /** The specs in the journal, by uid. A complete list of pods decides only on those that are new in it. */
  private readonly specs = new Map<string, PodSpec>();
  /** The rules of the last record of them. */
  private recorded: Partial<Pick<NodeView, 'settings' | 'topology'>> = {};

  /** `options`: the options in force, for the records of the rules. */
  constructor(
    private readonly view: RecordedView,
    private readonly options: () => object,
  ) {}

  /** Number of pods and containers whose beginning is in the journal and whose end is not. */
  get open(): number {
    return this.containerIds.size + this.sandboxIds.size;
  }

  /** The rules, and what a start has read from disk. */
  *start(): Generator<NewRecord> {
    yield this.rules();
    yield* this.listRemembered();
    this.followSpecs(this.view.keptSpecs.values());
    yield record({ of: 'restored', ...this.describeSource() });
  }

  /** The records of a transaction; none for news of how a request ended. */
  of({ request, timing, answer, reported }: RecordedTransaction): readonly NewRecord[] {
    const { settings, topology } = this.view;
    const hasNewRules =
      settings !== this.recorded.settings ||
      topology !== this.recorded.topology ||
      reported.some(({ kind }) => kind === 'settings-changed');
    const rules = hasNewRules ? [this.rules()] : [];
    if (!request) return [...rules, ...this.listEnded()];
    return timing && isDecided(answer) ? [...rules, ...this.describe(request, answer.kind === 'ok')] : rules;
  }

  /**
   * The rules and the node as they are, for the beginning of a file. `ahead`: records that follow it and are older. `afterGap`: records before it
   * are missing.
   */
  *list(ahead: number, afterGap = false): Generator<NewRecord> {
    const { view } = this;
    if (afterGap) this.followNode();
    yield this.rules();
    yield* this.listRemembered();
    for (const { stopped, pause: _pause, ...info } of view.pods.values())
      yield record({ of: 'pod', info, ...(stopped && { stopped }) });
    for (const container of view.containers.values())
      yield record({ of: 'container', info: infoOf(container), state: stateOf(container) });
    for (const spec of view.podSpecs.values())
      yield record({ of: 'spec', spec, unplanned: view.unplanned.get(spec.uid) });
    this.followSpecs(view.podSpecs.values());
    const { synchronized } = view;
    const listed = { of: 'listed', start: true, ahead, synchronized, ...(afterGap && { afterGap }) };
    yield record({ ...listed, ...this.describeSource() });
  }

  /** The options in force and the machine. */
  rules(): NewRecord {
    const { settings, topology } = this.view;
    this.recorded = { settings, topology };
    return record({
      of: 'settings',
      ...this.options(),
      reserved: settings.reserved,
      topology: describeMachine(topology),
    });
  }

  private *listRemembered(): Generator<NewRecord> {
    for (const assignment of this.view.assignments.values()) yield record({ of: 'assignment', assignment });
    for (const spec of this.view.keptSpecs.values()) yield record({ of: 'kept-spec', spec });
    for (const brought of this.view.brought.values()) yield record({ of: 'brought', brought });
    for (const podLevel of this.view.podLevel.values()) yield record({ of: 'pod-level', podLevel });
  }

  /** The beginnings of these are in the journal now, and of no others. */
  private followNode(): void {
    this.containerIds.clear();
    this.sandboxIds.clear();
    for (const id of this.view.containers.keys()) this.containerIds.add(id);
    for (const id of this.view.pods.keys()) this.sandboxIds.add(id);
  }

  private followSpecs(specs: Iterable<PodSpec>): void {
    this.specs.clear();
    for (const spec of specs) this.specs.set(spec.uid, spec);
  }

  private describeSource(): object {
    const { hasReported, awaited } = this.view.specSource;
    return { source: { hasReported, awaited: [...awaited] } };
  }

  /** The ends that no event told of: they were seen by comparison with the runtime. */
  private listEnded(): readonly NewRecord[] {
    const { containerIds, sandboxIds, view } = this;
    const containers = [...containerIds].filter((id) => !view.containers.has(id));
    const sandboxes = [...sandboxIds].filter((id) => !view.pods.has(id));
    for (const id of containers) containerIds.delete(id);
    for (const id of sandboxes) sandboxIds.delete(id);
    return [
      ...containers.map((containerId) => record({ of: 'event', event: { kind: 'container-removed', containerId } })),
      ...sandboxes.map((sandboxId) => record({ of: 'event', event: { kind: 'pod-removed', sandboxId } })),
    ];
  }

  private describe(event: NodeEvent, isGranted: boolean): readonly NewRecord[] {
    switch (event.kind) {
      case 'create-container': {
        const { counts: _counts, ...request } = event;
        if (isGranted) this.containerIds.add(event.container.id);
        return [...this.addPod(event.pod), record({ of: 'event', event: request })];
      }
      case 'update-container': {
        const { counts: _counts, ...request } = event;
        return [record({ of: 'event', event: request })];
      }
      case 'container-named': {
        if (this.containerIds.delete(event.temporaryId)) this.containerIds.add(event.containerId);
        return [record({ of: 'event', event })];
      }
      case 'container-created':
      case 'container-starting':
      case 'container-started': {
        const { kind, container } = event;
        if (!this.containerIds.has(container.id)) return [];
        return [record({ of: 'event', event: { kind, containerId: container.id } })];
      }
      case 'container-stopped':
      case 'container-removed':
        return this.containerIds.delete(event.containerId) ? [record({ of: 'event', event })] : [];
      case 'pod-started':
        return this.addPod(event.pod);
      case 'pod-stopped':
        return this.sandboxIds.has(event.sandboxId) ? [record({ of: 'event', event })] : [];
      case 'pod-removed':
        return this.sandboxIds.delete(event.sandboxId) ? [record({ of: 'event', event })] : [];
      case 'pod-spec':
        this.specs.set(event.spec.uid, event.spec);
        return [record({ of: 'event', event })];
      case 'pod-spec-gone':
        this.specs.delete(event.uid);
        return [record({ of: 'event', event })];
      case 'pod-specs': {
        const isKnown = (spec: PodSpec): boolean => this.specs.get(spec.uid) === spec;
        const records = event.specs.map((spec) => record({ of: 'spec', spec, ...(isKnown(spec) && { known: true }) }));
        this.followSpecs(event.specs);
        return [...records, record({ of: 'event', event: { kind: event.kind } })];
      }
      case 'synchronize':
        return this.describeList(event);
      default:
        return [];
    }
  }

  private describeList({
    pods,
    containers,
    baseline,
  }: Extract<NodeEvent, { kind: 'synchronize' }>): readonly NewRecord[] {
    const { view } = this;
    for (const { sandboxId } of pods) this.sandboxIds.add(sandboxId);
    for (const { id } of containers) this.containerIds.add(id);
    this.listEnded();
    const listed = new Set([...pods.map(({ sandboxId }) => sandboxId), ...containers.map(({ id }) => id)]);
    // The list is older than these, and does not end them.
    const newer = [...view.pods.keys(), ...view.containers.keys()].filter((id) => !listed.has(id));
    return [
      ...pods.map(({ pause: _pause, ...info }) => record({ of: 'pod', info })),
      ...containers.map((info) => record({ of: 'container', info, cpus: view.containers.get(info.id)?.promise?.cpus })),
      record({ of: 'listed', ...(baseline && newer.length > 0 && { newer }) }),
    ];
  }

  /** A sandbox is told once; its containers come later, and name it. */
  private addPod({ pause: _pause, ...pod }: PodInfo): readonly NewRecord[] {
    if (this.sandboxIds.has(pod.sandboxId)) return [];
    this.sandboxIds.add(pod.sandboxId);
    return [record({ of: 'event', event: { kind: 'pod-started', pod } })];
  }
}

/** Facts of a container beside the runtime's data, as far as decisions follow from them. */
function stateOf(container: Container): Omit<Container, keyof ContainerInfo | 'pause' | 'applied' | 'runtimeRecord'> {
  const { podUid, placement, entitledCpus, avoidsReserved, annotationDigest, blockedSwitch, quota } = container;
  const { promise, promisedAt, waitingSince, freshAssignment, leftAlone, because, becauseOfCpus } = container;
  return {
    podUid,
    placement,
    entitledCpus,
    freshAssignment,
    because,
    ...(becauseOfCpus !== undefined && { becauseOfCpus }),
    ...(leftAlone && { leftAlone }),
    ...(avoidsReserved && { avoidsReserved }),
    ...(annotationDigest !== undefined && { annotationDigest }),
    ...(blockedSwitch && { blockedSwitch }),
    ...(quota && { quota }),
    ...(promise && { promise }),
    ...(promisedAt !== undefined && { promisedAt }),
    ...(waitingSince !== undefined && { waitingSince }),
  };
}

/** False for an event of which nothing remains: its decision was not saved, or there was none. */
function isDecided(answer: RuntimeAnswer): boolean {
  return answer.kind === 'ok' || (answer.code !== 'UNAVAILABLE' && answer.code !== 'INTERNAL');
}
