import {
  type ContainerSpec,
  type Daemon,
  lastCpu,
  printMaskThenSleep,
  readStatus,
  type ShownContainer,
  type ShownStatus,
} from './rig';

/** CPU 0 is reserved. On the smallest machine there is one more CPU, which is enough for all tests of the proxy. */
export const PROXY = ['--mode', 'cri-proxy', '--reserved-cpus', '0'];

export const shared: ContainerSpec = { name: 'web', cpuRequestMilli: 100, command: printMaskThenSleep };
/** Takes all CPUs that can be exclusive. */
export const pinned: ContainerSpec = { name: 'db', cpus: lastCpu, command: printMaskThenSleep };

/** The status of a daemon, with the pause containers of pods apart from the containers of users. */
export async function readProxyStatus(
  daemon: Daemon,
): Promise<ShownStatus & { readonly pauses: readonly ShownContainer[] }> {
  const status = await readStatus(daemon);
  const isPause = ({ pause }: ShownContainer): boolean => pause === true;
  return {
    ...status,
    containers: status.containers.filter((each) => !isPause(each)),
    pauses: status.containers.filter(isPause),
  };
}
