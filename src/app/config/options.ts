import { POLICY_NAMES } from '../../core/model/policies';
import { MIN_JOURNAL_BYTES } from '../../state/journal';
import { cpuList, cpuQuantity, keyValues, leaveAloneRules, nodeList, podPolicies } from '../../option-types/cpu-types';
import { kubeconfigSource, kubeletConfigSource, nodeLabels } from '../../option-types/kube-types';
import {
  absolutePath,
  byteQuantity,
  durationMs,
  hostNames,
  hostPort,
  listenSocket,
  localHostPort,
  socketPath,
} from '../../option-types/system-types';
import { LOG_FORMAT, LOG_LEVEL } from '../../option-types/log-types';
import { interfaceNames, percent, reservedShares } from '../../option-types/usage-types';
import { matching, oneOf, onOff, orOff, wholeNumber, type ValueType } from '../../option-types/value-type';

/** One option of `cpusetd run`, wherever it is set. */
export interface Option<T> {
  /** Its name where that does not follow from the key, which has the unit. */
  readonly name?: string;
  readonly type: ValueType<T>;
  /** The text as a user would write it; undefined = not set. */
  readonly default: string | undefined;
  /** For the help, in one line. */
  readonly description: string;
  /**
   * The way in which a change of the file is taken; absent = at the next start, since the option is read at the start
   * only.
   */
  readonly change?: Change;
}

/**
 * A change takes effect while the daemon runs, or at its next start: `restart` says why, in words that go on from the
 * option's name.
 */
export type Change = 'live' | { readonly restart: string };

const AT_START: Change = { restart: 'is read once, at the start' };
const ADDRESS: Change = { restart: 'is an address that others know and that is opened once, at the start' };
const CONNECTED: Change = {
  restart: 'decides how the runtime is connected, and containers would start unpinned while that changes',
};
const AT_CREATION: Change = {
  restart: 'decides on containers that run too, when they are looked at anew at the start',
};
const PLACE: Change = { restart: 'is where files are open, or locks are held, as long as the process runs' };
const API_SERVER: Change = { restart: 'decides how the API server is followed, which begins at the start' };

function option<T>(spec: Option<T> & { readonly default: string }): Option<T>;
function option<T>(spec: Option<T>): Option<T | undefined>;
function option<T>(spec: Option<T>): Option<T> {
  return spec;
}

