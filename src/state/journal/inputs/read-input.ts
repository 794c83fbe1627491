import type { CpuSet } from '../../../core/cpuset';
import type { Assignment } from '../../../core/model/assignment';
import type { Brought } from '../../../core/model/brought';
import type { ContainerInfo } from '../../../core/model/events';
import type { PodLevel } from '../../../core/model/pod-level';
import type { PodSpec } from '../../../core/model/pod-spec';
import type { Topology } from '../../../core/topology';
import { readAssignment, readBroughtEntry, readPodLevelEntry } from '../../read-entries';
import { readMachineRecord } from '../machine';
import type { JournalRecord } from '../record';
import type { RecordedEvent, RecordedInputs, RecordedPod, RecordedSource, RecordedState } from '../recorded-input';
import {
  container,
  containerState,
  ids,
  kindOf,
  parse,
  parseEvent,
  pod,
  readCpus,
  source,
  spec,
  texts,
} from './shapes';

/** An input as it was read; `unreadable` is one of another version, or none. */
export type ReadInput =
  | {
      readonly kind: 'settings';
      /** Names and texts of the options, as a user would write them. */
      readonly options: Readonly<Record<string, string>>;
      readonly reserved: CpuSet;
      readonly topology: Topology;
    }
  | { readonly kind: 'event'; readonly event: RecordedEvent }
  /** Ends a list of all specs. */
  | { readonly kind: 'pod-specs' }
  | { readonly kind: 'assignment'; readonly assignment: Assignment }
  | { readonly kind: 'kept-spec'; readonly spec: PodSpec }
  | { readonly kind: 'brought'; readonly brought: Brought }
  | { readonly kind: 'pod-level'; readonly podLevel: PodLevel }
  | { readonly kind: 'restored'; readonly source: RecordedSource | undefined }
  | { readonly kind: 'pod'; readonly info: RecordedPod; readonly isStopped: boolean }
  | {
      readonly kind: 'container';
      readonly info: ContainerInfo;
      readonly cpus: CpuSet | undefined;
      readonly state: RecordedState | undefined;
      /** The runtime's data were read, and the rest was not. */
      readonly isPartial: boolean;
    }
  | {
      readonly kind: 'spec';
      readonly spec: PodSpec;
      readonly isKnown: boolean;
      readonly unplanned: string | undefined;
    }
  | {
      readonly kind: 'listed';
      readonly isStart: boolean;
      readonly isAfterGap: boolean;
      readonly newer: readonly string[];
      readonly ahead: number;
      readonly isSynchronized: boolean;
      readonly source: RecordedSource | undefined;
    }
  | { readonly kind: 'unreadable'; readonly was: unknown };

type Reader<K> = (record: JournalRecord) => Extract<ReadInput, { readonly kind: K }> | undefined;

/** A reader of each kind of input: one that is missing does not compile. */
const READERS: {
  readonly [K in keyof RecordedInputs]: K extends 'event' ? Reader<'event' | 'pod-specs'> : Reader<K>;
} = {
  settings: (record) => {
    const options = parse(texts, record['options']);
    const topology = readMachineRecord(record['topology']);
    const reserved = readCpus(record['reserved']);
    return options && topology && reserved && { kind: 'settings', options, topology, reserved };
  },
  event: ({ event: value }) => {
    if (kindOf(value) === 'pod-specs') return { kind: 'pod-specs' };
    const event = parseEvent(value);
    return event && { kind: 'event', event };
  },
  assignment: (record) => {
    const read = readAssignment(record['assignment']);
    return 'assignment' in read ? { kind: 'assignment', assignment: read.assignment } : undefined;
  },
  'kept-spec': (record) => {
    const read = parse(spec, record['spec']);
    return read && { kind: 'kept-spec', spec: read };
  },
  brought: (record) => {
    const brought = readBroughtEntry(record['brought']);
    return brought && { kind: 'brought', brought };
  },
  'pod-level': (record) => {
    const podLevel = readPodLevelEntry(record['podLevel']);
    return podLevel && { kind: 'pod-level', podLevel };
  },
  restored: (record) => ({ kind: 'restored', source: parse(source, record['source']) }),
  pod: (record) => {
    const info = parse(pod, record['info']);
    return info && { kind: 'pod', info, isStopped: record['stopped'] === true };
  },
  container: (record) => {
    const info = parse(container, record['info']);
    const state = parse(containerState, record['state']);
    const isPartial = state === undefined && record['state'] !== undefined;
    return info && { kind: 'container', info, cpus: readCpus(record.cpus), state, isPartial };
  },
  spec: (record) => {
    const { unplanned, known } = record;
    const read = parse(spec, record['spec']);
    const why = typeof unplanned === 'string' ? unplanned : undefined;
    return read && { kind: 'spec', spec: read, isKnown: known === true, unplanned: why };
  },
  listed: ({ start, afterGap, newer, ahead, synchronized, source: from }) => ({
    kind: 'listed',
    isStart: start === true,
    isAfterGap: afterGap === true,
    newer: parse(ids, newer) ?? [],
    ahead: Number(ahead ?? 0),
    isSynchronized: synchronized === true,
    source: parse(source, from),
  }),
};

/** Reads a record of the kind `input`. */
export function readInput(record: JournalRecord): ReadInput {
  const kind = record['of'];
  const read =
    typeof kind === 'string' && Object.hasOwn(READERS, kind)
      ? READERS[kind as keyof typeof READERS](record)
      : undefined;
  return read ?? { kind: 'unreadable', was: kind };
}
