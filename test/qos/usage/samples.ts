import { CpuSet } from '../../../src/core/cpuset';
import type { Measured, MeasuredContainer } from '../../../src/qos/usage/derive-metrics';
import type { Metrics } from '../../../src/qos/usage/metrics';
import type { ContainerCounters, UsageSample } from '../../../src/qos/usage/sample';

export const SECOND = 1e9;

/** A sample `seconds` after the boot, without anything that is not given. */
export function sampleAt(seconds: number, given: Partial<UsageSample> = {}): UsageSample {
  return {
    atMs: 1_700_000_000_000 + seconds * 1000,
    monotonicNs: seconds * SECOND,
    cpus: new Map(),
    disks: new Map(),
    interfaces: new Map(),
    containers: new Map(),
    ...given,
  };
}

export function countersAt(seconds: number, given: Partial<ContainerCounters> = {}): ContainerCounters {
  return { monotonicNs: seconds * SECOND, cpuNs: 0, ...given };
}

export function containerOf(id: string, ownCpus?: CpuSet, hasElastic = false): MeasuredContainer {
  const labels = {
    PodName: `pod-${id}`,
    PodNamespace: 'shop',
    PodUid: `uid-${id}`,
    ContainerName: 'app',
    ContainerId: id,
    HasExtRes: hasElastic ? 'true' : 'false',
  } as const;
  return { labels, ...(ownCpus && { ownCpus }) };
}

export const NOTHING: Measured = { exclusive: CpuSet.empty, owners: new Set(), containers: new Map() };

/** `name{label=value}: value` of all series. A disk, interface or container is named by its value alone. */
export function show(metrics: Metrics): Record<string, number> {
  return Object.fromEntries(
    [...metrics].flatMap(([name, series]) =>
      series.map(({ labels, value }) => {
        const subject = labels['ContainerId'] ?? labels['diskName'] ?? labels['NetInterface'];
        return [subject === undefined ? name : `${name}{${subject}}`, value];
      }),
    ),
  );
}
