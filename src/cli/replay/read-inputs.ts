import * as z from 'zod/mini';
import { CpuListError, parseCpuList, type CpuSet } from '../../core/cpuset';
import type { Assignment } from '../../core/model/assignment';
import type { Brought } from '../../core/model/brought';
import type { PodLevel } from '../../core/model/pod-level';
import type { Container } from '../../core/model/container';
import type { ContainerInfo, NodeEvent, PodInfo } from '../../core/model/events';
import type { PodSpec } from '../../core/model/pod-spec';
import { SILENT } from '../../core/model/spec-book';
import type { Moment, Remembered } from '../../core/replay/virtual-node';
import type { Topology } from '../../core/topology';
import { readAssignment, readBroughtEntry, readPodLevelEntry } from '../../state';
import { readMachineRecord, type JournalRecord } from '../../state/journal';
import { LeftOutCounter, type LeftOut } from './left-out';
import { listUnreadable } from './recorded-options';

/** Names of options with their texts, as a user would write them. */
export type OptionTexts = Readonly<Record<string, string>>;

/** Events that have the id of their container alone here. */
type Phased = 'container-created' | 'container-starting' | 'container-started';

/** The events that are sent again. */
export type ReplayedEvent =
  | Exclude<NodeEvent, { kind: Phased | 'pod-specs' }>
  | { readonly kind: Phased; readonly containerId: string }
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
    | { readonly of: 'settings'; readonly options: OptionTexts; readonly reserved: CpuSet; readonly topology: Topology }
    | { readonly of: 'event'; readonly event: ReplayedEvent }
    /** A start of the daemon. */
    | { readonly of: 'restored'; readonly remembered: Remembered }
    /** The runtime has listed what it has. `newer`: ids of what came after the list. */
    | ({ readonly of: 'listed'; readonly newer: readonly string[] } & Listing)
    /** The node at the beginning of the journal, or `afterGap`, when records before it are missing. */
    | ({ readonly of: 'begun'; readonly moment: Moment; readonly afterGap: boolean } & Listing)
  );

/** The first decision on a container that was asked for. */
export type Outcome =
  | { readonly kind: 'pinned'; readonly cpus: string; readonly because: string }
  | { readonly kind: 'refused'; readonly because: string }
  | { readonly kind: 'shares'; readonly because?: string };

/** What a journal tells. */
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

