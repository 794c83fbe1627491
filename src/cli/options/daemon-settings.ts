import { loadConfig } from '../../app/config';
import { toSettings } from '../../app/config/settings';
import { loadKubeletConfig } from '../../app/node/kubelet-config-cache';
import { withReservation } from '../../app/node/kubelet-reservation';
import type { Settings } from '../../core/model/settings';
import type { Topology } from '../../core/topology';
import { UsageError, type CliContext } from '../context';

/**
 * The reservation and the options of the static policy that `cpusetd run` has with this configuration file on this
 * machine. Throws UsageError when the file is wrong, HostError when the machine can't be read, else CpusetdError.
 */
export async function readDaemonSettings(
  file: string,
  topology: Topology,
  env: CliContext['env'],
): Promise<Pick<Settings, 'options' | 'reserved'>> {
  const loaded = await loadConfig({ flags: { config: [file] }, env });
  if (!loaded.ok) throw new UsageError(...loaded.problems);
  const config = withReservation(loaded.config, await loadKubeletConfig(loaded.config, loaded));
  return toSettings(config, topology, loaded.placeOf);
}
