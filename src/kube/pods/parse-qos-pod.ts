import { MIRROR, MIRROR_HASH } from '../../core/model/pod-kinds';
import { peakOfPod } from '../../core/model/pod-cpus';
import { runtimeUidOf } from '../../core/model/pod-spec';
import type { QosContainer, QosPod } from '../../qos/objects/objects';
import { asString, type JsonObject } from '../json';
import { MAX_AMOUNT, parseMilli, parseWhole, sumAmounts } from '../quantity';
import { MAX_INT, parseObject, type Parsed } from '../qos/field';
import { amountIn, readPod, type ContainerObject, type PodObject } from './read-pod';

/**
 * Most labels that are kept of a pod: other pods have a few dozen, and the API server sets no limit but the size of the
 * object, a hundred times what the daemon should keep.
 */
const MAX_LABELS = 4_096;

/** Kubernetes' priorities from here on belong to system pods. */
const SYSTEM_PRIORITY = 2_000_000_000;
const SYSTEM_CLASSES = ['system-node-critical', 'system-cluster-critical'];

const ELASTIC_CPU = 'gocrane.io/cpu';
const ELASTIC_MEMORY = 'gocrane.io/memory';

/**
 * Reads a v1 Pod. It is refused only when it has no identity. Everything else was written by its author, who must not
 * get out of a rule by it: amounts have bounds, and what can't be understood is read as what spares the pod least.
 */
export function parseQosPod(object: unknown): Parsed<QosPod> {
  return parseObject('Pod', object, (root) => {
    const meta = root.at('metadata');
    for (const field of ['uid', 'namespace', 'name']) meta.at(field).name('read the pod from the API server');
    return toQosPod(readPod(object)!);
  });
}

function toQosPod(pod: PodObject): QosPod {
  const { uid, namespace, name, metadata, annotations, spec, status, qos, phase, isBeingDeleted } = pod;
  const priority = readPriority(spec['priority']);
  // The API server has only mirrors of static pods. Their annotation config.source proves nothing, since anybody can
  // write it; but a mirror without a static pod never runs.
  const isStatic = isSet(annotations, MIRROR);
  const labels = readLabels(metadata['labels']);
  const startedAtMs = readTime(status['startTime']);
  return {
    uid,
    runtimeUid: isStatic
      ? runtimeUidOf({ uid, annotations: { [MIRROR]: '', [MIRROR_HASH]: asString(ownOf(annotations, MIRROR_HASH)) } })
      : uid,
    namespace,
    name,
    qos,
    priority,
    isStatic,
    phase,
    isBeingDeleted,
    ...(labels && { labels }),
    isCritical: isStatic || priority >= SYSTEM_PRIORITY || SYSTEM_CLASSES.includes(asString(spec['priorityClassName'])),
    ...readGrace(spec['terminationGracePeriodSeconds']),
    ...(isBeingDeleted && { deletion: readDeletion(metadata) }),
    ...(phase === 'Pending' && startedAtMs === undefined && { awaitsKubelet: true as const }),
    ...(isResizePending(pod) && { isResizePending: true as const }),
    startedAtMs: startedAtMs ?? readTime(metadata['creationTimestamp']) ?? 0,
    containers: [...pod.containers.map(toQosContainer), ...pod.ephemeralNames.map((name) => ({ name }))],
    ...amount('heldMilliCpu', held(pod, ELASTIC_CPU, parseMilli)),
    ...amount('heldMemoryBytes', held(pod, ELASTIC_MEMORY, parseWhole)),
  };
}

/** A copy of the labels. Undefined where there are more than are kept, or one is no text. */
function readLabels(value: unknown): Readonly<Record<string, string>> | undefined {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) return undefined;
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  const isReadable = (entry: [string, unknown]): entry is [string, string] => typeof entry[1] === 'string';
  return entries.length <= MAX_LABELS && entries.every(isReadable) ? Object.fromEntries(entries) : undefined;
}

