import type { Assignment } from '../core/model/assignment';
import type { Brought } from '../core/model/brought';
import type { PodLevel } from '../core/model/pod-level';
import type { PodSpec } from '../core/model/pod-spec';
import { oncePer } from '../core/once-per';
import { MARKER, STATE_VERSION } from './document';
import { checksumOf } from './envelope';

/** Largest share of `pods` in the document: it is written with every decision, and leaving it out breaks no promise. */
export const MAX_PODS_BYTES = 1024 * 1024;

/** Assignments are immutable and a decision replaces one of them, so the texts of the others are kept. */
const textOf: (assignment: Assignment) => string = oncePer((assignment: Assignment) => JSON.stringify(assignment));
const lineOf: (brought: Brought) => string = oncePer((brought: Brought) => JSON.stringify(brought));
/** The same for a pod's spec. */
const entryOf = oncePer((pod: PodSpec) => {
  const text = JSON.stringify(pod);
  return { text, bytes: Buffer.byteLength(text) + ',\n'.length };
});

/** Selects the specs that fit into `MAX_PODS_BYTES`; the longest are left out. */
export function fitPods(pods: Iterable<PodSpec>): {
  readonly kept: readonly PodSpec[];
  readonly leftOut: readonly PodSpec[];
} {
  const all = [...pods];
  const bytesOf = (pod: PodSpec): number => entryOf(pod).bytes;
  let room = MAX_PODS_BYTES;
  const fitting = new Set<PodSpec>();
  for (const pod of [...all].sort((a, b) => bytesOf(a) - bytesOf(b))) {
    room -= bytesOf(pod);
    if (room < 0) break;
    fitting.add(pod);
  }
  return { kept: all.filter((pod) => fitting.has(pod)), leftOut: all.filter((pod) => !fitting.has(pod)) };
}

/** The document as text, one assignment a line. Throws RangeError for a generation that is no count. */
export function encodeState(state: {
  writtenBy: string;
  generation: number;
  assignments: Iterable<Assignment>;
  pods?: Iterable<PodSpec>;
  brought?: Iterable<Brought>;
  podLevel?: Iterable<PodLevel>;
}): string {
  if (!Number.isSafeInteger(state.generation) || state.generation < 0) {
    throw new RangeError(`not a generation: ${state.generation}`);
  }
  const lines: string[] = [];
  for (const assignment of state.assignments) lines.push(textOf(assignment));
  const writtenBy = JSON.stringify(MARKER + state.writtenBy);
  const head = `{"version":${STATE_VERSION},"writtenBy":${writtenBy},"generation":${state.generation},"assignments":[`;
  const pods = Array.from(state.pods ?? [], (pod) => entryOf(pod).text);
  const brought = Array.from(state.brought ?? [], lineOf);
  const lists = { pods, brought, podLevel: Array.from(state.podLevel ?? [], (each) => JSON.stringify(each)) };
  const write = (layOutList: (entries: readonly string[]) => string): string =>
    Object.entries(lists)
      .map(([name, entries]) => (entries.length > 0 ? `,"${name}":[${layOutList(entries)}]` : ''))
      .join('');
  const checksum = checksumOf(`${head}${lines.join(',')}]${write((entries) => entries.join(','))}}`);
  const tail = write(layOut);
  return `${head}${layOut(lines)}]${tail},"checksum":"${checksum}"}\n`;
}

/** One entry a line. */
function layOut(entries: readonly string[]): string {
  return entries.length === 0 ? '' : `\n${entries.join(',\n')}\n`;
}