const texts = z.record(z.string(), z.string());
const amount = z.optional(z.number().check(z.gte(-1)));
const hugePages = z.optional(z.record(z.string(), z.number().check(z.gte(0))));
const resources = z.object({
  shares: amount,
  quotaUs: amount,
  periodUs: amount,
  memoryLimitBytes: amount,
  hugePages,
  cpus: z.optional(z.string()),
  mems: z.optional(z.string()),
});
const pod = z.object({
  sandboxId: z.string(),
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  annotations: texts,
  cgroupParent: z.string(),
  podResources: z.optional(resources),
});
const container = z.object({
  id: z.string(),
  sandboxId: z.string(),
  name: z.string(),
  phase: z.enum(['creating', 'created', 'starting', 'running', 'exited']),
  cgroupsPath: z.string(),
  pid: z.optional(z.number()),
  resources,
  oomScoreAdj: z.optional(z.number()),
});
const cpuSet = z.pipe(
  z.string().check(z.refine((text) => readCpus(text) !== undefined)),
  z.transform((text) => parseCpuList(text)),
);
const promise = z.object({
  cpus: cpuSet,
  mems: cpuSet,
  quota: z.optional(z.object({ quotaUs: z.number(), periodUs: z.optional(z.number()) })),
});
const containerState = z.object({
  podUid: z.string(),
  placement: z.enum(['exclusive', 'immovable', 'numa', 'shared', 'left-alone']),
  entitledCpus: z.number().check(z.gte(0)),
  freshAssignment: z.boolean(),
  because: z.string(),
  becauseOfCpus: z.optional(z.string()),
  leftAlone: z.optional(z.literal(true)),
  avoidsReserved: z.optional(z.literal(true)),
  annotationDigest: z.optional(z.string()),
  blockedSwitch: z.optional(z.object({ because: z.string(), since: z.string() })),
  quota: z.optional(z.enum(['lifted', 'as-asked'])),
  promise: z.optional(promise),
  promisedAt: z.optional(z.string()),
  waitingSince: z.optional(z.string()),
});
const specResources = {
  requestMilliCpu: amount,
  limitMilliCpu: amount,
  requestMemoryBytes: amount,
  limitMemoryBytes: amount,
};
const spec = z.object({
  uid: z.string(),
  namespace: z.string(),
  name: z.string(),
  annotations: texts,
  qos: z.enum(['Guaranteed', 'Burstable', 'BestEffort']),
  finished: z.boolean(),
  containers: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(['init', 'sidecar', 'app']),
      ended: z.boolean(),
      limitHugePages: hugePages,
      ...specResources,
    }),
  ),
  podResources: z.optional(z.object(specResources)),
});
const event = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('create-container'),
    pod,
    container,
    shareBecause: z.optional(z.string()),
    runsBeside: z.optional(z.array(z.string())),
  }),
  z.object({ kind: z.literal('update-container'), pod, container, resources }),
  z.object({
    kind: z.literal('container-named'),
    temporaryId: z.string(),
    containerId: z.string(),
    cgroupsPath: z.string(),
  }),
  z.object({ kind: z.literal('container-created'), containerId: z.string() }),
  z.object({ kind: z.literal('container-starting'), containerId: z.string() }),
  z.object({ kind: z.literal('container-started'), containerId: z.string() }),
  z.object({ kind: z.literal('container-stopped'), containerId: z.string() }),
  z.object({ kind: z.literal('container-removed'), containerId: z.string() }),
  z.object({ kind: z.literal('pod-started'), pod }),
  z.object({ kind: z.literal('pod-stopped'), sandboxId: z.string() }),
  z.object({ kind: z.literal('pod-removed'), sandboxId: z.string() }),
  z.object({ kind: z.literal('pod-spec'), spec }),
  z.object({ kind: z.literal('pod-spec-gone'), uid: z.string() }),
]);

const specsListed = z.object({ kind: z.literal('pod-specs') });
const source = z.object({ hasReported: z.boolean(), awaited: z.array(z.string()) });
const ids = z.array(z.string());

