import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { bundle, type ContainerSpec, type Daemon, printMaskThenSleep, readStatus } from './rig';

const run = promisify(execFile);

/** CPU 0 is reserved: on the smallest machine there is one exclusive CPU, and that is enough to prove all of this. */
export const PROXY = ['--mode', 'cri-proxy', '--reserved-cpus', '0'];
export const machine = readFileSync('/sys/devices/system/cpu/online', 'utf8').trim();
export const exclusiveCpus = Number(machine.split(/[-,]/).pop());
export const exclusiveList = exclusiveCpus === 1 ? '1' : `1-${exclusiveCpus}`;

export const shared: ContainerSpec = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };
/** Takes all CPUs that can be had alone. */
export const pinned: ContainerSpec = { name: 'db', cpus: exclusiveCpus, command: printMaskThenSleep };

export async function isHealthy(daemon: Daemon, service: string): Promise<boolean> {
  try {
    await run(process.execPath, [bundle, 'health', service, '--admin-socket', daemon.adminSocket]);
    return true;
  } catch {
    return false;
  }
}

interface ShownContainer {
  readonly id: string;
  readonly container: string;
  readonly pause?: boolean;
  readonly promise?: { readonly cpus: string };
  readonly verdict: { readonly kind: string };
}

export interface ShownStatus {
  readonly node: {
    readonly mode: string;
    readonly sharedPool: string;
    readonly nri: { readonly state: string };
    /** `to` is absent while it lasts. */
    readonly gap: { readonly from: string; readonly to?: string };
  };
  readonly containers: readonly ShownContainer[];
  /** The pause containers of pods. */
  readonly pauses: readonly ShownContainer[];
  readonly idle: readonly unknown[];
}

/** Asks the daemon itself; pause containers are told apart from those of users. */
export async function statusOf(daemon: Daemon): Promise<ShownStatus> {
  const status = (await readStatus(daemon)) as Omit<ShownStatus, 'pauses'>;
  const isPause = ({ pause }: ShownContainer): boolean => pause === true;
  return {
    ...status,
    containers: status.containers.filter((each) => !isPause(each)),
    pauses: status.containers.filter(isPause),
  };
}
