import {
  ContainerAdjustment,
  ContainerUpdate,
  CreateContainerResponse,
  StopContainerResponse,
  SynchronizeResponse,
  UpdateContainerResponse,
} from '../../gen/nri/v1alpha1/nri';
import type { CpuSet } from '../core/cpuset';
import { DIRECTORY_IN_CONTAINER, variablesOf } from '../core/identity/where';
import type { IdentityMount } from '../core/model/cpu-identity';
import type { ContainerCpuUpdate, CpuAdjustment, RuntimeAnswer, RuntimeEvent } from '../core/model/events';
import { oncePer } from '../core/once-per';

/** An answer of kind `ok`; refusals become a status instead of a message. */
export type OkAnswer = Extract<RuntimeAnswer, { kind: 'ok' }>;

/** The message of an answer without changes. */
const EMPTY = new Uint8Array(0);

/**
 * The response message to an event. Responses to events of the past tense and of pods have no fields for changes: those
 * of the answer are left out.
 *
 * Throws RangeError for an empty CPU set, which on the wire would read as "leave it as it is".
 */
export function writeAnswer(event: RuntimeEvent, answer: OkAnswer): Uint8Array {
  const { adjust, updates = [], mount } = answer;
  switch (event.kind) {
    case 'create-container':
      return writeCreation({ adjust, mount }, byContainer(updates, event.container.id));
    case 'update-container':
      return writeUpdate(event.container.id, adjust, updates);
    case 'container-stopped':
      return writeUpdates(StopContainerResponse, byContainer(updates, event.containerId));
    case 'synchronize':
      return writeUpdates(SynchronizeResponse, byContainer(updates));
    default:
      return EMPTY;
  }
}

/** True when the event's response message has fields for all changes of the answer. */
export function canCarry(event: RuntimeEvent, { adjust, updates = [] }: OkAnswer): boolean {
  switch (event.kind) {
    case 'create-container':
    case 'update-container':
      return true;
    case 'container-stopped':
    case 'synchronize':
      return adjust === undefined;
    default:
      return adjust === undefined && updates.length === 0;
  }
}

/** The answer to a creation. An update of the very container that is being created would fail it. */
function writeCreation(creation: Creation, update: ContainerUpdate[]): Uint8Array {
  const { adjust, mount } = creation;
  if (update.length === 0 && mount === undefined) {
    if (adjust === undefined) return EMPTY;
    if (adjust.mems === undefined && adjust.quotaUs === undefined && adjust.cpus) return sharedCreation(adjust.cpus);
  }
  return encodeCreation(creation, update);
}

interface Creation {
  readonly adjust?: CpuAdjustment | undefined;
  readonly mount?: IdentityMount | undefined;
}

/** The answer to most creations, encoded once for each shared pool. */
const sharedCreation = oncePer((cpus: CpuSet) => encodeCreation({ adjust: { cpus } }, []));

function encodeCreation({ adjust, mount }: Creation, update: ContainerUpdate[]): Uint8Array {
  const linux = adjust && { resources: { cpu: cpuOf(adjust) } };
  const isEmpty = linux === undefined && mount === undefined;
  return CreateContainerResponse.encode({
    adjust: isEmpty
      ? undefined
      : ContainerAdjustment.create({ ...(linux && { linux }), ...(mount && mountedAs(mount)) }),
    update,
    evict: [],
  }).finish();
}

/**
 * Nothing that the container starts from it may gain rights, so it is mounted without devices, programs and set-user-id
 * bits.
 */
const MOUNT_OPTIONS = ['bind', 'ro', 'nosuid', 'nodev', 'noexec', 'rprivate'];

/** A runtime replaces a mount of the pod at the same place, and variables of the same names. */
function mountedAs(mount: IdentityMount) {
  return {
    mounts: [
      { destination: DIRECTORY_IN_CONTAINER, type: 'bind', source: mount.hostDirectory, options: MOUNT_OPTIONS },
    ],
    env: variablesOf(mount).map(([key, value]) => ({ key, value })),
  };
}

function writeUpdate(id: string, adjust: CpuAdjustment | undefined, updates: readonly ContainerCpuUpdate[]) {
  const others = byContainer(updates, id);
  // There is no "adjust" here: the change of the container itself is one more update, under its own id.
  const own = adjust && ContainerUpdate.create({ containerId: id, linux: { resources: { cpu: cpuOf(adjust) } } });
  return writeUpdates(UpdateContainerResponse, own ? [own, ...others] : others);
}

type WithUpdates = typeof UpdateContainerResponse | typeof StopContainerResponse | typeof SynchronizeResponse;

function writeUpdates(type: WithUpdates, update: ContainerUpdate[]): Uint8Array {
  return update.length === 0 ? EMPTY : type.encode({ update, evict: [], more: false }).finish();
}

/**
 * One update for each container: two with the same id count as a conflict of the plugin with itself and fail the whole
 * request. The last one wins, field by field.
 *
 * Failures are to be ignored by the runtime: a container that has just exited must not fail the creation of another
 * (CRI-O would). The container's cgroup shows later if an update was applied.
 */
function byContainer(updates: readonly ContainerCpuUpdate[], except?: string): ContainerUpdate[] {
  if (updates.length === 0) return [];
  const merged = new Map<string, ContainerCpuUpdate>();
  for (const update of updates) {
    if (update.containerId === except) continue;
    merged.set(update.containerId, { ...merged.get(update.containerId), ...update });
  }
  return Array.from(merged.values(), (update) =>
    ContainerUpdate.create({
      containerId: update.containerId,
      linux: { resources: { cpu: cpuOf(update) } },
      ignoreFailure: true,
    }),
  );
}

/** Only what is set: each field that is present is claimed against all other plugins. */
function cpuOf({ cpus, mems, quotaUs }: CpuAdjustment) {
  return {
    ...(cpus && { cpus: formatSet(cpus) }),
    ...(mems && { mems: formatSet(mems) }),
    ...(quotaUs !== undefined && { quota: { value: BigInt(quotaUs) } }),
  };
}

function formatSet(set: CpuSet): string {
  if (set.isEmpty)
    throw new RangeError('an empty set was about to be sent to the runtime, which reads it as "no change"');
  return set.toString();
}
