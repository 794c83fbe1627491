import type { CpuSet } from '../core/cpuset';
import { decodeVersioned, type NoteFormat } from './durable-note';
import { Fields } from './fields';

const VERSION = 1;
const MAX_BYTES = 4 * 1024 * 1024;
/** Keeps the file below its limit: an entry has two paths. */
const MAX_INNER = 4_000;

/** CPUs that cgroups have to get back: some that the kernel took, and some that cpusetd did. */
export interface TakenCpus {
  /** The boot that the cgroups belong to. */
  readonly bootId: string;
  /** CPUs that went offline, and that the cgroups of Kubernetes have not got back. */
  readonly owed: CpuSet;
  /** The CPUs that cgroups inside of containers had of their own, and those that they were given with their container. */
  readonly inner: readonly InnerEntry[];
}

export interface InnerEntry {
  readonly container: string;
  readonly file: string;
  readonly own: CpuSet;
  readonly given: CpuSet;
}

/** A file with one wrong entry is none of ours. */
export const takenCpusFormat: NoteFormat<TakenCpus> = {
  encode: ({ bootId, owed, inner }) =>
    `${JSON.stringify({
      version: VERSION,
      bootId,
      owed: owed.toString(),
      inner: inner
        .slice(0, MAX_INNER)
        .map(({ container, file, own, given }) => ({ container, file, own: own.toString(), given: given.toString() })),
    })}\n`,
  decode: (text) =>
    decodeVersioned(text, VERSION, (document) => ({
      bootId: document.text('bootId'),
      owed: document.cpuSet('owed'),
      inner: document.list('inner').map((entry) => toInner(new Fields(entry, 'the inner cgroup'))),
    })),
  maxBytes: MAX_BYTES,
};

function toInner(fields: Fields): InnerEntry {
  const [container, file] = [fields.text('container'), fields.text('file')];
  return { container, file, own: fields.cpuSet('own'), given: fields.cpuSet('given') };
}
