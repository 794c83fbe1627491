import { HugePageAmounts, nameOfPageSize, type HugePages } from '../../core/huge-pages';
import type { CpuResources } from '../../core/model/events';
import { asObject, readInfo, type VerboseInfo } from './verbose-info';

/** The fields of a container's or sandbox's OCI runtime spec that are used here. */
export interface RuntimeSpec {
  readonly cgroupsPath: string;
  /** The first process, beside the spec; absent before it runs and after its end. */
  readonly pid?: number;
  readonly resources: CpuResources;
  readonly oomScoreAdj?: number;
}

/**
 * Finds the OCI spec in the answer to a verbose status call: containerd and CRI-O both put a JSON text under `info`
 * that has it as `runtimeSpec`.
 */
export function readRuntimeSpec(info: VerboseInfo): RuntimeSpec | undefined {
  const all = readInfo(info, 'info');
  const spec = asObject(all?.runtimeSpec);
  const linux = asObject(spec?.linux);
  if (linux === undefined) return undefined;
  const cpu = asObject(asObject(linux.resources)?.cpu);
  const memory = asObject(asObject(linux.resources)?.memory);
  const hugePages = readHugePages(asObject(linux.resources)?.hugepageLimits) ?? readRequestedHugePages(all?.config);
  const oomScoreAdj = asInteger(asObject(spec?.process)?.oomScoreAdj);
  const pid = asInteger(all?.pid);
  return {
    cgroupsPath: asText(linux.cgroupsPath) ?? '',
    ...(pid !== undefined && pid > 0 && { pid }),
    resources: {
      ...present('shares', asInteger(cpu?.shares)),
      ...present('quotaUs', asInteger(cpu?.quota)),
      ...present('periodUs', asInteger(cpu?.period)),
      ...present('memoryLimitBytes', asInteger(memory?.limit)),
      ...present('hugePages', hugePages),
      ...present('cpus', asText(cpu?.cpus)),
      ...present('mems', asText(cpu?.mems)),
    },
    ...present('oomScoreAdj', oomScoreAdj),
  };
}

/**
 * containerd leaves them out of the spec by default. The kubelet's request is beside the spec, with the names of CRI.
 */
function readRequestedHugePages(config: unknown): HugePages | undefined {
  const resources = asObject(asObject(asObject(config)?.linux)?.resources);
  return readHugePages(resources?.hugepage_limits, 'page_size');
}

/** `[{ "pageSize": "2MB", "limit": 4194304 }]` */
function readHugePages(limits: unknown, sizeField = 'pageSize'): HugePages | undefined {
  const amounts = new HugePageAmounts();
  for (const each of Array.isArray(limits) ? limits.map((limit) => asObject(limit) ?? {}) : [])
    amounts.set(nameOfPageSize(asText(each[sizeField]) ?? ''), asInteger(each.limit) ?? 0);
  return amounts.all;
}

const asText = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const asInteger = (value: unknown): number | undefined => (Number.isSafeInteger(value) ? (value as number) : undefined);

const present = <Key extends string, Value>(key: Key, value: Value | undefined): Partial<Record<Key, Value>> =>
  value === undefined ? {} : ({ [key]: value } as Record<Key, Value>);