/** All options, in the order of the help. Their names, flags and environment variables follow from the keys. */
export const OPTIONS = {
  mode: option({
    type: oneOf('nri', 'cri-proxy'),
    default: 'nri',
    description: 'how cpusetd stands between kubelet and runtime',
    change: CONNECTED,
  }),
  cpuManagerPolicy: option({
    type: oneOf(...POLICY_NAMES),
    default: 'static',
    description:
      'who gets which CPUs, unless its pod chose: static = whole-CPU containers of Guaranteed pods get their own',
    change: 'live',
  }),
  cpuManagerPolicyOptions: option({
    type: keyValues,
    default: '',
    description: "options of the static policy, by the kubelet's names",
    change: 'live',
  }),
  podPolicies: option({
    type: podPolicies,
    default: 'off',
    description: 'which policies pods may choose by annotation: names, all or off',
    change: 'live',
  }),
  leaveAlone: option({
    type: leaveAloneRules,
    default: '',
    description: 'containers that are not touched at all: NAMESPACE[/POD[/CONTAINER]], with * for any text',
    change: AT_CREATION,
  }),
  podLeaveAlone: option({
    type: onOff,
    default: 'off',
    description: 'whether pods may ask by annotation to be left alone',
    change: AT_CREATION,
  }),
  leftAloneStart: option({
    type: oneOf('shared-pool', 'untouched'),
    default: 'shared-pool',
    description: 'the CPUs that a container which is left alone starts with',
    change: AT_CREATION,
  }),
  reservedCpus: option({
    type: cpuList,
    default: undefined,
    description: 'CPUs kept for the system, never given out exclusively',
    change: 'live',
  }),
  reservedCpuCount: option({
    type: cpuQuantity,
    default: undefined,
    description: 'how many CPUs are kept for the system, chosen by the policy; instead of --reserved-cpus',
    change: 'live',
  }),
  minSharedCpus: option({
    type: wholeNumber({ min: 1, max: 65_535 }),
    default: '1',
    description: 'the least number of CPUs that allocations leave in the shared pool',
    change: 'live',
  }),
  onInsufficientCpu: option({
    type: oneOf('refuse', 'share'),
    default: 'refuse',
    description: 'what becomes of a container whose exclusive CPUs do not fit',
    change: 'live',
  }),
  liftCpuQuota: option({
    type: onOff,
    default: 'on',
    description: 'lift the CFS quota of containers that have exclusive CPUs',
    change: 'live',
  }),
  memoryNodes: option({
    type: oneOf('follow', 'off'),
    default: 'off',
    description: 'whether memory nodes follow exclusive CPUs',
    change: 'live',
  }),
  memoryNodesWithoutCpus: option({
    type: nodeList,
    default: 'none',
    description:
      'memory nodes without CPUs (CXL, PMEM, HBM) that containers may be given when their own are full: a list, all or none',
    change: 'live',
  }),
  topologyManagerPolicy: option({
    type: oneOf('none', 'best-effort', 'restricted', 'single-numa-node'),
    default: 'none',
    description: 'how strictly CPUs must lie in one NUMA node',
    change: 'live',
  }),
  topologyManagerScope: option({
    type: oneOf('container', 'pod'),
    default: 'container',
    description: 'whether containers or whole pods are aligned',
    change: 'live',
  }),
  topologyManagerPolicyOptions: option({
    type: keyValues,
    default: '',
    description: "options of the topology manager, by the kubelet's names",
    change: 'live',
  }),
  reconcilePeriodMs: option({
    name: 'reconcile-period',
    type: durationMs({ minMs: 100, maxMs: 24 * 3_600_000 }),
    default: '10s',
    description: 'how often every promise is compared with the kernel',
    change: 'live',
  }),
  stateDir: option({
    type: absolutePath,
    default: '/var/lib/cpusetd',
    description: 'where assignments are remembered',
    change: PLACE,
  }),
  journalBytes: option({
    name: 'journal-size',
    type: orOff(byteQuantity({ minBytes: MIN_JOURNAL_BYTES, maxBytes: 64 * 1024 ** 3 })),
    default: '32Mi',
    description: 'how large the journal of decisions in the state directory may grow',
    change: 'live',
  }),
  journalAgeMs: option({
    name: 'journal-age',
    type: durationMs({ minMs: 3_600_000, maxMs: 10 * 365 * 24 * 3_600_000 }),
    default: '168h',
    description: 'how long the journal keeps what has happened, as far as its size allows',
    change: 'live',
  }),
  lockDir: option({
    type: absolutePath,
    default: '/run/cpusetd/locks',
    description: 'where the locks of runtimes are, one cpusetd for each: the same for every cpusetd of the host',
    change: PLACE,
  }),
  cpuIdentity: option({
    type: onOff,
    default: 'off',
    description: 'containers whose pod asks for it get their CPUs in a file and in variables',
    change: 'live',
  }),
  cpuIdentityDir: option({
    type: absolutePath,
    default: '/run/cpusetd/identity',
    description: 'where these files are: the runtime mounts them from the same path',
    change: PLACE,
  }),
  sysfsRoot: option({
    type: absolutePath,
    default: '/sys',
    description: 'where the machine is described',
    change: PLACE,
  }),
  cgroupRoot: option({
    type: absolutePath,
    default: '/sys/fs/cgroup',
    description: 'where cgroups are mounted',
    change: PLACE,
  }),
  cgroupWrites: option({
    type: onOff,
    default: 'on',
    description: 'move containers by writing their cgroups; off = only through the runtime, slower',
    change: CONNECTED,
  }),
  irqAffinity: option({
    type: oneOf('off', 'steer'),
    default: 'off',
    description: 'steer = interrupts are moved off exclusive CPUs, and back',
  }),
  nriSocket: option({
    type: socketPath,
    default: '/var/run/nri/nri.sock',
    description: "the runtime's NRI socket",
    change: CONNECTED,
  }),
  nriPluginName: option({
    type: matching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/, 'name', {
      problem: 'is not a plugin name',
      remedy: 'use at most 63 letters, digits, dots, dashes',
    }),
    default: 'cpusetd',
    description: 'our name as an NRI plugin',
    change: CONNECTED,
  }),
  nriPluginIndex: option({
    type: matching(/^\d\d$/, 'nn', { problem: 'is not a plugin index', remedy: 'write two digits, 00 to 99' }),
    default: '50',
    description: 'our place among NRI plugins: lower is asked earlier',
    change: CONNECTED,
  }),
  onUnanswered: option({
    type: oneOf('allow', 'refuse'),
    default: 'allow',
    description:
      'what becomes of a request that the runtime gets no answer to from us, by NRI 0.12.4 or newer: allow = it goes on unpinned',
    change: CONNECTED,
  }),
  criEndpoint: option({
    type: orOff(socketPath),
    default: '/run/containerd/containerd.sock',
    description: "the runtime's CRI socket: its own records follow, and in mode cri-proxy calls are forwarded to it",
    change: CONNECTED,
  }),
  criListen: option({
    type: listenSocket,
    default: '/run/cpusetd/cri.sock',
    description: 'in mode cri-proxy, where the kubelet connects instead',
    change: CONNECTED,
  }),
  kubeletRootDir: option({
    type: absolutePath,
    default: '/var/lib/kubelet',
    description: "the kubelet's folder, to notice that its own CPU manager is at work",
  }),
  kubeconfig: option({
    type: orOff(kubeconfigSource),
    default: 'off',
    description: 'the API server: a kubeconfig, or in-cluster for the service account of our pod',
    change: API_SERVER,
  }),
  nodeName: option({
    type: matching(/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/, 'name', {
      problem: 'is not the name of a Node',
      remedy: 'use lower-case letters, digits, dots, dashes',
    }),
    default: undefined,
    description: 'our Node in the API server; the host name when not set',
    change: API_SERVER,
  }),
  nodeLabels: option({
    type: nodeLabels,
    default: undefined,
    description: 'labels of our Node, for the groups of the file; those that the API server has when not set',
    change: 'live',
  }),
  nodeResourceTopology: option({
    type: oneOf('off', 'community', 'crane', 'both'),
    default: 'off',
    description: 'the kinds of NodeResourceTopology in which schedulers see what is left where',
    change: API_SERVER,
  }),
  topologyPodFingerprint: option({
    type: oneOf('dedicated', 'shared', 'off'),
    default: 'dedicated',
    description: "which pods the fingerprint of the community's kind counts: the scheduler plugin's informerMode",
    change: API_SERVER,
  }),
  kubeEvents: option({
    type: onOff,
    default: 'off',
    description: 'Events on pods: refused, drifted, repaired, switched',
    change: 'live',
  }),
  nodeCondition: option({
    type: onOff,
    default: 'off',
    description: 'the condition CpusetdReady of our Node',
    change: API_SERVER,
  }),
  kubeletConfig: option({
    type: orOff(kubeletConfigSource),
    default: 'off',
    description:
      "the kubelet's configuration, as a file or asked of it through the API server: its reservation is ours",
    change: API_SERVER,
  }),
  adminSocket: option({
    type: socketPath,
    default: '/run/cpusetd/cpusetd.sock',
    description: 'where health, status and the other commands are answered',
    change: ADDRESS,
  }),
  podResourcesSocket: option({
    type: orOff(socketPath),
    default: 'off',
    description: "the kubelet's PodResources API alone, for others to mount",
    change: ADDRESS,
  }),
  healthAddress: option({
    type: orOff(hostPort),
    default: 'off',
    description: 'gRPC health over TCP too',
    change: ADDRESS,
  }),
  metricsAddress: option({
    type: orOff(hostPort),
    default: 'off',
    description: 'Prometheus metrics over HTTP',
    change: ADDRESS,
  }),
  httpAddress: option({
    type: orOff(localHostPort),
    default: 'off',
    description: 'a page for browsers, read only: the map of the node, containers, history; metrics too',
  }),
  httpHosts: option({
    type: hostNames,
    default: '',
    description: 'names by which browsers may call that address, beside localhost and the address itself',
  }),
  processMetrics: option({
    type: onOff,
    default: 'on',
    description: 'memory, CPU time and more of cpusetd itself among the metrics',
  }),
  containerMetrics: option({
    type: onOff,
    default: 'off',
    description: 'series for each pinned container among the metrics',
  }),
  auditPeriodMs: option({
    name: 'audit-period',
    type: orOff(durationMs({ minMs: 1_000, maxMs: 24 * 3_600_000 })),
    default: 'off',
    description: 'how often metrics are taken of who else runs on exclusive CPUs',
  }),
  collectIntervalMs: option({
    name: 'collect-interval',
    type: orOff(durationMs({ minMs: 1_000, maxMs: 600_000 })),
    default: 'off',
    description: 'how often the use of node, containers and exclusive CPUs is measured',
  }),
  ifaces: option({
    type: interfaceNames,
    default: 'eth0',
    description: 'network interfaces whose traffic is measured',
  }),
  qosActions: option({
    type: oneOf('off', 'preview', 'enforce'),
    default: 'preview',
    description: 'what becomes of the actions of NodeQOS rules: preview = reported, not taken; off = all are undone',
    change: 'live',
  }),
  qosActionsPerHour: option({
    type: wholeNumber({ min: 0, max: 100_000 }),
    default: '100',
    description: 'how many actions are taken in any hour at most; undoing one is always allowed',
    change: 'live',
  }),
  qosEvictionsPerHour: option({
    type: wholeNumber({ min: 0, max: 1_000 }),
    default: '3',
    description: 'how many of them may be evictions',
    change: 'live',
  }),
  executeExcess: option({
    type: percent({ max: 100 }),
    default: '10%',
    description: 'how much more than the excess over the threshold an action aims to release',
    change: 'live',
  }),
  nodeResource: option({
    type: oneOf('off', 'cpu', 'memory', 'both'),
    default: 'off',
    description: 'what is lent: gocrane.io/cpu and gocrane.io/memory of our Node, from what is not used',
  }),
  nodeResourceReserved: option({
    type: reservedShares,
    default: '',
    description: 'parts of the Node that are never lent, like cpu=40%,memory=40%',
  }),
  nodeResourceWindowMs: option({
    name: 'node-resource-window',
    type: durationMs({ minMs: 60_000, maxMs: 24 * 3_600_000 }),
    default: '30m',
    description: 'how far back the use is looked at that decides what is lent',
  }),
  nodeResourcePercentile: option({
    type: wholeNumber({ min: 50, max: 100 }),
    default: '95',
    description: 'which percentile of the use in that time counts as needed',
  }),
  nodeResourceMargin: option({
    type: percent({ max: 100 }),
    default: '10%',
    description: 'how much is added to it',
  }),
  nodeResourceExclusiveIdle: option({
    type: onOff,
    default: 'off',
    description: 'idle time of exclusive CPUs is lent too; nobody can use it before they are given back',
  }),
  nodeResourcePrediction: option({
    type: onOff,
    default: 'on',
    description: 'the TimeSeriesPrediction of our Node is kept as the ConfigMap noderesource-tsp-template says',
  }),
  podResource: option({
    type: onOff,
    default: 'off',
    description: 'containers with gocrane.io/cpu get CPU shares and a CFS quota by it',
  }),
  profiling: option({
    type: onOff,
    default: 'off',
    description: 'cpusetd profile may take CPU profiles and heap snapshots of this process, over the admin socket',
    change: 'live',
  }),
  logLevel: option({ ...LOG_LEVEL, change: 'live' }),
  logFormat: option(LOG_FORMAT),
} as const;

