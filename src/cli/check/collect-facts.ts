import { accessSync, constants, existsSync, readFileSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../app/config';
import { toSettings } from '../../app/config/settings';
import { withReservation } from '../../app/node/kubelet-reservation';
import { CpuListError, CpuSet, parseCpuList } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import { KNOWN_MANAGERS } from '../../core/verdict/drift-cause';
import { createCriClient } from '../../cri/client';
import { parseYaml } from '../../files/parse-yaml';
import { readBounded } from '../../files/read-bounded';
import { HostError, listProcessNames, openCgroups, readOffline, readTopology } from '../../host';
import { readKubeletConfig } from '../../kube/kubelet/kubelet-config';
import { probeSocket } from '../../net/claim-socket';
import { MAX_KUBELET_STATE_BYTES, parseKubeletState } from '../../state/kubelet-checkpoint';
import type { KubeletFacts, Known, NodeFacts } from './facts';

/** Time in which the runtime has to answer. */
const RUNTIME_MS = 5_000;
const MAX_KUBELET_CONFIG_BYTES = 64 * 1024;
/** Types of file systems in memory: tmpfs and ramfs, of linux/magic.h. */
const IN_MEMORY = new Set([0x01021994, 0x858458f6]);

/** Where the kernel and the host describe themselves; for tests. */
export interface Roots {
  readonly procRoot: string;
  readonly etcRoot: string;
}

/** Reads what `judgeFacts` needs. Changes nothing, and throws nothing but programming errors. */
export async function collectFacts(config: Config, { procRoot, etcRoot }: Roots): Promise<NodeFacts> {
  const kubelet = readKubelet(config);
  const topology = attempt(() => readTopology({ sysfsRoot: config.sysfsRoot }));
  const kubeletConfig = kubelet.config?.read.ok === true ? kubelet.config.read.value : undefined;
  const rules = topology.ok
    ? attempt(() => toSettings(withReservation(config, kubeletConfig), topology.value))
    : undefined;
  const profile = readText(join(etcRoot, 'tuned/active_profile'));
  const hostAffinity = readHostAffinity(procRoot);
  const inotify = readInotify(procRoot);
  const { criEndpoint } = config;
  const cri = criEndpoint === undefined ? undefined : { path: criEndpoint, presence: await probeSocket(criEndpoint) };
  return {
    mode: config.mode,
    optionProblems: rules && !rules.ok ? [rules.because] : [],
    machine: topology.ok
      ? {
          ok: true,
          value: {
            online: topology.value.online,
            offline: readOffline(config.sysfsRoot, topology.value.online),
            isolated: topology.value.isolated,
          },
        }
      : topology,
    reserved: rules?.ok === true ? rules.value.reserved : CpuSet.empty,
    nri: { path: config.nriSocket, presence: await probeSocket(config.nriSocket) },
    ...(cri && { cri }),
    ...(cri?.presence === 'live' && { runtime: await askRuntime(cri.path) }),
    admin: { path: config.adminSocket, presence: await probeSocket(config.adminSocket) },
    kubelet,
    cgroups: readCgroups(config),
    managers: listManagers(procRoot),
    ...(hostAffinity && { hostAffinity }),
    ...(profile !== undefined && profile !== '' && { tunedProfile: profile }),
    ...(inotify && { inotify }),
    stateDir: readStateDir(config.stateDir),
  };
}

/** Errors that are for the operator become a value. */
function attempt<T>(work: () => T): Known<T> {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    if (error instanceof HostError || error instanceof CpusetdError) return { ok: false, because: error.message };
    throw error;
  }
}

async function askRuntime(endpoint: string): Promise<NonNullable<NodeFacts['runtime']>> {
  const client = createCriClient(endpoint);
  try {
    const { name, version } = await client.version({ timeoutMs: RUNTIME_MS });
    return { ok: true, value: { name, version } };
  } catch (error) {
    if (error instanceof CpusetdError)
      return { ok: false, because: `the runtime at ${endpoint} did not answer: ${error.message}` };
    throw error;
  } finally {
    client.close();
  }
}

