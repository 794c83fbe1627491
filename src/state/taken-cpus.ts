import type { CpuSet } from '../core/cpuset';
import { noteFormat } from './durable-note';
import { Fields } from './fields';

const VERSION = 1;
const MAX_BYTES = 4 * 1024 * 1024;
/** Keeps the file below its limit: a maximum number of entries, and as many as fit beside the rest of the document. */
const MAX_INNER = 4_000;
const MAX_INNER_BYTES = MAX_BYTES / 2;

/** CPUs that cgroups have to get back: some that the kernel took, and some that cpusetd did. */
export interface TakenCpus {
  /** The boot that the cgroups belong to. */
  readonly bootId: string;
  /** CPUs that went offline, and that the cgroups of Kubernetes have not got back. */
  readonly owed: CpuSet;
  /**
   * The CPUs that cgroups inside of containers had of their own, and those that they were given with their container.
   */
  readonly inner: readonly InnerEntry[];
}

export interface InnerEntry {
  readonly container: string;
  readonly file: string;
  readonly own: CpuSet;
  readonly given: CpuSet;
}

/** A file with one wrong entry is none of ours. */
export const takenCpusFormat = noteFormat<TakenCpus>({
  version: VERSION,
  maxBytes: MAX_BYTES,
  encode: ({ bootId, owed, inner }) =>
    JSON.stringify({ version: VERSION, bootId, owed: owed.toString(), inner: fit(inner) }),
  read: (document) => ({
    bootId: document.text('bootId'),
    owed: document.cpuSet('owed'),
    inner: document.list('inner').map((entry) => toInner(new Fields(entry, 'the inner cgroup'))),
  }),
});

function toInner(fields: Fields): InnerEntry {
  const [container, file] = [fields.text('container'), fields.text('file')];
  return { container, file, own: fields.cpuSet('own'), given: fields.cpuSet('given') };
}

function fit(inner: readonly InnerEntry[]): object[] {
  const entries: object[] = [];
  let bytes = 0;
  for (const { container, file, own, given } of inner.slice(0, MAX_INNER)) {
    const entry = { container, file, own: own.toString(), given: given.toString() };
    bytes += Buffer.byteLength(JSON.stringify(entry)) + 1;
    if (bytes > MAX_INNER_BYTES) break;
    entries.push(entry);
  }
  return entries;
}
