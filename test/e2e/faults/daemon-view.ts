import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { bundle, type Daemon, readStatus } from '../rig';

const run = promisify(execFile);

/** Deadlines here are for machines that do a lot else; nothing takes nearly as long. */
export const patience = { deadlineMs: 60_000 };

/** What these tests look at, as `cpusetd status -o json` prints it. */
export interface ShownStatus {
  readonly node: {
    readonly sharedPool: string;
    readonly free: string;
    /** Absent without an API server. */
    readonly kube?: { readonly pods: number };
    readonly alarms: readonly { readonly kind: string; readonly subject: string }[];
    readonly gap: {
      readonly from: string;
      readonly to: string;
      readonly containers: number;
      readonly names: readonly string[];
    };
  };
  readonly containers: readonly {
    readonly id: string;
    readonly placement: string;
    readonly promise?: { readonly cpus: string; readonly mems?: string };
    readonly verdict: { readonly kind: string; readonly reason: string };
  }[];
  readonly idle: readonly { readonly cpus: string; readonly planned?: boolean }[];
}

/** A command of the built program, asked of this daemon. Gives its standard output. @throws unless it exits with 0 */
async function ask(daemon: Daemon, ...command: string[]): Promise<string> {
  const args = [bundle, ...command, '--admin-socket', daemon.adminSocket];
  return (await run(process.execPath, args)).stdout;
}

export async function statusOf(daemon: Daemon): Promise<ShownStatus> {
  return (await readStatus(daemon)) as ShownStatus;
}

/** Whether the daemon says of a part of itself that it serves; the empty name stands for all of it. */
export async function isHealthy(daemon: Daemon, service: string): Promise<boolean> {
  return ask(daemon, 'health', service).then(
    () => true,
    () => false,
  );
}
