import { accessSync, constants, existsSync, statfsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../../app/config';
import { toSettings } from '../../app/config/settings';
import { withReservation } from '../../app/node/kubelet-reservation';
import { listKubepods, readBoundOf } from '../../app/node/read-bound';
import { CpuSet, tryParseCpuList } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import {
  kubepodsOfKubelet,
  type CgroupDriver,
  type KubeletCgroups,
  type Kubepods,
} from '../../core/inference/kubepods';
import { confineTopology, countCaches, describeKinds, type Topology } from '../../core/topology';
import { canPin } from '../../core/model/settings';
import { meaningOf, systemCodeOf } from '../../core/system-errors';
import { KNOWN_MANAGERS } from '../../core/verdict/drift-cause';
import { createCriClient } from '../../cri/client';
import { readBounded } from '../../files/read-bounded';
import { hasFlock, HostError, listProcessNames, openCgroups, readOffline, readTopology, SysfsError } from '../../host';
import { probeSocket } from '../../net/claim-socket';
import { judgeState } from '../state/show-state';
import { answerOf } from './answer-of';
import type { Known, KubeletFacts, NodeFacts } from './facts';
import { lookAtContainers } from './look-at-containers';
import { readKubelet } from './read-kubelet';

/** Time in which the runtime has to answer. */
const RUNTIME_MS = 3_000;
/** Longest of the short files of the kernel that are read. */
const MAX_BYTES = 64 * 1024;
/** Types of file systems in memory: tmpfs and ramfs, of linux/magic.h. */
const IN_MEMORY = new Set([0x01021994, 0x858458f6]);

/** The folders in which the kernel and the host describe themselves; for tests. */
export interface Roots {
  readonly procRoot: string;
  readonly etcRoot: string;
}

/** Reads what `judgeFacts` needs. Changes nothing, and throws nothing but programming errors. */
export async function collectFacts(config: Config, { procRoot, etcRoot }: Roots): Promise<NodeFacts> {
  const kubelet = readKubelet(config, procRoot);
  const topology = attempt(() => readTopology({ sysfsRoot: config.sysfsRoot }));
  const kubeletConfig = kubelet.config?.read.ok === true ? kubelet.config.read.value : undefined;
  const cgroups = readCgroups(config, cgroupsOf(kubelet), topology.ok ? topology.value.online : undefined);
  const bound = cgroups.ok ? cgroups.value.bound : undefined;
  const rules = topology.ok
    ? attempt(() => {
        const usable = confineTopology(topology.value, bound?.bound);
        return toSettings(withReservation(config, kubeletConfig), usable);
      })
    : undefined;
  const tuned = readTuned(etcRoot);
  const running = attemptAny(() => listProcessNames(procRoot)) ?? new Set<string>();
  const { criListen } = config;
  const hostAffinity = readHostAffinity(procRoot);
  const inotify = readInotify(procRoot);
  const { criEndpoint } = config;
  const cri = criEndpoint === undefined ? undefined : { path: criEndpoint, presence: await probeSocket(criEndpoint) };
  return {
    mode: config.mode,
    readsSpecs: config.kubeconfig !== undefined,
    onUnanswered: config.onUnanswered,
    optionProblems: rules && !rules.ok ? [rules.because] : [],
    machine: topology.ok
      ? {
          ok: true,
          value: {
            online: topology.value.online,
            offline: readOffline(config.sysfsRoot, topology.value.online),
            isolated: topology.value.isolated,
            kinds: describeKinds(topology.value),
            caches: countCaches(topology.value),
            hugePages: describeHugePages(topology.value),
            ignored: topology.value.ignored,
          },
        }
      : topology,
    reserved: rules?.ok === true ? rules.value.reserved : CpuSet.empty,
    ...(canPin(config) && { topologyManagerPolicy: config.topologyManagerPolicy }),
    nri: { path: config.nriSocket, presence: await probeSocket(config.nriSocket) },
    ...(cri && { cri }),
    ...(cri?.presence === 'live' && (await askRuntime(cri.path, config, procRoot))),
    admin: { path: config.adminSocket, presence: await probeSocket(config.adminSocket) },
    kubelet,
    cgroups,
    ...(config.mode === 'cri-proxy' && 'path' in criListen && { criListen: criListen.path }),
    seesHost: seesHost(procRoot),
    managers: [...KNOWN_MANAGERS].flatMap(([process, name]) => (running.has(process) ? [name] : [])),
    irqbalance: running.has('irqbalance'),
    interrupts: readInterrupts(config, procRoot),
    ...(hostAffinity && { hostAffinity }),
    ...(tuned && { tuned }),
    kernelParameters: (readText(join(procRoot, 'cmdline')) ?? '')
      .split(/\s+/)
      .filter((word) => /^(?:nohz_full|rcu_nocbs)=/.test(word)),
    ...(inotify && { inotify }),
    stateDir: readStateDir(config.stateDir),
    state: judgeState(config.stateDir),
    programs: { node: process.version, hasFlock: hasFlock() },
  };
}

/** Errors that are for the operator become a value. */
function attempt<T>(work: () => T): Known<T> {
  try {
    return { ok: true, value: work() };
  } catch (error) {
    if (error instanceof SysfsError) return { ok: false, because: error.fact, remedy: error.remedy };
    if (error instanceof HostError || error instanceof CpusetdError) return { ok: false, because: error.message };
    throw error;
  }
}

function describeHugePages({ memoryNodes }: Topology): string {
  const resources = new Set(memoryNodes.flatMap(({ hugePages = {} }) => Object.keys(hugePages)));
  const nodesOf = (resource: string) => CpuSet.of(memoryNodes.flatMap(({ id, hugePages }) => (hugePages?.[resource] ? [id] : []))); // prettier-ignore
  return [...resources].map((resource) => `${resource} on memory nodes ${nodesOf(resource).toString()}`).join(', ');
}

async function askRuntime(
  endpoint: string,
  { cgroupRoot }: Config,
  procRoot: string,
): Promise<Pick<NodeFacts, 'runtime' | 'containers' | 'unseenContainers'>> {
  const client = createCriClient(endpoint);
  const limit = { timeoutMs: RUNTIME_MS };
  try {
    const asked = await answerOf(client.version(limit));
    if (!asked.ok)
      return { runtime: { ok: false, because: `the runtime at ${endpoint} did not answer: ${asked.because}` } };
    const { name, version } = asked.value;
    const settings = await answerOf(client.readSettings(name, limit));
    const runtime = { ok: true, value: { name, version, settings } } as const;
    const cgroups = attempt(() => openCgroups({ cgroupRoot, procRoot }));
    if (!cgroups.ok) return { runtime };
    return { runtime, ...(await lookAtContainers(client, cgroups.value)) };
  } finally {
    client.close();
  }
}

function readCgroups(
  { cgroupRoot }: Config,
  kubelet: KubeletCgroups,
  online: CpuSet | undefined,
): NodeFacts['cgroups'] {
  const opened = attempt(() => openCgroups({ cgroupRoot }));
  if (!opened.ok) return opened;
  const probe = opened.value.probeWritable();
  const found = findKubepods(cgroupRoot, kubelet);
  const { version, hasHugetlb } = opened.value;
  const kubepods = found ? [found.kubepods] : listKubepods([], kubelet);
  return {
    ok: true,
    value: {
      version,
      ...(!probe.writable && { notWritable: probe.because }),
      ...(!hasHugetlb && { lacksHugetlb: true }),
      ...(found && { driver: found.driver }),
      ...(found && {
        pods: { cgroup: found.kubepods.root, hasCpuset: hasCpuset(cgroupRoot, version, found.kubepods) },
      }),
      ...(online && { bound: readBoundOf(opened.value, kubepods, online) }),
    },
  };
}

/** In a container /proc/irq is read-only. */
function readInterrupts({ irqAffinity }: Config, procRoot: string): NodeFacts['interrupts'] {
  const areSteered = irqAffinity === 'steer';
  try {
    accessSync(join(procRoot, 'irq/default_smp_affinity'), constants.W_OK);
    return { areSteered };
  } catch (error) {
    const code = systemCodeOf(error) ?? '';
    return { areSteered, notWritable: meaningOf('write a new file', code) ?? code };
  }
}

/** Flags win over the file. */
function cgroupsOf({ flags, config }: KubeletFacts): KubeletCgroups {
  const file: KubeletCgroups = config?.read.ok === true ? config.read.value : {};
  const driver = flags?.cgroupDriver;
  return {
    ...file,
    ...(flags?.cgroupRoot !== undefined && { cgroupRoot: flags.cgroupRoot }),
    ...((driver === 'systemd' || driver === 'cgroupfs') && { cgroupDriver: driver }),
  };
}

/**
 * The cgroup of all pods, of whichever driver the kubelet has in fact: newer kubelets ask the runtime, whatever their
 * configuration says. Undefined before the kubelet has made one.
 */
function findKubepods(
  cgroupRoot: string,
  kubelet: KubeletCgroups,
): { readonly kubepods: Kubepods; readonly driver: CgroupDriver } | undefined {
  for (const driver of ['systemd', 'cgroupfs'] as const)
    for (const kubepods of kubepodsOfKubelet({ ...kubelet, cgroupDriver: driver }))
      if (['', 'cpuset', 'unified'].some((hierarchy) => existsSync(join(cgroupRoot, hierarchy, kubepods.root))))
        return { kubepods, driver };
  return undefined;
}

function hasCpuset(cgroupRoot: string, version: 1 | 2, { root }: Kubepods): boolean {
  return existsSync(join(cgroupRoot, version === 1 ? 'cpuset' : '', root, 'cpuset.cpus'));
}

/** The kernel's own threads are in the first PID namespace only. */
function seesHost(procRoot: string): boolean {
  return readText(join(procRoot, '2/comm')) === 'kthreadd';
}

/** Undefined where the first process is not that of the host: a container has another one. */
function readHostAffinity(procRoot: string): CpuSet | undefined {
  if (!seesHost(procRoot)) return undefined;
  const [, list] = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readText(join(procRoot, '1/status')) ?? '') ?? [];
  return list === undefined ? undefined : tryParseCpuList(list);
}

/** The profile, and `isolated_cores` of the variables that belong to it. */
function readTuned(etcRoot: string): NodeFacts['tuned'] {
  const profile = readText(join(etcRoot, 'tuned/active_profile'));
  if (profile === undefined || profile === '') return undefined;
  const names = profile.split(/\s+/).filter((name) => /^[\w.-]+$/.test(name));
  const isolatedCores = names
    .map((name) =>
      /^isolated_cores=(.*)$/m.exec(readText(join(etcRoot, 'tuned', `${name}-variables.conf`)) ?? '')?.[1]?.trim(),
    )
    .find((list) => list !== undefined && list !== '');
  return { profile, ...(isolatedCores !== undefined && { isolatedCores }) };
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
  const { type, bavail, bsize } = statfsSync(nearest);
  return { path, isInMemory: IN_MEMORY.has(type), freeBytes: bavail * bsize };
}

/** A short file without white space around it; undefined when it can't be read. */
function readText(path: string): string | undefined {
  const read = readBounded(path, MAX_BYTES);
  return read.ok ? read.text.trim() : undefined;
}

function attemptAny<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