function isResizePending({ conditions }: PodObject): boolean {
  return conditions.some(({ type, status }) => type === 'PodResizePending' && status === 'True');
}

/** A number that is no priority of Kubernetes makes no pod critical. */
function readPriority(value: unknown): number {
  if (typeof value !== 'number' || Number.isNaN(value)) return 0;
  return value > MAX_INT ? SYSTEM_PRIORITY - 1 : Math.max(-MAX_INT - 1, Math.trunc(value));
}

function readGrace(value: unknown): Pick<QosPod, 'graceSeconds'> {
  const graceSeconds = readSeconds(value);
  return graceSeconds === undefined ? {} : { graceSeconds };
}

/** Kubernetes takes a negative time as 1. */
function readSeconds(value: unknown): number | undefined {
  if (typeof value !== 'number' || Number.isNaN(value)) return undefined;
  return value < 0 ? 1 : Math.min(Math.trunc(value), MAX_AMOUNT);
}

/** The API server writes the end of the grace as the time of a deletion. */
function readDeletion(metadata: JsonObject): QosPod['deletion'] & object {
  const graceSeconds = readSeconds(metadata['deletionGracePeriodSeconds']) ?? 0;
  const endsAtMs = readTime(metadata['deletionTimestamp']) ?? 0;
  return { askedAtMs: Math.max(0, endsAtMs - 1000 * graceSeconds), graceSeconds };
}

/** RFC 3339; undefined for anything else. The pod without a time counts as the oldest, which goes last. */
function readTime(value: unknown): number | undefined {
  const text = asString(value);
  const isTime =
    text.length <= MAX_TIME_LENGTH && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const ms = isTime ? Date.parse(text) : NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

const MAX_TIME_LENGTH = 64;

function toQosContainer({ name, kind, resources: { requests, limits } }: ContainerObject): QosContainer {
  return {
    name,
    ...(kind === 'init' && { isInit: true as const }),
    ...amount('requestMilliCpu', amountIn(requests, 'cpu')),
    ...amount('limitMilliCpu', amountIn(limits, 'cpu')),
    ...amount('requestMemoryBytes', amountIn(requests, 'memory')),
    ...amount('limitMemoryBytes', amountIn(limits, 'memory')),
    ...amount('elasticRequestMilliCpu', sumElastic(requests, ELASTIC_CPU, parseMilli)),
    ...amount('elasticLimitMilliCpu', sumElastic(limits, ELASTIC_CPU, parseMilli)),
    ...amount('elasticRequestMemoryBytes', sumElastic(requests, ELASTIC_MEMORY, parseWhole)),
    ...amount('elasticLimitMemoryBytes', sumElastic(limits, ELASTIC_MEMORY, parseWhole)),
  };
}

type Parse = (quantity: unknown) => number | undefined;

/** The amount that a pod requests in all, as Kubernetes counts it. */
function held({ containers }: PodObject, resource: string, parse: Parse): number {
  return Math.min(
    peakOfPod(containers, ({ resources }) => parse(ownOf(resources.requests, resource)) ?? 0),
    MAX_AMOUNT,
  );
}

/** Crane takes every resource whose name begins so. */
function sumElastic(list: JsonObject, prefix: string, parse: Parse): number {
  const found = Object.keys(list).filter((name) => name.startsWith(prefix));
  return sumAmounts(found.map((name) => parse(list[name]) ?? 0));
}

/** 0 is the same as not set, as for the kubelet: a limit of 0 limits nothing. */
function amount<K extends keyof QosContainer | keyof QosPod>(
  key: K,
  value: number | undefined,
): { readonly [_ in K]?: number } {
  return (value ? { [key]: value } : {}) as { readonly [_ in K]?: number };
}

function ownOf(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

function isSet(object: JsonObject, key: string): boolean {
  const value = ownOf(object, key);
  return value !== undefined && value !== null;
}
