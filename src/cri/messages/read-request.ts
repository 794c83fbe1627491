import { CpusetdError } from '../../core/errors';
import type { ContainerInfo, CpuResources, PodInfo } from '../../core/model/events';
import type { ProtobufReader } from '../../wire/protobuf';
import { readFields, type FieldReaders } from './read-fields';
import { PodConfig } from './read-pod-config';
import { readResources, toCpuResources, type Resources } from './read-resources';

/** Content of a request to create a container, which has no id yet. Undefined for one of another operating system. */
export interface CreateRequest {
  readonly pod: PodInfo;
  readonly container: Omit<ContainerInfo, 'id'>;
}

/** Throws CpusetdError INVALID_ARGUMENT for a message that can't be read, as all functions here do. */
export function readCreateContainer(message: Uint8Array): CreateRequest | undefined {
  let sandboxId = '';
  let name = '';
  let isLinux = false;
  const resources: Resources = {};
  const podConfig = new PodConfig();
  const readConfig = (source: ProtobufReader): void =>
    readFields(source, {
      1: (config) => readFields(config, { 1: (metadata) => (name = metadata.readString()) }),
      15: (config) => {
        isLinux = true;
        readFields(config, { 1: (linux) => readResources(linux, resources) });
      },
    });
  read('CreateContainer', message, {
    1: (reader) => (sandboxId = reader.readString()),
    2: readConfig,
    3: (reader) => podConfig.read(reader),
  });
  if (!isLinux || !podConfig.isLinux) return undefined;
  if (sandboxId === '' || name === '')
    throw new CpusetdError(
      'INVALID_ARGUMENT',
      'the request to create a container names no pod sandbox or no container',
    );
  return {
    pod: podConfig.toPodInfo(sandboxId),
    container: {
      sandboxId,
      name,
      phase: 'creating',
      cgroupsPath: '',
      resources: toCpuResources(resources),
      ...(resources.oomScoreAdj !== undefined && { oomScoreAdj: resources.oomScoreAdj }),
    },
  };
}

/** Undefined for a pod of another operating system. */
export function readRunPodSandbox(message: Uint8Array): ((sandboxId: string) => PodInfo) | undefined {
  const podConfig = new PodConfig();
  read('RunPodSandbox', message, { 1: (reader) => podConfig.read(reader) });
  return podConfig.isLinux ? (sandboxId) => podConfig.toPodInfo(sandboxId) : undefined;
}

export interface UpdateRequest {
  readonly containerId: string;
  /** Undefined when the request has no part for Linux. */
  readonly resources: CpuResources | undefined;
}

/** Reads CPUs and memory nodes of an UpdateContainerResourcesRequest. Throws when the bytes are no such message. */
export function readUpdateContainer(message: Uint8Array): UpdateRequest {
  let containerId = '';
  let resources: Resources | undefined;
  read('UpdateContainerResources', message, {
    1: (reader) => (containerId = reader.readString()),
    2: (reader) => readResources(reader, (resources ??= {})),
  });
  return { containerId, resources: resources && toCpuResources(resources) };
}

/** The text in field 1: the id in most requests about one container or sandbox, and in the answers to creations. */
export function readId(method: string, message: Uint8Array): string {
  let id = '';
  read(method, message, { 1: (reader) => (id = reader.readString()) });
  return id;
}

function read(method: string, message: Uint8Array, readers: FieldReaders): void {
  try {
    readFields(message, readers);
  } catch (cause) {
    throw new CpusetdError('INVALID_ARGUMENT', `${method}: this is not a message of this method`, { cause });
  }
}
