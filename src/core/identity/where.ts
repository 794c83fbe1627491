import type { IdentityMount } from '../model/cpu-identity';

/**
 * The directory in the container. Neither this nor anything else of a path is a pod's choice. It is not below /run:
 * images, systemd and volumes of read-only containers mount something over that, which would hide it.
 */
export const DIRECTORY_IN_CONTAINER = '/etc/cpusetd';

/** The file in that directory. */
export const FILE_NAME = 'cpus.json';

/** Variable with the path of the file. */
const FILE_VARIABLE = 'CPUSETD_CPUS_FILE';
/** Variable with the CPUs at the creation; later changes are in the file alone. */
const CPUS_VARIABLE = 'CPUSETD_CPUS';

/** The variables that go with the mount, as name and value. */
export function variablesOf({ cpus }: IdentityMount): readonly (readonly [name: string, value: string])[] {
  const file = [FILE_VARIABLE, `${DIRECTORY_IN_CONTAINER}/${FILE_NAME}`] as const;
  return cpus === undefined || cpus.isEmpty ? [file] : [file, [CPUS_VARIABLE, cpus.toString()]];
}

/** The id of a sandbox as runtimes make them. It has no dot, so it cannot leave a directory, nor run into the name. */
const SANDBOX_ID = /^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/;
/** The name of a container in Kubernetes: a DNS label. */
const CONTAINER_NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/**
 * The name of the directory on the host; undefined for names that no Kubernetes has.
 *
 * It is made of the sandbox and the container's name, since a CRI request to create a container carries no id yet. A
 * container that is created again in its pod gets the same directory.
 */
export function directoryNameOf({
  sandboxId,
  name,
}: {
  readonly sandboxId: string;
  readonly name: string;
}): string | undefined {
  return SANDBOX_ID.test(sandboxId) && CONTAINER_NAME.test(name) ? `${sandboxId}.${name}` : undefined;
}

/** True for a text that `directoryNameOf` can return. */
export function isDirectoryName(text: string): boolean {
  const [sandboxId = '', name = '', ...more] = text.split('.');
  return more.length === 0 && directoryNameOf({ sandboxId, name }) === text;
}
