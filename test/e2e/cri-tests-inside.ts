import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { RuntimeServiceDefinition } from '../gen/cri/v1/cri';
import { type Runtime, waitUntil } from './rig';

const { methods } = RuntimeServiceDefinition;

/** The folder of a program of tests in the runtime's mount namespace. */
export const testFolder = '/run/suite';

/** A bridge in the network namespace of the runtime, by the CNI plugins of Debian. */
const podNetwork = {
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'pods',
      isGateway: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.88.0.0/24' }]], routes: [{ dst: '0.0.0.0/0' }] },
    },
    { type: 'portmap', capabilities: { portMappings: true } },
  ],
};

/** Gives pods a network, on a runtime that was started with a network of its own. */
export async function addPodNetwork({ work, kubelet }: Runtime): Promise<void> {
  mkdirSync(join(work, 'run/cni'), { recursive: true });
  writeFileSync(join(work, 'run/cni/pods.conflist'), JSON.stringify(podNetwork));
  await waitUntil('the network of pods', async () => {
    const { status } = await kubelet.channel.call(methods.status, { verbose: false });
    return status?.conditions.find(({ type }) => type === 'NetworkReady')?.status === true;
  });
}

/** Runs a command in the runtime's namespaces. @returns its output @throws when it fails */
export async function runInside(runtime: Runtime, command: string, args: readonly string[]): Promise<string> {
  const options = { env: envOf(runtime), maxBuffer: 64 * 1024 * 1024 };
  const { stdout } = await promisify(execFile)('nsenter', enter(runtime, command, args), options);
  return stdout;
}

/** The arguments of nsenter for a command in the runtime's namespaces. */
export function enter({ namespacePid }: Runtime, command: string, args: readonly string[]): string[] {
  const namespaces = `/proc/${namespacePid}`;
  const options = [`--mount=${namespaces}/ns/mnt`, `--net=${namespaces}/ns/net`, `--wd=${namespaces}/root/tmp`];
  return [...options, '--', command, ...args];
}

/**
 * Variables that mark processes as the runtime's, and a search path without the command that ends processes by name.
 */
export const envOf = ({ work }: Runtime): NodeJS.ProcessEnv => ({
  PATH: `/run/bin:${testFolder}:/usr/sbin:/usr/bin:/sbin:/bin`,
  HOME: '/tmp',
  CPUSETD_RUNTIME: work,
});

/** Removes a cgroup below the root, unless another runtime uses it. */
export function removeUnusedCgroup(name: string): void {
  const root = '/sys/fs/cgroup';
  const hierarchies = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  for (const dir of [root, ...hierarchies.map(({ name }) => join(root, name))]) {
    try {
      rmdirSync(join(dir, name));
    } catch {
      // It is not there, or in use.
    }
  }
}
