import * as z from 'zod/mini';
import { CpuSet, parseCpuList } from '../../core/cpuset';
import type { ContainerInfo, NodeEvent, PodInfo } from '../../core/model/events';
import type { PodSpec } from '../../core/model/pod-spec';
import type { Topology } from '../../core/topology';
import { readMachineRecord, type JournalRecord } from '../../state/journal';

/** Names of options with their texts, as a user would write them. */
export type OptionTexts = Readonly<Record<string, string>>;

/** The events that are sent again. A start has the id of a container alone. */
export type ReplayedEvent =
  | Exclude<NodeEvent, { kind: 'container-started' }>
  | { readonly kind: 'container-started'; readonly containerId: string };

/** One step of a journal that decisions follow from. */
export type Input = { readonly at: string } & (
  | { readonly of: 'settings'; readonly options: OptionTexts; readonly topology: Topology }
  | { readonly of: 'event'; readonly event: ReplayedEvent }
  /** The pods and containers that the runtime has. `isStart`: a file of the journal begins with it. */
  | {
      readonly of: 'listed';
      readonly isStart: boolean;
      readonly pods: readonly PodInfo[];
      readonly containers: readonly ContainerInfo[];
      readonly specs: readonly PodSpec[];
      /** The CPUs of containers, where they are known. */
      readonly cpus: ReadonlyMap<string, CpuSet>;
    }
);

/** The first decision on a container that was asked for. */
export type Outcome =
  | { readonly kind: 'pinned'; readonly cpus: string; readonly because: string }
  | { readonly kind: 'refused'; readonly because: string }
  | { readonly kind: 'shares' };

/** What a journal tells. */
export interface History {
  readonly inputs: readonly Input[];
  /** By the id of the container. What is not here shares, or was a try again. */
  readonly outcomes: ReadonlyMap<string, Outcome>;
  /** Containers, by id, that were made. */
  readonly made: ReadonlySet<string>;
  /** Records are missing: a namespace had too many, or a disk took none. */
  readonly isPartial: boolean;
}

const texts = z.record(z.string(), z.string());
const amount = z.optional(z.number().check(z.gte(-1)));
const resources = z.object({
  shares: amount,
  quotaUs: amount,
  periodUs: amount,
  memoryLimitBytes: amount,
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
  resources,
  oomScoreAdj: z.optional(z.number()),
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
    z.object({ name: z.string(), kind: z.enum(['init', 'sidecar', 'app']), ended: z.boolean(), ...specResources }),
  ),
  podResources: z.optional(z.object(specResources)),
});
const event = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('create-container'), pod, container }),
  z.object({ kind: z.literal('update-container'), pod, container, resources }),
  z.object({
    kind: z.literal('container-named'),
    temporaryId: z.string(),
    containerId: z.string(),
    cgroupsPath: z.string(),
  }),
  z.object({ kind: z.literal('container-started'), containerId: z.string() }),
  z.object({ kind: z.literal('container-stopped'), containerId: z.string() }),
  z.object({ kind: z.literal('container-removed'), containerId: z.string() }),
  z.object({ kind: z.literal('pod-started'), pod }),
  z.object({ kind: z.literal('pod-stopped'), sandboxId: z.string() }),
  z.object({ kind: z.literal('pod-removed'), sandboxId: z.string() }),
  z.object({ kind: z.literal('pod-spec'), spec }),
  z.object({ kind: z.literal('pod-spec-gone'), uid: z.string() }),
]);

/** Reads the records of a journal. Those that are no inputs of ours are left out: they may be of another version. */
export async function readHistory(records: AsyncIterable<JournalRecord>): Promise<History> {
  const inputs: Input[] = [];
  const outcomes = new Map<string, Outcome>();
  const made = new Set<string>();
  let isPartial = false;
  /** The container of the last input, if that was a creation. */
  let asked: string | undefined;
  let listing = newListing();
  for await (const record of records) {
    const { at, kind, containerId, cpus = '', because = '' } = record;
    if (kind === 'left-out') isPartial = true;
    if (containerId !== undefined) {
      // A decision follows its input. It may be taken back later, when other containers could not be moved.
      const isDecided = containerId === asked;
      if (kind === 'pinned' && isDecided) outcomes.set(containerId, { kind, cpus, because });
      if (kind === 'refused' && (isDecided || record['asked'] === 'creation'))
        outcomes.set(containerId, { kind, because });
    }
    if (kind !== 'input') continue;
    asked = undefined;
    switch (record['of']) {
      case 'settings': {
        const options = texts.safeParse(record['options']);
        const topology = readMachineRecord(record['topology']);
        if (options.success && topology) inputs.push({ at, of: 'settings', options: options.data, topology });
        break;
      }
      case 'event': {
        const read = event.safeParse(record['event']);
        if (!read.success) break;
        const replayed = read.data as ReplayedEvent;
        if (replayed.kind === 'container-started' || replayed.kind === 'container-named')
          made.add(replayed.containerId);
        if (replayed.kind === 'container-named') made.add(replayed.temporaryId);
        if (replayed.kind === 'create-container') asked = replayed.container.id;
        inputs.push({ at, of: 'event', event: replayed });
        break;
      }
      case 'pod': {
        const read = pod.safeParse(record['info']);
        if (read.success) listing.pods.push(read.data as PodInfo);
        break;
      }
      case 'container': {
        const read = container.safeParse(record['info']);
        if (!read.success) break;
        listing.containers.push(read.data as ContainerInfo);
        if (cpus !== '') listing.cpus.set(read.data.id, parseCpuList(cpus));
        break;
      }
      case 'spec': {
        const read = spec.safeParse(record['spec']);
        if (read.success) listing.specs.push(read.data as PodSpec);
        break;
      }
      case 'listed':
        inputs.push({ at, of: 'listed', isStart: record['start'] === true, ...listing });
        listing = newListing();
        break;
    }
  }
  return { inputs, outcomes, made, isPartial };
}

function newListing() {
  return {
    pods: [] as PodInfo[],
    containers: [] as ContainerInfo[],
    specs: [] as PodSpec[],
    cpus: new Map<string, CpuSet>(),
  };
}