export type OptionKey = keyof typeof OPTIONS;

/** The keys of all options, in the order of the help. */
export const OPTION_KEYS = Object.keys(OPTIONS) as readonly OptionKey[];

/** The daemon's configuration, by the keys of the table. */
export type Config = {
  readonly [Key in OptionKey]: (typeof OPTIONS)[Key] extends Option<infer T> ? T : never;
};

/** `cpuManagerPolicy` → `cpu-manager-policy`: the flag without its dashes, and the key in the file. */
export function nameOf(key: OptionKey): string {
  const { name }: Option<unknown> = OPTIONS[key];
  return name ?? key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** `cpuManagerPolicy` → `CPUSETD_CPU_MANAGER_POLICY`. */
export function envNameOf(key: OptionKey): string {
  return `CPUSETD_${nameOf(key).replaceAll('-', '_').toUpperCase()}`;
}

/** The text that follows the description of an option in the help. */
export function describeDefault(key: OptionKey): string {
  const { default: text } = OPTIONS[key];
  return [...(text ? [`default ${text}`] : []), envNameOf(key)].join(', ');
}

/**
 * The reason why a change of the option waits for the next start, in words that go on from its name; undefined when it
 * is taken live.
 */
export function restartReason(key: OptionKey): string | undefined {
  const { change = AT_START }: Option<unknown> = OPTIONS[key];
  return change === 'live' ? undefined : change.restart;
}
