import { infoOf, type Container } from '../../core/model/container';
import type { NodeEvent, PodInfo, RuntimeAnswer } from '../../core/model/events';
import type { NodeView } from '../../core/model/node-view';
import type { PodSpec } from '../../core/model/pod-spec';
import type { DomainEvent } from '../../core/transition';
import { whole, type Same } from '../../core/whole';
import { describeMachine } from './machine';
import type { NewRecord } from './record';
import type { RecordedEvents, RecordedInputs, RecordedPod, RecordedSource, RecordedState } from './recorded-input';

/** The parts of a record, each with all fields of its type. */
type WholeParts<F, T> = {
  readonly [P in keyof F & keyof T]?: Same<Exclude<F[P], undefined>, Exclude<T[P], undefined>>;
};

function record<K extends Exclude<keyof RecordedInputs, 'event'>, F extends RecordedInputs[K]>(
  part: K,
  facts: F & WholeParts<F, RecordedInputs[K]>,
): NewRecord {
  return { kind: 'input', of: part, ...facts };
}

function recordEvent<E extends { readonly kind: keyof RecordedEvents | 'pod-specs' }>(
  event: E & (E['kind'] extends keyof RecordedEvents ? Same<E, RecordedEvents[E['kind']]> : unknown),
): NewRecord {
  return { kind: 'input', of: 'event', event };
}

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

/** A transaction of the node. `timing` is absent where nothing was decided. */
export interface RecordedTransaction {
  readonly request?: NodeEvent;
  readonly timing?: object;
  readonly answer: RuntimeAnswer;
  readonly reported: readonly Pick<DomainEvent, 'kind'>[];
}

