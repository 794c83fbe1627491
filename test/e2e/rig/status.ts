import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { connectAdmin } from '../../../src/admin/client/admin-client';
import { findContradictions } from '../../support/contradictions';
import { patienceMs } from '../../support/wait-until';
import { bundle, type Daemon } from './daemon';

const run = promisify(execFile);

/** A container in the output of `cpusetd status -o json`: the fields that tests read. */
export interface ShownContainer {
  readonly id: string;
  readonly podUid: string;
  readonly container: string;
  readonly pause?: boolean;
  readonly kind?: string;
  readonly placement: string;
  readonly because?: string;
  readonly promise?: { readonly cpus: string; readonly mems?: string; readonly since?: string };
  readonly observation?: {
    readonly cpus: string;
    readonly effectiveCpus: string;
    readonly mems?: string;
    readonly at: string;
    readonly quotaUs?: number;
    readonly podQuotaUs?: number;
    readonly threads?: { readonly looked: number; readonly narrower: number };
  };
  readonly verdict: { readonly kind: string; readonly reason: string; readonly since?: string };
}

/** The output of `cpusetd status -o json`: the fields that tests read. */
export interface ShownStatus {
  readonly node: {
    readonly mode: string;
    readonly online: string;
    readonly reserved: string;
    readonly sharedPool: string;
    readonly free: string;
    /** Absent without any. */
    readonly barred?: { readonly cpus: string; readonly by: string };
    readonly nri: { readonly state: string };
    /** Absent without an API server. */
    readonly kube?: { readonly pods: number };
    readonly alarms: readonly { readonly kind: string; readonly subject: string }[];
    readonly gap: {
      readonly from: string;
      /** Absent as long as the gap lasts. */
      readonly to?: string;
      readonly containers: number;
      readonly names: readonly string[];
    };
  };
  readonly containers: readonly ShownContainer[];
  readonly idle: readonly { readonly cpus: string; readonly planned?: boolean }[];
}

/**
 * Runs a command of the built program against the admin socket of this daemon. Gives its standard output. @throws
 * unless it exits with 0
 */
export async function askDaemon(daemon: Daemon, ...command: string[]): Promise<string> {
  const args = [bundle, ...command, '--admin-socket', daemon.adminSocket];
  return (await run(daemon.node, args)).stdout;
}

/**
 * Reads the status of this daemon over its admin socket: what `cpusetd status -o json` prints, without a process for
 * each look. A daemon on another Node is asked by the command, on that Node.
 *
 * @throws when a container in it contradicts itself: so every call in every test checks that none does
 */
export async function readStatus(daemon: Daemon): Promise<ShownStatus> {
  const status = isOnOtherNode(daemon) ? await readPrintedStatus(daemon) : await askStatus(daemon);
  const broken = daemon.isOtherVersion ? [] : findContradictions(status.containers, { clock: daemon.clock });
  if (broken.length > 0) throw new Error(`status contradicts itself:\n${broken.join('\n')}`);
  return status;
}

/** Reads what `cpusetd status -o json` prints of this daemon. */
export const readPrintedStatus = async (daemon: Daemon): Promise<ShownStatus> =>
  JSON.parse(await askDaemon(daemon, 'status', '-o', 'json')) as ShownStatus;

const isOnOtherNode = ({ node }: Daemon): boolean => node !== process.execPath;

async function askStatus({ adminSocket }: Daemon): Promise<ShownStatus> {
  const client = await connectAdmin(adminSocket, { callTimeoutMs: patienceMs });
  try {
    return JSON.parse(JSON.stringify(await client.status())) as ShownStatus;
  } finally {
    client.close();
  }
}

/** True when the daemon reports that this service serves; the empty name stands for the daemon as a whole. */
export async function isHealthy(daemon: Daemon, service: string): Promise<boolean> {
  if (isOnOtherNode(daemon))
    return askDaemon(daemon, 'health', service).then(
      () => true,
      () => false,
    );
  const client = await connectAdmin(daemon.adminSocket).catch(() => undefined);
  try {
    return (await client?.checkHealth(service)) === 'SERVING';
  } catch {
    return false;
  } finally {
    client?.close();
  }
}
