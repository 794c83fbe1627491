import {
  malformed,
  UNCHANGED,
  type CgroupFailure,
  type CgroupFiles,
  type Gone,
  type WriteOutcome,
} from './cgroup-file';
import { both, writeFailureOf } from './cpuset-files';
import type { Hierarchies } from './find-hierarchies';

/** A CFS quota: `quotaUs` of CPU time in every `periodUs`; -1 = no limit. */
export interface CpuQuota {
  readonly quotaUs: number;
  readonly periodUs: number;
}

export type QuotaReading = ({ readonly kind: 'found' } & CpuQuota) | Gone | CgroupFailure;

/** The error when the cpu controller of version 1 is not mounted. */
const NO_CONTROLLER = {
  errno: 'ENODEV',
  because:
    'the cpu controller is not mounted (looked for cpu, cpu,cpuacct and cpuacct,cpu), so there are no CFS quotas',
} as const;

/** Reads the quota of the cgroup at `cgroupPath`, below the root of the cpu hierarchy. */
export function readQuota(files: CgroupFiles, { version, cpuRoot }: Hierarchies, cgroupPath: string): QuotaReading {
  if (cpuRoot === undefined) return { kind: 'error', ...NO_CONTROLLER };
  if (version === 2) return readPair(files, `${cpuRoot}${cgroupPath}/cpu.max`);
  const quotaUs = readNumber(files, `${cpuRoot}${cgroupPath}/cpu.cfs_quota_us`);
  if (typeof quotaUs !== 'number') return quotaUs;
  const periodUs = readNumber(files, `${cpuRoot}${cgroupPath}/cpu.cfs_period_us`);
  if (typeof periodUs !== 'number') return periodUs;
  return { kind: 'found', quotaUs, periodUs };
}

/** Sets the quota, and the period if it is given. -1 lifts the limit. An equal value is not written. */
export function writeQuota(
  files: CgroupFiles,
  hierarchies: Hierarchies,
  cgroupPath: string,
  wanted: { readonly quotaUs: number; readonly periodUs?: number },
): WriteOutcome {
  const { version, cpuRoot } = hierarchies;
  if (cpuRoot === undefined) return { kind: 'refused', ...NO_CONTROLLER };
  const now = readQuota(files, hierarchies, cgroupPath);
  if (now.kind !== 'found') return writeFailureOf(now);
  const { quotaUs, periodUs = now.periodUs } = wanted;
  if (now.quotaUs === quotaUs && now.periodUs === periodUs) return UNCHANGED;
  if (version === 2)
    return files.write(`${cpuRoot}${cgroupPath}/cpu.max`, `${quotaUs < 0 ? 'max' : quotaUs} ${periodUs}`);
  const period =
    now.periodUs === periodUs ? UNCHANGED : files.write(`${cpuRoot}${cgroupPath}/cpu.cfs_period_us`, `${periodUs}`);
  if (period.kind !== 'ok' || now.quotaUs === quotaUs) return period;
  return both(period, files.write(`${cpuRoot}${cgroupPath}/cpu.cfs_quota_us`, `${quotaUs}`));
}

/** `max 100000` or `50000 100000` */
function readPair(files: CgroupFiles, path: string): QuotaReading {
  const text = files.read(path);
  if (typeof text !== 'string') return text;
  const match = /^(max|\d{1,15}) (\d{1,15})$/.exec(text);
  if (!match) return malformed(path, text, 'a quota or "max", and a period, are expected');
  return { kind: 'found', quotaUs: match[1] === 'max' ? -1 : Number(match[1]), periodUs: Number(match[2]) };
}

function readNumber(files: CgroupFiles, path: string): number | Gone | CgroupFailure {
  const text = files.read(path);
  if (typeof text !== 'string') return text;
  return /^-?\d{1,15}$/.test(text) ? Number(text) : malformed(path, text, 'a whole number of microseconds is expected');
}
