import { CpuListError, MAX_CPU_ID, parseCpuRanges, type CpuRange } from '../../core/cpuset';
import { isJsonObject } from '../../core/json-object';
import { shorten } from '../../core/text';
import { GoShapeError, readGoObject, type GoObject } from './go-json';
import { hashFnv1a, printData, printV1, printV2, printV3, type GoCheckpoint } from './go-spew';
import type { KubeletState, KubeletStateV1 } from './state';

/**
 * Files of real nodes have a few kilobytes. These bounds allow 4,096 CPUs with a container on each. The slowest file
 * within them takes less than 0.1 s, in which the daemon does nothing else.
 */
export const MAX_KUBELET_STATE_BYTES = 1024 * 1024;
const MAX_FIELDS = 10_000;
/** Most CPUs in all lists together: containers of one pod may have the same CPUs, one after the other; pods may not. */
const MAX_NAMED_CPUS = 4 * (MAX_CPU_ID + 1);
const MAX_POD_CPUS = MAX_CPU_ID + 1;

export type ParsedKubeletState =
  | { readonly ok: true; readonly format: 'v1'; readonly state: KubeletStateV1 }
  | { readonly ok: true; readonly format: 'v2' | 'v3' | 'v4'; readonly state: KubeletState }
  | { readonly ok: false; readonly problem: KubeletProblem; readonly because: string };

/** The reason why the kubelet would stop at this file. */
export type KubeletProblem =
  | 'not-json'
  /** It has more of something than any kubelet writes. */
  | 'too-large'
  /** JSON, but no state of a CPU manager. */
  | 'shape'
  /** The checksum fits no format. */
  | 'corrupted'
  /** A list in it is not a CPU list. */
  | 'cpu-list';

/**
 * Reads a `cpu_manager_state`, checks its checksum and all its CPU lists. Formats are tried newest first; a file with
 * `data` or `dataChecksum` is v4 and nothing else. Never throws, whatever the text; takes time in proportion to its
 * length, which is bounded.
 */
export function parseKubeletState(text: string): ParsedKubeletState {
  if (text.length > MAX_KUBELET_STATE_BYTES)
    return refuse(
      'too-large',
      `the file is longer than ${MAX_KUBELET_STATE_BYTES >> 20} MiB, a CPU manager's state never is; look what wrote it`,
    );
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return refuse('not-json', `not JSON: ${(error as Error).message}`);
  }
  try {
    return parseValue(value);
  } catch (error) {
    if (error instanceof GoShapeError) return refuse('shape', error.message);
    if (error instanceof CpuListError) return refuse('cpu-list', error.message);
    if (error instanceof TooLargeError) return refuse('too-large', error.message);
    throw error;
  }
}

/** The file exceeds a bound; thrown before the work that would take too long. */
class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
}

function parseValue(value: unknown): ParsedKubeletState {
  checkFields(value);
  const file = readGoObject(value, 'the file');
  if (file.has('data') || file.has('dataChecksum')) return parseV4(file);
  const checksum = file.count('checksum');

  const attempts = [() => parseV3(file, checksum), () => parseV2(file, checksum), () => parseV1(file, checksum)];
  let shapeError: GoShapeError | undefined;
  let fitsAShape = false;
  for (const attempt of attempts) {
    try {
      const parsed = attempt();
      if (parsed) return parsed;
      fitsAShape = true;
    } catch (error) {
      if (!(error instanceof GoShapeError)) throw error;
      shapeError ??= error;
    }
  }
  if (!fitsAShape && shapeError) throw shapeError;
  return refuse('corrupted', `the checkpoint is corrupted: checksum ${checksum} fits none of the formats v1, v2, v3`);
}

function parseV4(file: GoObject): ParsedKubeletState {
  const data = file.text('data');
  // An early build kept the number of `data` under `checksum`.
  const checksum = file.has('dataChecksum') ? file.count('dataChecksum') : file.count('checksum');
  if (hashFnv1a(printData(data)) !== checksum) {
    return refuse('corrupted', `the checkpoint is corrupted: checksum ${checksum} does not fit "data"`);
  }
  let value: unknown;
  try {
    value = JSON.parse(data);
  } catch (error) {
    return refuse('not-json', `"data" is not JSON: ${(error as Error).message}`);
  }
  checkFields(value);
  return accept('v4', toCheckpoint(readGoObject(value, '"data"'), true));
}

function parseV3(file: GoObject, checksum: number): ParsedKubeletState | undefined {
  const checkpoint = toCheckpoint(file, true);
  for (const list of checkpoint.podEntries?.values() ?? []) {
    // The kubelet parses these lists while it decodes: a malformed one makes it try the next format.
    if (list !== null && !isCpuList(list)) throw new GoShapeError(`"podEntries": "${brief(list)}" is not a CPU list`);
  }
  const fits = TYPE_NAMES_V3.some((typeName) => hashFnv1a(printV3(checkpoint, typeName)) === checksum);
  return fits && checksum !== 0 ? accept('v3', checkpoint) : undefined;
}

function parseV2(file: GoObject, checksum: number): ParsedKubeletState | undefined {
  const checkpoint = toCheckpoint(file, false);
  const fits = TYPE_NAMES_V2.some((typeName) => hashFnv1a(printV2(checkpoint, typeName)) === checksum);
  return fits || checksum === 0 ? accept('v2', checkpoint) : undefined;
}

