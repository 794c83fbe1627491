import type { CpuSet } from '../../core/cpuset';
import type { Assignment } from '../../core/model/assignment';
import type { Brought } from '../../core/model/brought';
import type { PodLevel } from '../../core/model/pod-level';
import type { Container } from '../../core/model/container';
import type { ContainerInfo, PodInfo } from '../../core/model/events';
import type { PodSpec } from '../../core/model/pod-spec';
import { SILENT } from '../../core/model/spec-book';
import type { Moment, Remembered } from '../../core/replay/virtual-node';
import type { Topology } from '../../core/topology';
import type { JournalRecord, RecordedEvent } from '../../state/journal';
import { readInput, type ReadInput } from '../../state/journal/inputs';
import { LeftOutCounter, type LeftOut } from './left-out';
import { listUnreadable } from './recorded-options';

/** Names of options with their texts, as a user would write them. */
export type OptionTexts = Readonly<Record<string, string>>;

/** The events that are sent again. */
export type ReplayedEvent =
  | RecordedEvent
  /** `known`: the uids of pods whose specs had been reported before. */
  | { readonly kind: 'pod-specs'; readonly specs: readonly PodSpec[]; readonly known: ReadonlySet<string> };

/** The pods and containers that the runtime has, and the specs of pods. */
interface Listing {
  readonly pods: readonly PodInfo[];
  readonly containers: readonly ContainerInfo[];
  readonly specs: readonly PodSpec[];
  /** The CPUs of containers, where they are known. */
  readonly cpus: ReadonlyMap<string, CpuSet>;
}

/** One step of a journal that decisions follow from. */
export type Input = { readonly at: string } &
  /** `reserved`: the CPUs that the options reserved on that machine. */
  (
    | {
        readonly kind: 'settings';
        readonly options: OptionTexts;
        readonly reserved: CpuSet;
        readonly topology: Topology;
      }
    | { readonly kind: 'event'; readonly event: ReplayedEvent }
    /** A start of the daemon. */
    | { readonly kind: 'restored'; readonly remembered: Remembered }
    /** The runtime has listed what it has. `newer`: ids of what came after the list. */
    | ({ readonly kind: 'listed'; readonly newer: readonly string[] } & Listing)
    /** The node at the beginning of the journal, or `afterGap`, when records before it are missing. */
    | ({ readonly kind: 'begun'; readonly moment: Moment; readonly afterGap: boolean } & Listing)
  );

/** The first decision on a container that was asked for. */
export type Outcome =
  | { readonly kind: 'pinned'; readonly cpus: string; readonly because: string }
  | { readonly kind: 'refused'; readonly because: string }
  | { readonly kind: 'shares'; readonly because?: string };

/** The content of a journal. */
export interface History {
  readonly inputs: readonly Input[];
  /** By the id of the container. What is not here shares, or was a try again. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** Containers, by id, that were made. */
  readonly made: ReadonlySet<string>;
  /** Containers, by id, that were asked for while the node or its rules were not wholly known. */
  readonly uncertain: ReadonlySet<string>;
  /** The parts that are missing, or could not be read. Empty for a journal that was read as a whole. */
  readonly leftOut: readonly LeftOut[];
}

/**
 * Reads the records of a journal. Inputs that can't be read are left out, and counted: they may be of another version.
 * From there on the node is not wholly known, until a list of it or a start. `countUnreadable`: the lines so far that
 * were no records.
 */
