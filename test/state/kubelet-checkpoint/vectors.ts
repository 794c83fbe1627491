import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeletState, KubeletStateV1 } from '../../../src/state/kubelet-checkpoint';

/** A line of `checkpoint.jsonl`; see the README beside it. */
export interface Vector {
  readonly id: string;
  readonly format: 'v1' | 'v2' | 'v3' | 'v4';
  readonly note?: string;
  readonly policyName: string;
  readonly defaultCpuSet: string;
  readonly entries?: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
  readonly podEntries?: Readonly<Record<string, { readonly cpuSet: string }>>;
  readonly printed: string;
  readonly checksum: number;
  readonly dataChecksum?: number;
  readonly file: string;
  readonly valid: boolean;
}

export const VECTORS = readFileSync(join(__dirname, '../../fixtures/checkpoint/checkpoint.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as Vector);

export function stateOf({ policyName, defaultCpuSet, entries = {}, podEntries = {} }: Partial<Vector>): KubeletState {
  return {
    policyName: policyName!,
    defaultCpuSet: defaultCpuSet!,
    entries: new Map(Object.entries(entries).map(([pod, names]) => [pod, new Map(Object.entries(names))])),
    podEntries: new Map(Object.entries(podEntries).map(([pod, { cpuSet }]) => [pod, cpuSet])),
  };
}

export function stateV1Of({ policyName, defaultCpuSet, entries = {} }: Vector): KubeletStateV1 {
  return { policyName, defaultCpuSet, entries: new Map(Object.entries(entries as Record<string, string>)) };
}