function readKubelet({ kubeletRootDir, kubeletConfig }: Config): KubeletFacts {
  const statePath = join(kubeletRootDir, 'cpu_manager_state');
  const state = readState(statePath);
  const named = kubeletConfig?.kind === 'file' ? kubeletConfig.path : undefined;
  const path = named ?? join(kubeletRootDir, 'config.yaml');
  // Without the option the file is looked at where it usually is.
  if (named === undefined && !existsSync(path)) return { statePath, state };
  return { statePath, state, config: { path, read: readConfigFile(path) } };
}

function readState(path: string): KubeletFacts['state'] {
  const read = readBounded(path, MAX_KUBELET_STATE_BYTES);
  if (!read.ok) return read.kind === 'missing' ? 'missing' : 'foreign';
  const parsed = parseKubeletState(read.text);
  if (parsed.ok) return parsed.state.policyName === 'static' ? 'static' : 'none';
  return /"policyName"\s*:\s*"static"/i.test(read.text) ? 'static' : 'foreign';
}

function readConfigFile(path: string): NonNullable<KubeletFacts['config']>['read'] {
  const read = readBounded(path, MAX_KUBELET_CONFIG_BYTES);
  if (!read.ok) return { ok: false, because: read.because };
  const parsed = parseYaml(read.text);
  if (!parsed.ok) return { ok: false, because: parsed.because };
  try {
    if (parsed.document.errors[0]) throw parsed.document.errors[0];
    const document: unknown = parsed.document.toJS();
    const found = readKubeletConfig(document);
    if (!found) return { ok: false, because: 'it is not a KubeletConfiguration' };
    const { cgroupDriver } = document as { readonly cgroupDriver?: unknown };
    return { ok: true, value: { ...found, ...(typeof cgroupDriver === 'string' && { cgroupDriver }) } };
  } catch (error) {
    return { ok: false, because: (error as Error).message };
  }
}

function readCgroups({ cgroupRoot }: Config): NodeFacts['cgroups'] {
  const opened = attempt(() => openCgroups({ cgroupRoot }));
  if (!opened.ok) return opened;
  const probe = opened.value.probeWritable();
  const driver = findDriver(cgroupRoot);
  return {
    ok: true,
    value: {
      version: opened.value.version,
      ...(!probe.writable && { notWritable: probe.because }),
      ...(driver && { driver }),
    },
  };
}

/** By the name of the kubelet's own cgroup; undefined before it has made one. */
function findDriver(cgroupRoot: string): 'systemd' | 'cgroupfs' | undefined {
  const has = (name: string): boolean =>
    ['', 'cpuset', 'unified'].some((hierarchy) => existsSync(join(cgroupRoot, hierarchy, name)));
  if (has('kubepods.slice')) return 'systemd';
  return has('kubepods') ? 'cgroupfs' : undefined;
}

function listManagers(procRoot: string): readonly string[] {
  const running = listProcessNames(procRoot);
  return [...KNOWN_MANAGERS].flatMap(([process, name]) => (running.has(process) ? [name] : []));
}

/** Undefined where the first process is not that of the host: a container has another one. */
function readHostAffinity(procRoot: string): CpuSet | undefined {
  const name = readText(join(procRoot, '1/comm'));
  if (name !== 'systemd' && name !== 'init') return undefined;
  const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readText(join(procRoot, '1/status')) ?? '') ?? [];
  try {
    return list === undefined ? undefined : parseCpuList(list);
  } catch (error) {
    if (error instanceof CpuListError) return undefined;
    throw error;
  }
}

function readInotify(procRoot: string): NodeFacts['inotify'] {
  const [watches, instances] = ['max_user_watches', 'max_user_instances'].map((name) =>
    Number(readText(join(procRoot, 'sys/fs/inotify', name)) ?? NaN),
  );
  return Number.isFinite(watches) && Number.isFinite(instances)
    ? { watches: watches!, instances: instances! }
    : undefined;
}

/** Looks at the nearest directory that is there: the state directory may be made at the first start. */
function readStateDir(path: string): NodeFacts['stateDir'] {
  let nearest = path;
  while (!existsSync(nearest) && nearest !== '/') nearest = dirname(nearest);
  try {
    accessSync(nearest, constants.W_OK | constants.X_OK);
  } catch {
    return { path, problem: `${nearest} can't be written by this user`, isInMemory: false };
  }
  return { path, isInMemory: IN_MEMORY.has(statfsSync(nearest).type) };
}

/** A short file without white space around it; undefined when it can't be read. */
function readText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return undefined;
  }
}
