import { MIRROR, MIRROR_HASH } from '../../core/annotations/annotations';
import { runtimeUidOf } from '../../core/model/pod-spec';
import { sum } from '../../core/sum';
import type { QosContainer, QosPod } from '../../qos/objects/objects';
import { toWatchedPod } from '../pods/to-pod-spec';
import { type Field, MAX_INT, parseObject, type Parsed } from './field';

const MAX_LABELS = 1_000;
const MAX_CONTAINERS = 1_000;

/** Kubernetes' priorities from here on belong to system pods. */
const SYSTEM_PRIORITY = 2_000_000_000;
const SYSTEM_CLASSES = ['system-node-critical', 'system-cluster-critical'];

const ELASTIC_CPU = 'gocrane.io/cpu';
const ELASTIC_MEMORY = 'gocrane.io/memory';

/**
 * Reads a v1 Pod. What cannot be understood refuses the pod, and no action is taken against it: a limit or a priority that was
 * taken for absent could make it the first to go.
 */
export function parseQosPod(object: unknown): Parsed<QosPod> {
  return parseObject('Pod', object, (root) => {
    const [meta, spec, status] = [root.at('metadata'), root.at('spec'), root.at('status')];
    const uid = meta.at('uid').name('read the pod from the API server');
    const annotations = meta.at('annotations');
    const priority = spec.at('priority').int(-MAX_INT - 1, MAX_INT, 0);
    // The API server has only mirrors of static pods. Anybody can write config.source, which the kubelet takes elsewhere; but a
    // mirror without a static pod never runs.
    const isStatic = !annotations.at(MIRROR).isAbsent;
    const grace = spec.at('terminationGracePeriodSeconds');
    return {
      uid,
      runtimeUid: readRuntimeUid(uid, annotations),
      namespace: meta.at('namespace').name('read the pod from the API server'),
      name: meta.at('name').name('read the pod from the API server'),
      labels: meta.at('labels').texts(MAX_LABELS),
      qos: toWatchedPod(object)!.spec.qos,
      priority,
      isCritical:
        isStatic || priority >= SYSTEM_PRIORITY || SYSTEM_CLASSES.includes(spec.at('priorityClassName').anyText()),
      isStatic,
      phase: status.at('phase').anyText(),
      isBeingDeleted: !meta.at('deletionTimestamp').isAbsent,
      ...(!grace.isAbsent && { graceSeconds: readGrace(grace) }),
      startedAtMs: readTime(status.at('startTime')) ?? readTime(meta.at('creationTimestamp')) ?? 0,
      containers: readContainers(spec),
      ...amount(
        'heldMilliCpu',
        sumHeld(spec, (requests) => requests.at(ELASTIC_CPU).milli()),
      ),
      ...amount(
        'heldMemoryBytes',
        sumHeld(spec, (requests) => requests.at(ELASTIC_MEMORY).whole()),
      ),
    };
  });
}

function readRuntimeUid(uid: string, annotations: Field): string {
  if (annotations.at(MIRROR).isAbsent) return uid;
  return runtimeUidOf({ uid, annotations: { [MIRROR]: '', [MIRROR_HASH]: annotations.at(MIRROR_HASH).anyText() } });
}

/** Kubernetes takes a negative time as 1. */
function readGrace(field: Field): number {
  const seconds = field.int(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, 30);
  return seconds < 0 ? 1 : seconds;
}

/** RFC 3339; undefined for anything else. The pod without a time counts as the oldest, which goes last. */
function readTime(field: Field): number | undefined {
  const text = field.anyText();
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const ms = isTime ? Date.parse(text) : NaN;
  return Number.isFinite(ms) ? ms : undefined;
}

/** App containers and sidecars: other init containers have ended when actions are taken, or hold the start of the pod. */
function readContainers(spec: Field): readonly QosContainer[] {
  const sidecars = spec
    .at('initContainers')
    .list(MAX_CONTAINERS)
    .filter((container) => container.at('restartPolicy').anyText() === 'Always');
  return [...sidecars, ...spec.at('containers').list(MAX_CONTAINERS)].map(readContainer);
}

function readContainer(container: Field): QosContainer {
  const name = container.at('name').name('read the pod from the API server');
  const [requests, limits] = ['requests', 'limits'].map((of) => container.called(name).at('resources').at(of)) as [
    Field,
    Field,
  ];
  return {
    name,
    ...amount('requestMilliCpu', requests.at('cpu').milli()),
    ...amount('limitMilliCpu', limits.at('cpu').milli()),
    ...amount('requestMemoryBytes', requests.at('memory').whole()),
    ...amount('limitMemoryBytes', limits.at('memory').whole()),
    ...amount('elasticRequestMilliCpu', sumElastic(requests, ELASTIC_CPU)),
    ...amount('elasticLimitMilliCpu', sumElastic(limits, ELASTIC_CPU)),
    ...amount('elasticRequestMemoryBytes', sumElastic(requests, ELASTIC_MEMORY)),
    ...amount('elasticLimitMemoryBytes', sumElastic(limits, ELASTIC_MEMORY)),
  };
}

/**
 * What a pod requests in all, as Kubernetes counts it: what its containers and sidecars request, or what they and an init container request
 * while that one runs, whichever is more.
 */
function sumHeld(spec: Field, read: (requests: Field) => number | undefined): number {
  const requestOf = (container: Field): number => read(container.at('resources').at('requests')) ?? 0;
  let sidecars = 0;
  let most = 0;
  for (const container of spec.at('initContainers').list(MAX_CONTAINERS)) {
    const isSidecar = container.at('restartPolicy').anyText() === 'Always';
    if (isSidecar) sidecars += requestOf(container);
    most = Math.max(most, isSidecar ? sidecars : sidecars + requestOf(container));
  }
  return Math.max(most, sidecars + sum(spec.at('containers').list(MAX_CONTAINERS).map(requestOf)));
}

/** 0 is the same as not set, as for the kubelet: a limit of 0 limits nothing. */
function amount<K extends keyof QosContainer | keyof QosPod>(
  key: K,
  value: number | undefined,
): { readonly [_ in K]?: number } {
  return (value ? { [key]: value } : {}) as { readonly [_ in K]?: number };
}

/** Crane takes every resource whose name begins so. */
function sumElastic(amounts: Field, prefix: typeof ELASTIC_CPU | typeof ELASTIC_MEMORY): number {
  const found = amounts.keys().filter((name) => name.startsWith(prefix));
  const sum = found
    .map((name) => (prefix === ELASTIC_CPU ? amounts.at(name).milli() : amounts.at(name).whole()) ?? 0)
    .reduce((total, one) => total + one, 0);
  return Number.isSafeInteger(sum) ? sum : amounts.refuse(`has too much of ${prefix}`, 'correct the amount');
}
