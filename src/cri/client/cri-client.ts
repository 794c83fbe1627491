import {
  type Container,
  type PodSandbox,
  LinuxContainerResources,
  RuntimeServiceDefinition,
} from '../../../gen/cri/view/view';
import { CpusetdError } from '../../core/errors';
import type {
  ContainerCpuUpdate,
  ContainerInfo,
  CpuAdjustment,
  NodeInventory,
  PauseInfo,
} from '../../core/model/events';
import { type CallOptions, GrpcClient } from '../../net/grpc-client';
import { readRuntimeSettings, type RuntimeSettings } from './runtime-settings';
import {
  type ListedPod,
  toContainerInfo,
  toContainerInfoOfStatus,
  toListedPod,
  toPauseInfo,
  toPodInfoOfStatus,
} from './to-core';

/** The name and version that the runtime reports. */
export interface RuntimeVersion {
  readonly name: string;
  readonly version: string;
  readonly apiVersion: string;
}

/**
 * The part of CRI that the daemon calls itself, in core's terms. Every call throws CpusetdError with the runtime's
 * status.
 */
export interface CriClient {
  version(options?: CallOptions): Promise<RuntimeVersion>;
  /** Of the runtime that `version` names so. */
  readSettings(name: string, options?: CallOptions): Promise<RuntimeSettings>;
  /** Without cgroups: lists do not contain them. */
  listPods(options?: CallOptions): Promise<readonly ListedPod[]>;
  /** Without cgroups and resources: lists do not contain them. */
  listContainers(options?: CallOptions): Promise<readonly ContainerInfo[]>;
  /**
   * Everything that exists now, cgroups and resources included: the content of NRI's Synchronize, and exited
   * containers.
   */
  readNode(options?: CallOptions): Promise<NodeInventory>;
  /** One container, cgroup and resources included; undefined when the runtime has none of this id. */
  readContainer(containerId: string, options?: CallOptions): Promise<ContainerInfo | undefined>;
  /** The pause container of a sandbox; undefined when the runtime has no such sandbox, or does not report it. */
  readPause(sandboxId: string, options?: CallOptions): Promise<PauseInfo | undefined>;
  /**
   * Changes CPUs, memory nodes, quota or shares of a container; absent fields stay as they are. NOT_FOUND when it is
   * gone, and on CRI-O also when it has ended. While a container is being started, containerd takes an update without
   * carrying it out: repeat it afterwards.
   */
  updateContainer(update: ContainerResourceUpdate, options?: CallOptions): Promise<void>;
  close(): void;
}

/** A change of a container that runs; absent fields stay as they are. */
export type ContainerResourceUpdate = ContainerCpuUpdate &
  CpuAdjustment & {
    /** Of the CFS quota, in µs. */
    readonly periodUs?: number;
    readonly shares?: number;
  };

/** The published name; `proto/cri/view` has a package of its own. */
const SERVICE = 'runtime.v1.RuntimeService';
const { methods } = RuntimeServiceDefinition;

/** Most status calls at once: enough to be quick, too few to delay the kubelet's. */
const statusCallsAtOnce = 8;

export type Channel = Pick<GrpcClient, 'call' | 'close'>;

/** Calls one service of a runtime; nothing is opened before the first call. */
export function openChannel(endpoint: string, service: string): Channel {
  return new GrpcClient({ endpoint, service, peer: 'the runtime' });
}

/** @param endpoint the runtime's socket, with or without `unix://`; nothing is opened before the first call */
export function createCriClient(endpoint: string): CriClient {
  const channel = openChannel(endpoint, SERVICE);
  return {
    async version(options) {
      const answer = await channel.call(methods.version, { version: 'v1' }, options);
      return { name: answer.runtimeName, version: answer.runtimeVersion, apiVersion: answer.runtimeApiVersion };
    },
    readSettings: (name, options) =>
      readRuntimeSettings(name, async () => (await channel.call(methods.status, { verbose: true }, options)).info),
    listPods: async (options) => (await listPods(channel, options)).map(toListedPod),
    listContainers: async (options) => (await listContainers(channel, options)).map(toContainerInfo),
    readNode: (options) => readNode(channel, options),
    readContainer: (containerId, options) => readContainer(channel, containerId, options),
    readPause: (sandboxId, options) => readPause(channel, sandboxId, options),
    updateContainer: (update, options) => updateContainer(channel, update, options),
    close: () => channel.close(),
  };
}

