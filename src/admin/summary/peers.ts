import type { NodeStatus, Status } from '../model/status';
import { CpuSet } from '../../core/cpuset';
import { formatTime, plural } from '../../core/text';
import type { Connection } from '../../net/connection-state';
import { MAX_NAMES, type PartSummary } from './part-summary';

export function summarizeRuntime({ mode, runtimeName, runtimeVersion, nri, cri }: NodeStatus): PartSummary {
  const connection = mode === 'nri' ? nri : cri;
  const name = `${runtimeName} ${runtimeVersion}`.trim();
  const text = `${name && `${name}, `}${describe(connection)}`;
  if (connection.state === 'ready') return { part: 'runtime', level: 'ok', text };
  return {
    part: 'runtime',
    level: 'error',
    text: `${text}; new containers are not pinned`,
    remedy:
      mode === 'nri'
        ? 'check that the runtime runs and NRI is on, and --nri-socket'
        : 'check that the runtime runs, and --cri-endpoint',
  };
}

export function summarizeRecords({ cri }: NodeStatus): PartSummary {
  const text = describe(cri);
  if (cri.state === 'ready') return { part: 'cri', level: 'ok', text };
  return {
    part: 'cri',
    level: 'warning',
    text: `${text}; the records of the runtime do not follow`,
    remedy: 'check --cri-endpoint',
  };
}

/** The reason why CPUs of a pod that the runtime no longer has are not free. */
export const KEPT_BY_API_SERVER =
  'the runtime has nothing of the pod any more: only the word of the API server keeps its CPUs';

export function summarizePods(
  { pods, heardAt, ...connection }: NonNullable<NodeStatus['kube']>,
  idle: Status['idle'],
): PartSummary {
  const known =
    heardAt === undefined ? 'nothing heard yet' : `${plural(pods, 'pod')}, last heard of ${formatTime(heardAt)}`;
  const text = `${describe(connection)}; ${known}`;
  if (connection.state === 'ready') return { part: 'api server', level: 'ok', text };
  const remedy = 'pinning goes on; check the network, the certificates and the rights';
  const kept = idle.filter(({ keptByApiServer }) => keptByApiServer);
  const { size } = CpuSet.unionOf(kept.map(({ cpus }) => cpus));
  if (size === 0) return { part: 'api server', level: 'warning', text, remedy };
  const names = [...new Set(kept.map(({ namespace, pod, podUid }) => `${namespace}/${pod} (uid ${podUid})`))];
  const more = names.length > MAX_NAMES ? [`${names.length - MAX_NAMES} more`] : [];
  return {
    part: 'api server',
    level: 'warning',
    text: `${text}; ${plural(size, 'idle CPU is', 'idle CPUs are')} kept on its last word alone, for pods that the runtime no longer has: ${[...names.slice(0, MAX_NAMES), ...more].join(', ')}`,
    remedy: `${remedy}. If these pods are gone for good: a start of cpusetd without --kubeconfig frees their CPUs`,
  };
}

function describe({ state, since, reason }: Connection): string {
  return state === 'off' ? 'off' : `${state} since ${formatTime(since)}${reason && `: ${reason}`}`;
}
