import type { Logger } from 'pino';
import { HealthState } from '../admin/health-state';
import { NodeModel } from '../core/model/node-model';
import type { NodeView } from '../core/model/node-view';
import { confineTopology, knownCaches, machineOf, barredCpus, type Topology } from '../core/topology';
import { ContainerDirectories, openCgroups, readBootId, readOffline, readTopology, type Cgroups } from '../host';
import type { KubeletConfig } from '../kube';
import { OWED } from './owed-effects/owed';
import { OwedNote } from './owed-effects/owed-note';
import { addOwnContainer } from './cgroups/own-container';
import { addRunningBeside } from './cgroups/running-beside';
import { Alarms } from './alarms/alarms';
import { Faults } from './alarms/faults';
import { ContainerCgroups } from './cgroups/container-cgroups';
import type { Config, PlaceOf } from './config';
import { RunningSettings } from './config/running-settings';
import { toSettings } from './config/settings';
import type { DaemonContext } from './context';
import { CpuIdentities } from './identity/cpu-identities';
import type { OnClose } from './lifecycle/closers';
import { readHeartbeat } from './lifecycle/heartbeat';
import { takeLocks } from './lifecycle/take-locks';
import { loadKubeletConfig } from './node/kubelet-config-cache';
import { withReservation } from './node/kubelet-reservation';
import { listKubepods, readBoundOf } from './node/read-bound';
import { openAssignmentStore, type AssignmentStore } from './transaction/assignment-store';
import { DaemonEvents } from './transaction/daemon-events';
import { Transactor } from './transaction/transactor';

/**
 * The result of a successful start: the machine is read, the state is open, and no other cpusetd works on this node.
 */
export interface Bootstrap {
  readonly context: DaemonContext;
  readonly transactor: Transactor;
  readonly store: AssignmentStore;
  readonly identities: CpuIdentities;
  readonly rules: RunningSettings;
  readonly kubeletConfig: KubeletConfig | undefined;
  /** Held until closed; its time is the sign of life. */
  readonly lockPath: string;
  /** Time at which a cpusetd last worked here; undefined when none ever did. */
  readonly aliveMs: number | undefined;
}

export interface BootstrapOptions {
  readonly config: Config;
  readonly placeOf?: PlaceOf | undefined;
  readonly version: string;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly onClose: OnClose;
}

/**
 * Takes the locks and reads everything that a start needs. Throws CpusetdError or HostError when the daemon can't
 * start.
 */
export async function bootstrap(options: BootstrapOptions): Promise<Bootstrap> {
  const { config, log, onClose } = options;
  const lockPath = `${config.stateDir}/lock`;
  const aliveMs = readHeartbeat(lockPath, Date.now());
  const alone = takeLocks({ config, lockPath, log, onClose });
  const node = readNode(options);
  node.catch(() => undefined); // thrown below
  await alone; // first: a second cpusetd ends with this error and no other
  return { ...createContext(await node, options), lockPath, aliveMs };
}

async function readNode({ config: given, placeOf, version, log, onClose }: BootstrapOptions) {
  const kubeletConfig = given.kubeletConfig && (await loadKubeletConfig(given, { log, placeOf }));
  const config = withReservation(given, kubeletConfig);
  const cgroups = openCgroups({ cgroupRoot: config.cgroupRoot });
  const topology = readUsableTopology(config.sysfsRoot, cgroups, kubeletConfig);
  const { ignored } = topology;
  if (ignored.length > 0) log.warn({ ignored }, 'sysfs contradicts itself: the machine was read without these');
  const model = new NodeModel(topology, toSettings(config, topology, placeOf));
  const isolated = topology.isolated.minus(model.settings.reserved);
  if (!isolated.isEmpty)
    log.warn(
      { isolated: isolated.toString() },
      'the kernel isolates CPUs that are not reserved: they are given out and shared like others, but threads stay where they start',
    );
  const store = openAssignmentStore({ stateDir: config.stateDir, version, model, log });
  if (config.kubeconfig !== undefined) {
    const awaited = new Set([...model.assignments.values()].map(({ podUid }) => podUid));
    model.apply({ kind: 'set-spec-source', source: { hasReported: false, awaited } });
  }
  const writable = config.cgroupWrites
    ? cgroups.probeWritable()
    : { writable: false as const, because: 'cgroup-writes is off' };
  if (!writable.writable)
    log.warn({ because: writable.because }, 'cgroups are not written directly; the runtime is asked to');
  const containerCgroups = new ContainerCgroups({
    cgroups,
    canWrite: writable.writable,
    model,
    log,
    ...(kubeletConfig && { kubelet: kubeletConfig }),
    takenCpus: { note: new OwedNote(OWED.takenCpus, { stateDir: config.stateDir, log }), bootId: readBootId() },
  });
  containerCgroups.returned.noteOffline(readOffline(config.sysfsRoot, machineOf(topology).online));
  onClose(() => containerCgroups.returned.round());
  const rules = new RunningSettings(config, topology);
  return { config, kubeletConfig, model, rules, store, cgroups: containerCgroups };
}

/** The machine as this node may use it. A bound that can't be read confines nothing, which `MachineWatch` reports. */
function readUsableTopology(sysfsRoot: string, cgroups: Cgroups, kubelet: KubeletConfig | undefined): Topology {
  const machine = readTopology({ sysfsRoot });
  return confineTopology(machine, readBoundOf(cgroups, listKubepods([], kubelet), machine.online).bound);
}

function createContext(
  { kubeletConfig, model, rules, store, ...node }: Awaited<ReturnType<typeof readNode>>,
  { log, signal }: BootstrapOptions,
): Omit<Bootstrap, 'lockPath' | 'aliveMs'> {
  const now = (): string => new Date().toISOString();
  const alarms = new Alarms({ log, now, onChange: () => events.emit('alarmsChanged') });
  const faults = new Faults({ log, alarms });
  const events = new DaemonEvents(faults);
  const context = { ...node, model, health: new HealthState(), alarms, faults, events, log, now, signal };
  const directories = new ContainerDirectories(node.config.cpuIdentityDir);
  const identities = new CpuIdentities({ directories, model, alarms, faults, log, signal });
  const transactor = new Transactor({
    model,
    save: store.save,
    mover: context.cgroups,
    identities,
    look: (event) => addOwnContainer(addRunningBeside(event, model, context.cgroups), model, context.cgroups),
    now,
    log,
    observer: {
      onSaved: (tookMs, problem) => events.emit('saved', { tookMs, problem }),
      onArrival: (arrived) => events.emit('arrived', arrived),
      onTransaction: (done) => events.emit('decided', done),
    },
  });
  return { context, transactor, store, identities, rules, kubeletConfig };
}

/** For the log. */
export function describeNode({ topology, settings, sharedPool }: NodeView) {
  const barred = barredCpus(topology);
  return {
    cpus: machineOf(topology).online.toString(),
    ...(topology.confinement && { barred: barred.toString(), boundBy: topology.confinement.bound.cgroup }),
    cores: topology.cores.length,
    sockets: topology.sockets.length,
    numaNodes: topology.numaNodes.length,
    uncoreCaches: knownCaches(topology).length,
    reserved: settings.reserved.toString(),
    sharedPool: sharedPool.toString(),
  };
}
