import { parseCpuList } from '../../../src/core/cpuset';
import type { VerdictKind } from '../../../src/core/verdict/judge';
import type { Top, TopContainer, TopFigures } from '../../../src/cli/top/top';

/** A container with CPUs of its own, by the name of its pod. */
export function row(
  pod: string,
  { cpus = '2-3', verdict = 'kept', ...figures }: TopFigures & { cpus?: string; verdict?: VerdictKind } = {},
): TopContainer {
  return {
    namespace: 'default',
    pod,
    podUid: `uid-${pod}`,
    container: 'app',
    containerId: pod,
    placement: 'exclusive',
    cpus: parseCpuList(cpus),
    verdict: { kind: verdict, reason: '' },
    ...figures,
  };
}

export const foreign = (percent: number, most = 'stress') => ({ percent, threads: 1, most });

export function topOf(...containers: readonly TopContainer[]): Top {
  return { nodeName: 'worker-1', at: '2026-11-21T10:00:00.250Z', seconds: 2.004, busyMs: 24.3, containers };
}