function parseV1(file: GoObject, checksum: number): ParsedKubeletState | undefined {
  const { policyName, defaultCpuSet } = toHead(file);
  const entries = file.map('entries', (list, what) => list.asText(what));
  checkNamedCpus([defaultCpuSet, ...(entries?.values() ?? [])], MAX_NAMED_CPUS);
  if (checksum !== 0 && hashFnv1a(printV1({ policyName, defaultCpuSet, entries })) !== checksum) return undefined;
  checkList(defaultCpuSet, 'default cpu set');
  for (const [id, list] of entries ?? []) checkList(list, `cpuset of container id ${brief(id)}`);
  return { ok: true, format: 'v1', state: { policyName, defaultCpuSet, entries: entries ?? new Map() } };
}

/** The long names come from development builds which did not shorten them before hashing. */
const TYPE_NAMES_V2 = ['CPUManagerCheckpoint', 'CPUManagerCheckpointV2'];
const TYPE_NAMES_V3 = ['CPUManagerCheckpoint', 'CPUManagerCheckpointV3'];

function toCheckpoint(file: GoObject, withPods: boolean): GoCheckpoint {
  const checkpoint = {
    ...toHead(file),
    entries: file.map('entries', (pod, what) => pod.asMap(what, (list, where) => list.asText(where))),
    podEntries: withPods
      ? file.map('podEntries', (pod, what) => pod.asObject(what).textOrNull('cpuSet'))
      : new Map<string, string>(),
  };
  checkNamedCpus(listsOf(checkpoint), MAX_NAMED_CPUS);
  checkNamedCpus(checkpoint.podEntries?.values() ?? [], MAX_POD_CPUS);
  return checkpoint;
}

function* listsOf({ defaultCpuSet, entries }: GoCheckpoint): Generator<string> {
  yield defaultCpuSet;
  for (const pod of entries?.values() ?? []) yield* pod?.values() ?? [];
}

/** Throws TooLargeError. Counts the fields of all levels that are read: the file, its maps, pods, and a pod's set. */
function checkFields(value: unknown): void {
  let count = 0;
  const visit = (node: unknown, depth: number): void => {
    if (!isJsonObject(node)) return;
    const fields = Object.values(node);
    count += fields.length;
    if (count > MAX_FIELDS)
      throw new TooLargeError(
        `it has more than ${MAX_FIELDS.toLocaleString('en')} entries, and no node has so many containers; look what wrote it`,
      );
    if (depth > 1) for (const field of fields) visit(field, depth - 1);
  };
  visit(value, 4);
}

/** Throws TooLargeError. A malformed list counts as empty here; the parser refuses it later. */
function checkNamedCpus(lists: Iterable<string | null>, most: number): void {
  let named = 0;
  for (const list of lists) {
    for (const [first, last] of rangesOf(list ?? '') ?? []) named += last - first + 1;
    if (named > most)
      throw new TooLargeError(
        `its lists name more than ${most.toLocaleString('en')} CPUs in all, and no node has so many; look what wrote it`,
      );
  }
}

function toHead(file: GoObject): { policyName: string; defaultCpuSet: string } {
  // Without this any JSON object would pass as a v2 state without checksum; the kubelet stops over the policy then.
  if (!file.has('policyName')) throw new GoShapeError('there is no "policyName": not a state of the CPU manager');
  return { policyName: file.text('policyName'), defaultCpuSet: file.text('defaultCpuSet') };
}

function accept(format: 'v2' | 'v3' | 'v4', checkpoint: GoCheckpoint): ParsedKubeletState {
  const { policyName, defaultCpuSet } = checkpoint;
  checkList(defaultCpuSet, 'default cpu set');
  const entries = new Map<string, ReadonlyMap<string, string>>();
  for (const [podUid, pod] of checkpoint.entries ?? []) {
    for (const [name, list] of pod ?? []) checkList(list, `cpuset of container ${brief(name)} in pod ${brief(podUid)}`);
    entries.set(podUid, pod ?? new Map<string, string>());
  }
  const podEntries = new Map<string, string>();
  for (const [podUid, list] of checkpoint.podEntries ?? []) {
    checkList(list ?? '', `cpuset of pod ${brief(podUid)}`);
    podEntries.set(podUid, list ?? '');
  }
  return { ok: true, format, state: { policyName, defaultCpuSet, entries, podEntries } };
}

/** The kubelet's lists have no white space, unlike the kernel's. Throws CpuListError. */
function checkList(list: string, what: string): void {
  if (!isCpuList(list))
    throw new CpuListError(`could not parse ${what}: "${brief(list)}" is not a CPU list like 0-3,8`);
}

function isCpuList(list: string): boolean {
  return rangesOf(list) !== undefined;
}

/** Undefined for a malformed list. */
function rangesOf(list: string): readonly CpuRange[] | undefined {
  if (/\s/.test(list)) return undefined;
  try {
    return parseCpuRanges(list);
  } catch (error) {
    if (error instanceof CpuListError) return undefined;
    throw error;
  }
}

/** The text as it stands in a message. */
function brief(text: string): string {
  return shorten(text, 80);
}

function refuse(problem: KubeletProblem, because: string): ParsedKubeletState {
  return { ok: false, problem, because };
}
