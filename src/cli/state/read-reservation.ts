import { loadConfig } from '../../app/config';
import { toSettings } from '../../app/config/settings';
import { loadKubeletConfig } from '../../app/node/kubelet-config-cache';
import { withReservation } from '../../app/node/kubelet-reservation';
import type { CpuSet } from '../../core/cpuset';
import { readTopology } from '../../host';
import { UsageError, type CliContext } from '../context';

/**
 * The reservation that `cpusetd run` has with this configuration file on this machine. Throws UsageError when the file is wrong, HostError
 * when the machine can't be read, else CpusetdError.
 */
export async function readReservation(
  file: string,
  sysfsRoot: string,
  env: CliContext['env'],
): Promise<{ readonly cpus: CpuSet; readonly strict: boolean }> {
  const loaded = await loadConfig({ flags: { config: [file] }, env });
  if (!loaded.ok) throw new UsageError(...loaded.problems);
  const config = withReservation(loaded.config, await loadKubeletConfig(loaded.config, loaded));
  const topology = readTopology({ sysfsRoot });
  const { options, reserved } = toSettings(config, topology, loaded.placeOf);
  return { cpus: reserved, strict: options.strictCpuReservation };
}
