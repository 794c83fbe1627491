import { CpuListError, parseCpuList } from '../../core/cpuset';
import { hashFnv1a } from './fnv1a';
import { GoShapeError, readGoObject, type GoObject } from './go-json';
import { printData, printV1, printV2, printV3, type GoCheckpoint } from './printed-form';
import type { KubeletState, KubeletStateV1 } from './state';

/** Files of real nodes have a few kilobytes. */
const MAX_TEXT_LENGTH = 16 * 1024 * 1024;

export type ParsedKubeletState =
  | { readonly ok: true; readonly format: 'v1'; readonly state: KubeletStateV1 }
  | { readonly ok: true; readonly format: 'v2' | 'v3' | 'v4'; readonly state: KubeletState }
  | { readonly ok: false; readonly problem: KubeletProblem; readonly because: string };

/** Why the kubelet would stop at this file. */
export type KubeletProblem =
  | 'not-json'
  /** JSON, but no state of a CPU manager. */
  | 'shape'
  /** The checksum fits no format. */
  | 'corrupted'
  /** A list in it is not a CPU list. */
  | 'cpu-list';

/**
 * Reads a `cpu_manager_state`, checks its checksum and all its CPU lists. Formats are tried newest first; a file with `data` or
 * `dataChecksum` is v4 and nothing else. Never throws, whatever the text.
 */
export function parseKubeletState(text: string): ParsedKubeletState {
  if (text.length > MAX_TEXT_LENGTH) return refuse('shape', 'the file is too long for a CPU manager state');
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
    throw error;
  }
}

function parseValue(value: unknown): ParsedKubeletState {
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
  return accept('v4', toCheckpoint(readGoObject(value, '"data"'), true));
}

function parseV3(file: GoObject, checksum: number): ParsedKubeletState | undefined {
  const checkpoint = toCheckpoint(file, true);
  for (const list of checkpoint.podEntries?.values() ?? []) {
    // The kubelet parses these lists while it decodes: one that is none makes it try the next format.
    if (list !== null && !isCpuList(list)) throw new GoShapeError(`"podEntries": "${list}" is not a CPU list`);
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
  if (checksum !== 0 && hashFnv1a(printV1({ policyName, defaultCpuSet, entries })) !== checksum) return undefined;
  checkList(defaultCpuSet, 'default cpu set');
  for (const [id, list] of entries ?? []) checkList(list, `cpuset of container id ${id}`);
  return { ok: true, format: 'v1', state: { policyName, defaultCpuSet, entries: entries ?? new Map() } };
}

/** The long names come from development builds which did not shorten them before hashing. */
const TYPE_NAMES_V2 = ['CPUManagerCheckpoint', 'CPUManagerCheckpointV2'];
const TYPE_NAMES_V3 = ['CPUManagerCheckpoint', 'CPUManagerCheckpointV3'];

function toCheckpoint(file: GoObject, withPods: boolean): GoCheckpoint {
  return {
    ...toHead(file),
    entries: file.map('entries', (pod, what) => pod.asMap(what, (list, where) => list.asText(where))),
    podEntries: withPods ? file.map('podEntries', (pod, what) => pod.asObject(what).textOrNull('cpuSet')) : new Map(),
  };
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
    for (const [name, list] of pod ?? []) checkList(list, `cpuset of container ${name} in pod ${podUid}`);
    entries.set(podUid, pod ?? new Map<string, string>());
  }
  const podEntries = new Map<string, string>();
  for (const [podUid, list] of checkpoint.podEntries ?? []) {
    checkList(list ?? '', `cpuset of pod ${podUid}`);
    podEntries.set(podUid, list ?? '');
  }
  return { ok: true, format, state: { policyName, defaultCpuSet, entries, podEntries } };
}

/** The kubelet's lists have no white space, unlike the kernel's. Throws CpuListError. */
function checkList(list: string, what: string): void {
  if (!isCpuList(list)) throw new CpuListError(`could not parse ${what}: "${list}" is not a CPU list like 0-3,8`);
}

function isCpuList(list: string): boolean {
  if (/\s/.test(list)) return false;
  try {
    parseCpuList(list);
    return true;
  } catch {
    return false;
  }
}

function refuse(problem: KubeletProblem, because: string): ParsedKubeletState {
  return { ok: false, problem, because };
}