export async function readHistory(
  records: AsyncIterable<JournalRecord>,
  countUnreadable: () => number = () => 0,
): Promise<History> {
  const inputs: Input[] = [];
  const outcomes = new Map<string, Outcome>();
  const made = new Set<string>();
  const uncertain = new Set<string>();
  const leftOut = new LeftOutCounter();
  let total = 0;
  let inputRecords = 0;
  let badLines = 0;
  let hasRules = false;
  /** The options and the machine are those of the last record of them. */
  let areRulesKnown = false;
  let isNodeKnown = false;
  const lose = (reason: 'gap' | 'not-recorded' | 'bad-line' | 'bad-input', count?: number): void => {
    leftOut.add(reason, count);
    isNodeKnown = false;
  };
  /** A list of the node, or what a start remembers: all is known again, if all of it could be read. */
  const know = ({ unread }: ListingReader, isWhole: boolean): void => {
    if (isWhole) isNodeKnown = true;
    if (unread > 0) lose('bad-input', unread);
  };
  /** The container of the last input, if that was a creation. */
  let asked: string | undefined;
  /** The gap of the next record lies before the list of the node that was just read. */
  let isKnownGap = false;
  /** The beginning of a file was read. */
  let hasBegun = false;
  /** The node was known at some time: by the beginning of a file, or by a start. */
  let hasStarted = false;
  /** Records that are older than the list at the beginning. */
  let older = 0;
  let listing = new ListingReader();
  for await (const record of records) {
    const { at, kind, containerId, cpus = '', because = '' } = record;
    total += 1;
    if (countUnreadable() > badLines) lose('bad-line', countUnreadable() - badLines);
    badLines = countUnreadable();
    if (older > 0) {
      older -= 1;
      continue;
    }
    if (kind === 'left-out' || (kind === 'input' && record['of'] === undefined)) {
      const count = record['events'] ?? record['records'];
      if (isKnownGap && record['namespace'] === undefined) isKnownGap = false;
      else if (typeof count === 'number') lose('not-recorded', count);
      else lose('gap');
    }
    if (containerId !== undefined) {
      // A decision follows its input. It may be taken back later, when other containers could not be moved.
      const isDecided = containerId === asked;
      if (kind === 'pinned' && isDecided) outcomes.set(containerId, { kind, cpus, because });
      if (kind === 'refused' && (isDecided || record['asked'] === 'creation'))
        outcomes.set(containerId, { kind, because });
    }
    if (kind !== 'input') continue;
    asked = undefined;
    inputRecords += 1;
    const input = readInput(record);
    if (listing.take(input)) continue;
    const inputKind = input.kind === 'unreadable' ? input.was : input.kind;
    if (inputKind === 'event' || inputKind === 'pod-specs') {
      isKnownGap = false;
      if (!hasRules) leftOut.add('no-rules');
      else if (!hasStarted) leftOut.add('no-beginning');
    }
    switch (input.kind) {
      case 'settings': {
        const { options, reserved, topology } = input;
        const unreadable = listUnreadable(options);
        const readable = Object.fromEntries(Object.entries(options).filter(([name]) => !unreadable.includes(name)));
        leftOut.add('bad-options', unreadable.length);
        areRulesKnown = unreadable.length === 0;
        hasRules = true;
        inputs.push({ at, kind: 'settings', options: readable, reserved, topology });
        break;
      }
      case 'pod-specs': {
        const { specs, knownSpecs: known } = listing;
        know(listing, false);
        inputs.push({ at, kind: 'event', event: { kind: 'pod-specs', specs, known } });
        listing = new ListingReader();
        break;
      }
      case 'event': {
        const { event } = input;
        if (event.kind === 'container-started' || event.kind === 'container-named') made.add(event.containerId);
        if (event.kind === 'container-named') made.add(event.temporaryId);
        if (event.kind === 'create-container') {
          asked = event.container.id;
          if (!areRulesKnown || !isNodeKnown) uncertain.add(asked);
        }
        inputs.push({ at, kind: 'event', event });
        break;
      }
      case 'restored':
        inputs.push({ at, kind: 'restored', remembered: listing.remember(input) });
        know(listing, true);
        hasStarted = true;
        listing = new ListingReader();
        break;
      case 'listed':
        if (!input.isStart) {
          know(listing, false);
          inputs.push({ at, kind: 'listed', newer: input.newer, ...listing.list });
        } else if (!hasBegun || input.isAfterGap || !isNodeKnown) {
          isKnownGap = input.isAfterGap;
          if (isKnownGap && hasStarted) lose('gap');
          inputs.push({
            at,
            kind: 'begun',
            moment: listing.see(input),
            afterGap: hasStarted && !isNodeKnown,
            ...listing.list,
          });
          know(listing, true);
          hasStarted = true;
          older = input.ahead;
        }
        hasBegun = true;
        listing = new ListingReader();
        break;
      case 'unreadable':
        if (inputKind === 'settings') {
          areRulesKnown = false;
          leftOut.add('bad-rules');
        } else if (inputKind !== undefined) lose('bad-input');
    }
  }
  leftOut.add('bad-line', countUnreadable() - badLines);
  if (inputRecords === 0) leftOut.add('no-inputs', total);
  return { inputs, outcomes, made, uncertain, leftOut: leftOut.list };
}

