import { join } from 'node:path';
import type { Logger } from 'pino';
import { CpusetdError } from '../../core/errors';
import { canPin } from '../../core/model/settings';
import { readKubeletConfig, type KubeletConfig } from '../../kube/kubelet/kubelet-config';
import { readBounded } from '../../files/read-bounded';
import { replaceDurably } from '../../files/durable-write';
import { nodeFsOps } from '../../files/fs-ops';
import { messageOf } from '../alarms/faults';
import type { Config, PlaceOf } from '../config';

const REMEMBERED = 'kubelet-config.json';
/** Files of real nodes have some kilobytes. */
const MAX_BYTES = 64 * 1024;

/**
 * Reads the kubelet's configuration as far as it is known at the start: from the file, or as the API server passed it
 * on last time. `placeOf`: where the option was set. Throws CpusetdError for a file that can't be used when the
 * reservation depends on it.
 */
export async function loadKubeletConfig(
  config: Config,
  { log, placeOf }: { readonly log?: Logger; readonly placeOf?: PlaceOf | undefined } = {},
): Promise<KubeletConfig | undefined> {
  const { kubeletConfig: source, stateDir } = config;
  if (source === undefined) return undefined;
  if (source.kind === 'configz') return readRemembered(join(stateDir, REMEMBERED));
  try {
    return await readConfigFile(source.path);
  } catch (error) {
    const place = placeOf?.('kubelet-config', { withText: true }) ?? `--kubelet-config ${source.path}`;
    const because = `${place}: ${(error as Error).message}`;
    if (hasReservation(config) || !canPin(config)) {
      log?.warn(
        { because: `${because}; name the configuration file of the kubelet, or leave the option out` },
        'the kubelet’s configuration can’t be used: nothing is compared with it or published of it',
      );
      return undefined;
    }
    throw new CpusetdError(
      'INVALID_ARGUMENT',
      `${because}; no CPU is reserved without it: name the configuration file of the kubelet, or set --reserved-cpus`,
      { cause: error },
    );
  }
}

/** Throws Error that says what is wrong with the file. */
async function readConfigFile(path: string): Promise<KubeletConfig> {
  const read = readBounded(path, MAX_BYTES);
  if (!read.ok) throw new Error(read.because, { cause: read.cause });
  const { readFirstDocument } = await import('../../files/parse-yaml');
  // The kubelet reads the first document of several, too.
  const found = readKubeletConfig(readFirstDocument(read.text).value);
  if (!found) throw new Error('it is not a KubeletConfiguration');
  return found;
}

/**
 * Keeps the configuration for the next start, which may come before the API server. A failure is logged: it is asked
 * for again then.
 */
export function rememberKubeletConfig({ stateDir }: Config, found: KubeletConfig, log: Logger): void {
  try {
    replaceDurably(nodeFsOps, join(stateDir, REMEMBERED), Buffer.from(`${JSON.stringify(found)}\n`));
  } catch (error) {
    log.warn(
      { because: messageOf(error) },
      'the kubelet’s reservation is not remembered: a start without the API server reserves one CPU',
    );
  }
}

/** True when the operator reserves CPUs. */
export function hasReservation({ reservedCpus, reservedCpuCount }: Config): boolean {
  return reservedCpus !== undefined || reservedCpuCount !== undefined;
}

function readRemembered(path: string): KubeletConfig | undefined {
  try {
    const read = readBounded(path, MAX_BYTES, { own: true });
    if (!read.ok) return undefined;
    const remembered = JSON.parse(read.text) as Record<string, unknown>;
    const { cpuManagerPolicy, reservedSystemCpus, reservedMilliCpu, reserved, evictionMemory, reservedMemory } =
      remembered;
    const { cgroupRoot, cgroupDriver, cgroupsPerQos } = remembered;
    const byName = readAmounts(reserved);
    const byNode = readAmounts(reservedMemory);
    return {
      cpuManagerPolicy: cpuManagerPolicy === 'static' ? 'static' : 'none',
      ...(typeof reservedSystemCpus === 'string' && { reservedSystemCpus }),
      reservedMilliCpu: isAmount(reservedMilliCpu) ? reservedMilliCpu : 0,
      ...(byName && { reserved: byName }),
      ...((isAmount(evictionMemory) || isPercent(evictionMemory)) && { evictionMemory }),
      ...(byNode && { reservedMemory: byNode }),
      ...(typeof cgroupRoot === 'string' && { cgroupRoot }),
      ...((cgroupDriver === 'systemd' || cgroupDriver === 'cgroupfs') && { cgroupDriver }),
      ...(cgroupsPerQos === false && { cgroupsPerQos }),
    };
  } catch {
    return undefined; // never asked yet, or damaged
  }
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}

function isPercent(value: unknown): value is `${number}%` {
  return typeof value === 'string' && /^\d{1,3}(\.\d+)?%$/.test(value);
}

function readAmounts(value: unknown): Readonly<Record<string, number>> | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const amounts = Object.entries(value).filter((entry): entry is [string, number] => isAmount(entry[1]));
  return amounts.length > 0 ? Object.fromEntries(amounts) : undefined;
}
