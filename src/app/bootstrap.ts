import type { Logger } from 'pino';
import { NodeModel } from '../core/model/node-model';
import { openCgroups, readTopology, type Cgroups } from '../host';
import type { KubeletConfig } from '../kube/kubelet/kubelet-config';
import type { OnClose } from './lifecycle/closers';
import type { Config, PlaceOf } from './config';
import { demand } from './demand';
import { loadKubeletConfig, withReservation } from './node/kubelet-reservation';
import { openAssignmentStore, type AssignmentStore } from './transaction/assignment-store';
import { settingsOf } from './config/settings';
import { readSignOfLife } from './lifecycle/heartbeat';
import { takeLocks } from './lifecycle/take-locks';

/** What the daemon stands on: the machine, what is remembered of it, and where it may write. */
export interface Ground {
  /** With the kubelet's reservation, where there is none of our own. */
  readonly config: Config;
  readonly kubeletConfig: KubeletConfig | undefined;
  readonly model: NodeModel;
  readonly memory: AssignmentStore;
  readonly cgroups: Cgroups;
  /** Whether cgroups are written here; else the runtime is asked to. */
  readonly writes: boolean;
  /** Held until closed; it also carries the sign of life. */
  readonly lockPath: string;
  /** When a cpusetd was last alive here, if one ever was. */
  readonly aliveMs: number | undefined;
}

export interface GroundOptions {
  readonly config: Config;
  readonly placeOf: PlaceOf | undefined;
  readonly version: string;
  readonly log: Logger;
  readonly onClose: OnClose;
}

/** Takes the locks and reads everything that a start needs. Throws CpusetdError when the daemon can't start on this. */
export async function openGround({ config: given, placeOf, version, log, onClose }: GroundOptions): Promise<Ground> {
  const lockPath = `${given.stateDir}/lock`;
  const aliveMs = readSignOfLife(lockPath, Date.now());
  const alone = takeLocks({ config: given, lockPath, log, onClose });
  const ground = readGround({ config: given, placeOf, version, log, onClose });
  ground.catch(() => undefined); // told below
  await alone; // first: whoever is not alone need not hear what else is wrong
  return { ...(await ground), lockPath, aliveMs };
}

async function readGround(options: GroundOptions): Promise<Omit<Ground, 'lockPath' | 'aliveMs'>> {
  const { config: given, placeOf, version, log } = options;

  const kubeletConfig = given.kubeletConfig && (await loadKubeletConfig(given, { log, placeOf }));
  const config = withReservation(given, kubeletConfig);
  const topology = demand(() => readTopology({ sysfsRoot: config.sysfsRoot }));
  const model = new NodeModel(topology, settingsOf(config, topology, placeOf));
  const isolated = topology.isolated.minus(model.settings.reserved);
  if (!isolated.isEmpty)
    log.warn(
      { isolated: isolated.toString() },
      'the kernel isolates CPUs that are not reserved: they are given out and shared like others, but threads stay where they start',
    );
  const memory = openAssignmentStore({ stateDir: config.stateDir, version, model, log });
  if (config.kubeconfig !== undefined) {
    const awaited = new Set([...model.assignments.values()].map(({ podUid }) => podUid));
    model.apply({ kind: 'set-spec-source', source: { told: false, awaited } });
  }
  const cgroups = demand(() => openCgroups({ cgroupRoot: config.cgroupRoot }));
  const writable = config.cgroupWrites
    ? cgroups.probeWritable()
    : { writable: false as const, because: 'cgroup-writes is off' };
  if (!writable.writable)
    log.warn({ because: writable.because }, 'cgroups are not written directly; the runtime is asked to');
  return { config, kubeletConfig, model, memory, cgroups, writes: writable.writable };
}