/** Gathers the records of a list, which stand before its end. */
class ListingReader {
  private readonly assignments: Assignment[] = [];
  private readonly keptSpecs: PodSpec[] = [];
  private readonly brought: Brought[] = [];
  private readonly podLevel: PodLevel[] = [];
  private readonly pods: PodInfo[] = [];
  private readonly stopped = new Set<string>();
  private readonly containers: ContainerInfo[] = [];
  private readonly cpus = new Map<string, CpuSet>();
  private readonly known: Container[] = [];
  private readonly unplanned = new Map<string, string>();
  readonly specs: PodSpec[] = [];
  /** The number of records that can't be read. */
  unread = 0;
  /** The uids of specs that are no news. */
  readonly knownSpecs = new Set<string>();

  /** False for an input that is no entry of a list. */
  take(input: ReadInput): boolean {
    switch (input.kind) {
      case 'assignment':
        this.assignments.push(input.assignment);
        return true;
      case 'brought':
        this.brought.push(input.brought);
        return true;
      case 'pod-level':
        this.podLevel.push(input.podLevel);
        return true;
      case 'kept-spec':
        this.keptSpecs.push(input.spec);
        return true;
      case 'spec': {
        const { spec, isKnown, unplanned } = input;
        this.specs.push(spec);
        if (unplanned !== undefined) this.unplanned.set(spec.uid, unplanned);
        if (isKnown) this.knownSpecs.add(spec.uid);
        return true;
      }
      case 'pod':
        this.pods.push(input.info);
        if (input.isStopped) this.stopped.add(input.info.sandboxId);
        return true;
      case 'container': {
        const { info, cpus, state, isPartial } = input;
        this.containers.push(info);
        if (cpus && !cpus.isEmpty) this.cpus.set(info.id, cpus);
        if (state) this.known.push({ ...info, ...state });
        if (isPartial) this.unread += 1;
        return true;
      }
      case 'unreadable':
        if (!isEntry(input.was)) return false;
        this.unread += 1;
        return true;
      default:
        return false;
    }
  }

  get list(): Listing {
    const { pods, containers, specs, cpus } = this;
    return { pods, containers, specs, cpus };
  }

  see(listed: Listed): Moment {
    const { pods, stopped, known: containers, specs, unplanned } = this;
    return {
      ...this.remember(listed),
      pods: pods.map((pod) => ({ ...pod, stopped: stopped.has(pod.sandboxId) })),
      containers,
      specs,
      unplanned,
      synchronized: listed.isSynchronized,
    };
  }

  remember({ source }: Pick<Listed, 'source'>): Remembered {
    const { assignments, keptSpecs, brought, podLevel } = this;
    const known = source ? { ...source, awaited: new Set(source.awaited) } : SILENT;
    return { assignments, keptSpecs, brought, podLevel, source: known };
  }
}

type Listed = Extract<ReadInput, { readonly kind: 'listed' }>;

const ENTRIES = ['assignment', 'brought', 'pod-level', 'kept-spec', 'spec', 'pod', 'container'] as const;

function isEntry(kind: unknown): boolean {
  return ENTRIES.some((entry) => entry === kind);
}
