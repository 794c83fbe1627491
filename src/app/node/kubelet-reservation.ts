import { join } from 'node:path';
import { CpuListError, parseCpuList } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import { canPin, type Settings } from '../../core/model/settings';
import { readKubeletConfig, type KubeletConfig } from '../../kube/kubelet/kubelet-config';
import type { Logger } from 'pino';
import type { NodeView } from '../../core/model/node-model';
import { planChanges, servePending } from '../../core/transition';
import type { Alarms } from '../alarms/alarms';
import type { Config, PlaceOf } from '../config';
import { messageOf } from '../alarms/faults';
import { nodeFsOps, readBounded, replaceDurably } from '../../state';
import { settingsOf, type ConfigInForce } from '../config/settings';
import type { Transactor } from '../transaction/transactor';

const REMEMBERED = 'kubelet-config.json';
/** Files of real nodes have some kilobytes. */
const MAX_BYTES = 64 * 1024;

/**
 * The kubelet's configuration as far as it is known at the start: of the file, or what it said last time through the API
 * server. `placeOf` tells where the option was set. Throws CpusetdError for a file that can't be used although the reservation hangs on it.
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
    if (hasOwn(config) || !canPin(config)) {
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
  const { parseYaml } = await import('../config/parse-yaml');
  const parsed = parseYaml(read.text);
  if (!parsed.ok) throw new Error(parsed.because);
  const { document } = parsed;
  if (document.errors[0]) throw document.errors[0];
  const found = readKubeletConfig(document.toJS()); // throws for aliases that grow without end
  if (!found) throw new Error('it is not a KubeletConfiguration');
  return found;
}

/** For the next start, which may come before the API server. What can't be kept is asked for again then. */
function rememberKubeletConfig({ stateDir }: Config, found: KubeletConfig, log: Logger): void {
  try {
    replaceDurably(nodeFsOps, join(stateDir, REMEMBERED), Buffer.from(`${JSON.stringify(found)}\n`));
  } catch (error) {
    log.warn(
      { because: messageOf(error) },
      'the kubelet’s reservation is not remembered: a start without the API server reserves one CPU',
    );
  }
}

/**
 * The options with the kubelet's reservation where there is none of our own. While it is not known one CPU is kept for the
 * system: pinning does not wait for the API server.
 */
export function withReservation(config: Config, kubelet: KubeletConfig | undefined): ConfigInForce {
  if (hasOwn(config) || config.kubeletConfig === undefined) return config;
  if (kubelet?.reservedSystemCpus !== undefined) {
    try {
      const list = kubelet.reservedSystemCpus;
      return { ...config, reservedCpus: parseCpuList(list), reservedBy: `the kubelet's reservedSystemCPUs ${list}` };
    } catch (error) {
      if (!(error instanceof CpuListError)) throw error;
      throw new CpusetdError(
        'INVALID_ARGUMENT',
        `the kubelet's reservedSystemCPUs can't be used: ${error.message}; correct it there`,
      );
    }
  }
  const milliCpu = kubelet?.reservedMilliCpu ?? 0;
  const reservedBy = kubelet
    ? `the kubelet's kubeReserved and systemReserved of ${milliCpu}m CPU`
    : "the CPU that is kept until the kubelet's reservation is known";
  return { ...config, reservedCpuCount: Math.max(1, Math.ceil(milliCpu / 1000)), reservedBy };
}

/** Why what the kubelet reserves is not what is reserved here; undefined when both agree. */
function compareReservation({ reserved }: Settings, kubelet: KubeletConfig): string | undefined {
  const ours = reserved.isEmpty ? 'nothing' : `CPUs ${reserved.toString()}`;
  const advice = 'the scheduler counts by the kubelet’s reservation; set both alike';
  const { reservedSystemCpus: list, reservedMilliCpu } = kubelet;
  if (list !== undefined) {
    const theirs = tryParse(list);
    if (theirs?.equals(reserved)) return undefined;
    return `the kubelet reserves CPUs ${list}, cpusetd ${ours}: ${advice}`;
  }
  const count = Math.ceil(reservedMilliCpu / 1000);
  if (count === reserved.size) return undefined;
  return `the kubelet reserves ${reservedMilliCpu}m CPU, cpusetd ${ours}: ${advice}`;
}

/**
 * Takes over what the kubelet's configuration says now, or tells in what it differs from our own. A reservation that this machine
 * can't have is an alarm; throws for a fault of our own.
 */
export function adoptReservation(parts: {
  readonly given: Config;
  readonly found: KubeletConfig;
  readonly model: NodeView;
  readonly transactor: Pick<Transactor, 'change'>;
  readonly alarms: Alarms;
  readonly log: Logger;
}): void {
  const { given, found, model, transactor, alarms, log } = parts;
  let because: string | undefined;
  if (given.kubeletConfig?.kind === 'configz') rememberKubeletConfig(given, found, log);
  if (!hasOwn(given)) {
    try {
      const settings = settingsOf(withReservation(given, found), model.topology);
      if (!settings.reserved.equals(model.settings.reserved)) {
        transactor.change((draft) => {
          draft.put({ kind: 'set-settings', settings });
          servePending(draft); // fewer may be reserved than before
          return planChanges(draft);
        });
        log.info({ reserved: settings.reserved.toString() }, 'the reservation is the kubelet’s');
      }
    } catch (error) {
      if (!(error instanceof CpusetdError)) throw error;
      because = `the kubelet's reservation can't be taken over: ${error.message}`;
    }
  }
  alarms.update('kubelet-reservation', '', because ?? compareReservation(model.settings, found));
}

function hasOwn({ reservedCpus, reservedCpuCount }: Config): boolean {
  return reservedCpus !== undefined || reservedCpuCount !== undefined;
}

function tryParse(list: string) {
  try {
    return parseCpuList(list);
  } catch (error) {
    if (!(error instanceof CpuListError)) throw error;
    return undefined;
  }
}

function readRemembered(path: string): KubeletConfig | undefined {
  try {
    const read = readBounded(path, MAX_BYTES, { own: true });
    if (!read.ok) return undefined;
    const { cpuManagerPolicy, reservedSystemCpus, reservedMilliCpu, reserved, evictionMemory, reservedMemory } =
      JSON.parse(read.text) as Record<string, unknown>;
    const byName = readAmounts(reserved);
    const byNode = readAmounts(reservedMemory);
    return {
      cpuManagerPolicy: cpuManagerPolicy === 'static' ? 'static' : 'none',
      ...(typeof reservedSystemCpus === 'string' && { reservedSystemCpus }),
      reservedMilliCpu: isAmount(reservedMilliCpu) ? reservedMilliCpu : 0,
      ...(byName && { reserved: byName }),
      ...((isAmount(evictionMemory) || isPercent(evictionMemory)) && { evictionMemory }),
      ...(byNode && { reservedMemory: byNode }),
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