/**
 * Makes records of the events that decisions follow from, so that `cpusetd replay` can decide again. Events that change
 * no placement are left out, and so is the end of a container or pod whose beginning is not in the journal.
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
    yield record('restored', { source: this.describeSource() });
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
   * The rules and the node as they are, for the beginning of a file. `ahead`: records that follow it and are older.
   * `afterGap`: records before it are missing.
   */
  *list(ahead: number, afterGap = false): Generator<NewRecord> {
    const { view } = this;
    if (afterGap) this.followNode();
    yield this.rules();
    yield* this.listRemembered();
    for (const { stopped, ...info } of view.pods.values())
      yield record('pod', { info: toRecordedPod(info), ...(stopped && { stopped }) });
    for (const container of view.containers.values())
      yield record('container', { info: infoOf(container), state: stateOf(container) });
    for (const spec of view.podSpecs.values()) {
      const unplanned = view.unplanned.get(spec.uid);
      yield record('spec', { spec, ...(unplanned !== undefined && { unplanned }) });
    }
    this.followSpecs(view.podSpecs.values());
    const { synchronized } = view;
    const listed = { start: true as const, ahead, synchronized, ...(afterGap && { afterGap }) };
    yield record('listed', { ...listed, source: this.describeSource() });
  }

  /** The options in force and the machine. */
  rules(): NewRecord {
    const { settings, topology } = this.view;
    this.recorded = { settings, topology };
    return record('settings', {
      ...this.options(),
      reserved: settings.reserved,
      topology: describeMachine(topology),
    });
  }

  private *listRemembered(): Generator<NewRecord> {
    for (const assignment of this.view.assignments.values()) yield record('assignment', { assignment });
    for (const spec of this.view.keptSpecs.values()) yield record('kept-spec', { spec });
    for (const brought of this.view.brought.values()) yield record('brought', { brought });
    for (const podLevel of this.view.podLevel.values()) yield record('pod-level', { podLevel });
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

  private describeSource(): RecordedSource {
    const { hasReported, awaited } = this.view.specSource;
    return { hasReported, awaited: [...awaited] };
  }

  /** The ends that no event reported: they were seen by comparison with the runtime. */
  private listEnded(): readonly NewRecord[] {
    const { containerIds, sandboxIds, view } = this;
    const containers = [...containerIds].filter((id) => !view.containers.has(id));
    const sandboxes = [...sandboxIds].filter((id) => !view.pods.has(id));
    for (const id of containers) containerIds.delete(id);
    for (const id of sandboxes) sandboxIds.delete(id);
    return [
      ...containers.map((containerId) => recordEvent({ kind: 'container-removed', containerId })),
      ...sandboxes.map((sandboxId) => recordEvent({ kind: 'pod-removed', sandboxId })),
    ];
  }

  private describe(event: NodeEvent, isGranted: boolean): readonly NewRecord[] {
    switch (event.kind) {
      case 'create-container': {
        const { counts: _counts, pod, ...request } = event;
        if (isGranted) this.containerIds.add(event.container.id);
        return [...this.addPod(pod), recordEvent({ ...request, pod: toRecordedPod(pod) })];
      }
      case 'update-container': {
        const { counts: _counts, pod, ...request } = event;
        return [recordEvent({ ...request, pod: toRecordedPod(pod) })];
      }
      case 'container-named': {
        if (this.containerIds.delete(event.temporaryId)) this.containerIds.add(event.containerId);
        return [recordEvent(event)];
      }
      case 'container-created':
      case 'container-starting':
      case 'container-started': {
        const { kind, container } = event;
        if (!this.containerIds.has(container.id)) return [];
        return [recordEvent({ kind, containerId: container.id })];
      }
      case 'container-stopped':
      case 'container-removed':
        return this.containerIds.delete(event.containerId) ? [recordEvent(event)] : [];
      case 'pod-started':
        return this.addPod(event.pod);
      case 'pod-stopped':
        return this.sandboxIds.has(event.sandboxId) ? [recordEvent(event)] : [];
      case 'pod-removed':
        return this.sandboxIds.delete(event.sandboxId) ? [recordEvent(event)] : [];
      case 'pod-spec':
        this.specs.set(event.spec.uid, event.spec);
        return [recordEvent(event)];
      case 'pod-spec-gone':
        this.specs.delete(event.uid);
        return [recordEvent(event)];
      case 'pod-specs': {
        const isKnown = (spec: PodSpec): boolean => this.specs.get(spec.uid) === spec;
        const records = event.specs.map((spec) =>
          record('spec', { spec, ...(isKnown(spec) && { known: true as const }) }),
        );
        this.followSpecs(event.specs);
        return [...records, recordEvent({ kind: event.kind })];
      }
      case 'synchronize':
        return this.describeList(event);
      // No placement follows from these.
      case 'pauses-found':
      case 'container-updated':
      case 'update-failed':
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
      ...pods.map((pod) => record('pod', { info: toRecordedPod(pod) })),
      ...containers.map((info) => {
        const cpus = view.containers.get(info.id)?.promise?.cpus;
        return record('container', { info, ...(cpus && { cpus }) });
      }),
      record('listed', { ...(baseline && newer.length > 0 && { newer }) }),
    ];
  }

  /** A sandbox is recorded once; its containers come later, and name it. */
  private addPod(pod: PodInfo): readonly NewRecord[] {
    if (this.sandboxIds.has(pod.sandboxId)) return [];
    this.sandboxIds.add(pod.sandboxId);
    return [recordEvent({ kind: 'pod-started', pod: toRecordedPod(pod) })];
  }
}

function toRecordedPod({ pause: _pause, ...pod }: PodInfo): RecordedPod {
  return whole<RecordedPod>()(pod);
}

function stateOf(container: Container): RecordedState {
  const { podUid, placement, entitledCpus, avoidsReserved, annotationDigest, blockedSwitch, quota } = container;
  const { promise, promisedAt, waitingSince, freshAssignment, leftAlone, because, becauseOfCpus } = container;
  return whole<RecordedState>()({
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
  });
}

/** False for an event of which nothing remains: its decision was not saved, or there was none. */
function isDecided(answer: RuntimeAnswer): boolean {
  return answer.kind === 'ok' || (answer.code !== 'UNAVAILABLE' && answer.code !== 'INTERNAL');
}
