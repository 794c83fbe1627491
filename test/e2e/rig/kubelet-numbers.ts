import { totalmem } from 'node:os';
import { LinuxContainerResources } from '../../gen/cri/v1/cri';

export type Qos = 'guaranteed' | 'burstable' | 'besteffort';

/** The resources of one container in a pod spec. Requests default to limits, as in the API server. */
export interface ResourceSpec {
  /**
   * Whole CPUs as request and limit, with 64 MiB of memory: this makes a container Guaranteed. It replaces the other
   * fields.
   */
  readonly cpus?: number;
  readonly cpuRequestMilli?: number;
  readonly cpuLimitMilli?: number;
  readonly memoryRequestBytes?: number;
  readonly memoryLimitBytes?: number;
  /**
   * Bytes by the size of a page as CRI has it, `2MB`. The kubelet sends all sizes of the machine, those that nobody
   * asks for with 0.
   */
  readonly hugePages?: Readonly<Record<string, number>>;
}

interface Amounts {
  readonly cpuRequest: number | undefined;
  readonly cpuLimit: number | undefined;
  readonly memoryRequest: number | undefined;
  readonly memoryLimit: number | undefined;
}

const periodUs = 100_000;
const defaultMemoryBytes = 64 * 1024 * 1024;

/** cpu.shares of a request in thousandths of a CPU: 2 … 262144. */
const toShares = (milli: number): number => Math.min(Math.max(Math.trunc((milli * 1024) / 1000), 2), 262_144);

/** CFS quota in µs per 100 ms of a limit in thousandths of a CPU; 0 = not set. */
const toQuotaUs = (milli: number): number => (milli === 0 ? 0 : Math.max((milli * periodUs) / 1000, 1000));

/** The QoS class that Kubernetes gives a pod with these containers. */
export function classify(containers: readonly ResourceSpec[]): Qos {
  const all = containers.map(resolve);
  if (all.every((amounts) => Object.values(amounts).every((amount) => amount === undefined))) return 'besteffort';
  const isExact = ({ cpuRequest, cpuLimit, memoryRequest, memoryLimit }: Amounts) =>
    cpuLimit !== undefined && memoryLimit !== undefined && cpuRequest === cpuLimit && memoryRequest === memoryLimit;
  return all.every(isExact) ? 'guaranteed' : 'burstable';
}

/** The cgroup of a pod as a kubelet with the cgroupfs driver and `--cgroup-root` names it. */
export function nameCgroupParent(cgroupRoot: string, qos: Qos, uid: string): string {
  return `${cgroupRoot}/kubepods/${qos === 'guaranteed' ? '' : `${qos}/`}pod${uid}`;
}

/** The resources in CreateContainer for a container of a pod of this class. */
export function toContainerResources(spec: ResourceSpec, qos: Qos): LinuxContainerResources {
  const { cpuRequest, cpuLimit, memoryRequest, memoryLimit } = resolve(spec);
  return LinuxContainerResources.create({
    cpuShares: BigInt(toShares(cpuRequest ?? 0)),
    cpuQuota: BigInt(toQuotaUs(cpuLimit ?? 0)),
    cpuPeriod: BigInt(periodUs),
    memoryLimitInBytes: BigInt(memoryLimit ?? 0),
    oomScoreAdj: BigInt(toOomScoreAdj(qos, memoryRequest ?? 0)),
    hugepageLimits: Object.entries(spec.hugePages ?? {}).map(([pageSize, bytes]) => ({
      pageSize,
      limit: BigInt(bytes),
    })),
  });
}

/**
 * The resources in RunPodSandbox: sums over the containers of the pod, with a limit only where every container has one.
 */
export function toPodResources(containers: readonly ResourceSpec[]): LinuxContainerResources {
  const all = containers.map(resolve);
  const sum = (amounts: readonly (number | undefined)[]) =>
    amounts.reduce<number>((total, amount) => total + (amount ?? 0), 0);
  const sumOfLimits = (limits: readonly (number | undefined)[]) => (limits.includes(undefined) ? 0 : sum(limits));
  return LinuxContainerResources.create({
    cpuShares: BigInt(toShares(sum(all.map((each) => each.cpuRequest)))),
    cpuQuota: BigInt(toQuotaUs(sumOfLimits(all.map((each) => each.cpuLimit)))),
    cpuPeriod: BigInt(periodUs),
    memoryLimitInBytes: BigInt(sumOfLimits(all.map((each) => each.memoryLimit))),
  });
}

function resolve(spec: ResourceSpec): Amounts {
  const cpuLimit = spec.cpuLimitMilli ?? (spec.cpus === undefined ? undefined : spec.cpus * 1000);
  const memoryLimit = spec.memoryLimitBytes ?? (spec.cpus === undefined ? undefined : defaultMemoryBytes);
  return {
    cpuRequest: spec.cpuRequestMilli ?? cpuLimit,
    cpuLimit,
    memoryRequest: spec.memoryRequestBytes ?? memoryLimit,
    memoryLimit,
  };
}

function toOomScoreAdj(qos: Qos, memoryRequestBytes: number): number {
  if (qos === 'guaranteed') return -997;
  if (qos === 'besteffort') return 1000;
  const score = 1000 - Math.trunc((1000 * memoryRequestBytes) / totalmem());
  return Math.min(Math.max(score, 3), 999);
}
