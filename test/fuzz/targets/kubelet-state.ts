import { isDeepStrictEqual } from 'node:util';
import { CpuListError } from '../../../src/core/cpuset';
import {
  formatKubeletState,
  formatKubeletStateV1,
  parseKubeletState,
  type KubeletState,
} from '../../../src/state/kubelet-checkpoint';
import { readLines } from '../read-seeds';

export const maxBytes = 8_192;

export const seeds = (fixtures: string): readonly Uint8Array[] =>
  readLines(fixtures, 'checkpoint/checkpoint.jsonl', ({ file }) => file);

/** Any text gives a state or a problem with its reason. A state that is written again reads the same. */
export function fuzz(data: Buffer): void {
  const text = data.toString('utf8');
  const parsed = parseKubeletState(text);
  if (!parsed.ok) {
    if (parsed.because === '') throw new Error('a problem without a reason');
    readAsThoughSigned(text);
    return;
  }
  const again = parseKubeletState(
    parsed.format === 'v1' ? formatKubeletStateV1(parsed.state) : formatKubeletState(parsed.state, parsed.format),
  );
  if (!again.ok || !isDeepStrictEqual(again.state, parsed.state)) throw new Error('written again, it reads otherwise');
}

/** Reads the content with a valid checksum, which a search would not find. */
function readAsThoughSigned(text: string): void {
  const state = toState(text);
  if (!state) return;
  for (const format of ['v2', 'v3', 'v4'] as const) {
    let signed: string;
    try {
      signed = formatKubeletState(state, format);
    } catch (error) {
      if (error instanceof CpuListError) continue; // the hashed form has lists without ranges
      throw error;
    }
    parseKubeletState(signed);
  }
}

function toState(text: string): KubeletState | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { policyName, defaultCpuSet, entries, podEntries } = recordOf(value);
  if (typeof policyName !== 'string' || typeof defaultCpuSet !== 'string') return undefined;
  return {
    policyName,
    defaultCpuSet,
    entries: new Map(Object.entries(recordOf(entries)).map(([pod, names]) => [pod, textsOf(names)])),
    podEntries: textsOf(podEntries),
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

function textsOf(value: unknown): Map<string, string> {
  return new Map(
    Object.entries(recordOf(value)).flatMap(([key, text]) => (typeof text === 'string' ? [[key, text]] : [])),
  );
}