async function listPods(channel: Channel, options?: CallOptions): Promise<PodSandbox[]> {
  return (await channel.call(methods.listPodSandbox, {}, options)).items;
}

async function listContainers(channel: Channel, options?: CallOptions): Promise<Container[]> {
  return (await channel.call(methods.listContainers, { filter: undefined }, options)).containers;
}

/** Pods are listed last, so the pod of every listed container is in the list. */
async function readNode(channel: Channel, options?: CallOptions): Promise<NodeInventory> {
  const containers = await listContainers(channel, options);
  const pods = await listPods(channel, options);
  return {
    containers: await mapExisting(containers, async (container) => {
      const status = { containerId: container.id, verbose: true };
      return toContainerInfoOfStatus(container, await channel.call(methods.containerStatus, status, options));
    }),
    pods: await mapExisting(pods, async (pod) => {
      const status = { podSandboxId: pod.id, verbose: true };
      return toPodInfoOfStatus(pod, await channel.call(methods.podSandboxStatus, status, options));
    }),
  };
}

async function readContainer(
  channel: Channel,
  containerId: string,
  options?: CallOptions,
): Promise<ContainerInfo | undefined> {
  const filter = { id: containerId };
  const { containers } = await channel.call(methods.listContainers, { filter }, options);
  // A runtime may accept a prefix of an id.
  const listed = containers.filter(({ id }) => id === containerId);
  const [container] = await mapExisting(listed, async (each) =>
    toContainerInfoOfStatus(each, await channel.call(methods.containerStatus, { containerId, verbose: true }, options)),
  );
  return container;
}

async function readPause(
  channel: Channel,
  podSandboxId: string,
  options?: CallOptions,
): Promise<PauseInfo | undefined> {
  const [pause] = await mapExisting([podSandboxId], async (id) =>
    toPauseInfo(await channel.call(methods.podSandboxStatus, { podSandboxId: id, verbose: true }, options)),
  );
  return pause;
}

/** Maps a few at a time, in order; what was removed after it had been listed is left out. */
async function mapExisting<Item, Result>(
  items: readonly Item[],
  map: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: (Result | undefined)[] = [];
  const pending = items.entries();
  const work = async () => {
    for (const [index, item] of pending) {
      try {
        results[index] = await map(item);
      } catch (error) {
        if (!isOfCode(error, 'NOT_FOUND')) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: statusCallsAtOnce }, work));
  return results.filter((result) => result !== undefined);
}

async function updateContainer(
  channel: Channel,
  { containerId, cpus, mems, quotaUs, periodUs, shares }: ContainerResourceUpdate,
  options?: CallOptions,
): Promise<void> {
  // In CRI an empty text means "no change", and the runtime would answer that it is done.
  if (cpus?.isEmpty === true || mems?.isEmpty === true) {
    throw new CpusetdError('INVALID_ARGUMENT', `an empty set of CPUs or memory nodes for container ${containerId}`);
  }
  const linux = LinuxContainerResources.create({
    cpusetCpus: cpus?.toString() ?? '',
    cpusetMems: mems?.toString() ?? '',
    cpuQuota: BigInt(quotaUs ?? 0),
    cpuPeriod: BigInt(periodUs ?? 0),
    cpuShares: BigInt(shares ?? 0),
  });
  const request = { containerId, linux };
  try {
    await channel.call(methods.updateContainerResources, request, options);
  } catch (error) {
    if (!isOfCode(error, 'UNKNOWN') || !(await hasEnded(channel, containerId, options))) throw error;
    throw new CpusetdError('NOT_FOUND', `container ${containerId} has ended: ${error.message}`, { cause: error });
  }
}

/** CRI-O has one status code for all failures, so it has to be asked whether a container has ended. */
async function hasEnded(channel: Channel, containerId: string, options?: CallOptions): Promise<boolean> {
  const { containers } = await channel.call(methods.listContainers, { filter: { id: containerId } }, options);
  const listed = containers.find(({ id }) => id === containerId);
  return listed === undefined || toContainerInfo(listed).phase === 'exited';
}

function isOfCode(error: unknown, code: CpusetdError['code']): error is CpusetdError {
  return error instanceof CpusetdError && error.code === code;
}