/**
 * Reads the records of a journal. Inputs that can't be read are left out, and counted: they may be of another version. From there on the node is not
 * wholly known, until a list of it or a start. `countUnreadable`: the lines so far that were no records.
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
  /** The gap that the next record tells of lies before the list of the node that was just read. */
  let isToldGap = false;
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
      if (isToldGap && record['namespace'] === undefined) isToldGap = false;
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
    if (listing.take(record)) continue;
    switch (record['of']) {
      case 'settings': {
        const options = texts.safeParse(record['options']);
        const topology = readMachineRecord(record['topology']);
        const reserved = readCpus(record['reserved']);
        areRulesKnown = options.success && topology !== undefined && reserved !== undefined;
        if (!options.success || !topology || !reserved) {
          leftOut.add('bad-rules');
          break;
        }
        const unreadable = listUnreadable(options.data);
        const readable = Object.fromEntries(
          Object.entries(options.data).filter(([name]) => !unreadable.includes(name)),
        );
        leftOut.add('bad-options', unreadable.length);
        areRulesKnown = unreadable.length === 0;
        hasRules = true;
        inputs.push({ at, of: 'settings', options: readable, reserved, topology });
        break;
      }
      case 'event': {
        isToldGap = false;
        if (!hasRules) leftOut.add('no-rules');
        else if (!hasStarted) leftOut.add('no-beginning');
        if (specsListed.safeParse(record['event']).success) {
          const { specs, knownSpecs: known } = listing;
          know(listing, false);
          inputs.push({ at, of: 'event', event: { kind: 'pod-specs', specs, known } });
          listing = new ListingReader();
          break;
        }
        const read = event.safeParse(record['event']);
        if (!read.success) {
          lose('bad-input');
          break;
        }
        const replayed = read.data as ReplayedEvent;
        if (replayed.kind === 'container-started' || replayed.kind === 'container-named')
          made.add(replayed.containerId);
        if (replayed.kind === 'container-named') made.add(replayed.temporaryId);
        if (replayed.kind === 'create-container') {
          asked = replayed.container.id;
          if (!areRulesKnown || !isNodeKnown) uncertain.add(asked);
        }
        inputs.push({ at, of: 'event', event: replayed });
        break;
      }
      case 'restored':
        inputs.push({ at, of: 'restored', remembered: listing.remember(record) });
        know(listing, true);
        hasStarted = true;
        listing = new ListingReader();
        break;
      case 'listed': {
        const newer = ids.safeParse(record['newer']);
        if (record['start'] !== true) {
          know(listing, false);
          inputs.push({ at, of: 'listed', newer: newer.data ?? [], ...listing.list });
        } else if (!hasBegun || record['afterGap'] === true || !isNodeKnown) {
          isToldGap = record['afterGap'] === true;
          if (isToldGap && hasStarted) lose('gap');
          inputs.push({
            ...{ at, of: 'begun', moment: listing.see(record) },
            afterGap: hasStarted && !isNodeKnown,
            ...listing.list,
          });
          know(listing, true);
          hasStarted = true;
          older = Number(record['ahead'] ?? 0);
        }
        hasBegun = true;
        listing = new ListingReader();
        break;
      }
      default:
        if (record['of'] !== undefined) lose('bad-input');
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

  /** False for a record of something else. */
  take(record: JournalRecord): boolean {
    switch (record['of']) {
      case 'assignment': {
        const read = readAssignment(record['assignment']);
        if ('assignment' in read) this.assignments.push(read.assignment);
        else this.unread += 1;
        return true;
      }
      case 'brought': {
        const read = readBroughtEntry(record['brought']);
        if (!read) return this.miss();
        this.brought.push(read);
        return true;
      }
      case 'pod-level': {
        const read = readPodLevelEntry(record['podLevel']);
        if (!read) return this.miss();
        this.podLevel.push(read);
        return true;
      }
      case 'kept-spec':
      case 'spec': {
        const read = spec.safeParse(record['spec']);
        if (!read.success) return this.miss();
        (record['of'] === 'spec' ? this.specs : this.keptSpecs).push(read.data as PodSpec);
        const { unplanned, known } = record;
        if (typeof unplanned === 'string') this.unplanned.set(read.data.uid, unplanned);
        if (known === true) this.knownSpecs.add(read.data.uid);
        return true;
      }
      case 'pod': {
        const read = pod.safeParse(record['info']);
        if (!read.success) return this.miss();
        this.pods.push(read.data as PodInfo);
        if (record['stopped'] === true) this.stopped.add(read.data.sandboxId);
        return true;
      }
      case 'container': {
        const read = container.safeParse(record['info']);
        if (!read.success) return this.miss();
        const { id } = read.data;
        this.containers.push(read.data as ContainerInfo);
        const cpus = readCpus(record.cpus);
        if (cpus && !cpus.isEmpty) this.cpus.set(id, cpus);
        const known = containerState.safeParse(record['state']);
        if (known.success) this.known.push({ ...read.data, ...known.data } as Container);
        else if (record['state'] !== undefined) this.unread += 1;
        return true;
      }
      default:
        return false;
    }
  }

  private miss(): true {
    this.unread += 1;
    return true;
  }

  get list(): Listing {
    const { pods, containers, specs, cpus } = this;
    return { pods, containers, specs, cpus };
  }

  see(record: JournalRecord): Moment {
    const { pods, stopped, known: containers, specs, unplanned } = this;
    return {
      ...this.remember(record),
      pods: pods.map((pod) => ({ ...pod, stopped: stopped.has(pod.sandboxId) })),
      containers,
      specs,
      unplanned,
      synchronized: record['synchronized'] === true,
    };
  }

  remember(record: JournalRecord): Remembered {
    const { assignments, keptSpecs, brought, podLevel } = this;
    const { data = SILENT } = source.safeParse(record['source']);
    return { assignments, keptSpecs, brought, podLevel, source: { ...data, awaited: new Set(data.awaited) } };
  }
}

function readCpus(value: unknown): CpuSet | undefined {
  try {
    return typeof value === 'string' ? parseCpuList(value) : undefined;
  } catch (error) {
    if (error instanceof CpuListError) return undefined;
    throw error;
  }
}
