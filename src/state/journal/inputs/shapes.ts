import * as z from 'zod/mini';
import { parseCpuList, tryParseCpuList, type CpuSet } from '../../../core/cpuset';
import type { ContainerInfo, CpuResources } from '../../../core/model/events';
import type { CpuPromise } from '../../../core/model/container';
import type { ContainerSpec, PodSpec, SpecResources } from '../../../core/model/pod-spec';
import type { Same } from '../../../core/whole';
import type { RecordedEvent, RecordedEvents, RecordedPod, RecordedSource, RecordedState } from '../recorded-input';

/** A shape that does not compile with other fields than T has, or with others types. */
const shapeOf =
  <T>() =>
  <S extends z.ZodMiniType>(shape: S & Same<z.output<S>, T>): S =>
    shape;

/** The list of CPUs in a text; undefined for what is none. */
export function readCpus(value: unknown): CpuSet | undefined {
  return typeof value === 'string' ? tryParseCpuList(value) : undefined;
}

export const texts = z.record(z.string(), z.string());
export const ids = z.array(z.string());

const amount = z.optional(z.number().check(z.gte(-1)));
const hugePages = z.optional(z.record(z.string(), z.number().check(z.gte(0))));
const cpuSet = z.pipe(
  z.string().check(z.refine((text) => readCpus(text) !== undefined)),
  z.transform((text) => parseCpuList(text)),
);

const resources = shapeOf<CpuResources>()(
  z.object({
    shares: amount,
    quotaUs: amount,
    periodUs: amount,
    memoryLimitBytes: amount,
    hugePages,
    cpus: z.optional(z.string()),
    mems: z.optional(z.string()),
  }),
);

export const pod = shapeOf<RecordedPod>()(
  z.object({
    sandboxId: z.string(),
    uid: z.string(),
    namespace: z.string(),
    name: z.string(),
    annotations: texts,
    cgroupParent: z.string(),
    podResources: z.optional(resources),
  }),
);

export const container = shapeOf<ContainerInfo>()(
  z.object({
    id: z.string(),
    sandboxId: z.string(),
    name: z.string(),
    phase: z.enum(['creating', 'created', 'starting', 'running', 'exited']),
    cgroupsPath: z.string(),
    pid: z.optional(z.number()),
    resources,
    oomScoreAdj: z.optional(z.number()),
  }),
);

const promise = shapeOf<CpuPromise>()(
  z.object({
    cpus: cpuSet,
    mems: cpuSet,
    quota: z.optional(z.object({ quotaUs: z.number(), periodUs: z.optional(z.number()) })),
  }),
);

export const containerState = shapeOf<RecordedState>()(
  z.object({
    podUid: z.string(),
    placement: z.enum(['exclusive', 'immovable', 'numa', 'shared', 'left-alone']),
    entitledCpus: z.number().check(z.gte(0)),
    freshAssignment: z.boolean(),
    because: z.string(),
    becauseOfCpus: z.optional(z.string()),
    leftAlone: z.optional(z.literal(true)),
    avoidsReserved: z.optional(z.literal(true)),
    annotationDigest: z.optional(z.string()),
    blockedSwitch: z.optional(z.object({ because: z.string(), since: z.string() })),
    quota: z.optional(z.enum(['lifted', 'as-asked'])),
    promise: z.optional(promise),
    promisedAt: z.optional(z.string()),
    waitingSince: z.optional(z.string()),
  }),
);

const specAmounts = {
  requestMilliCpu: amount,
  limitMilliCpu: amount,
  requestMemoryBytes: amount,
  limitMemoryBytes: amount,
};

const containerSpec = shapeOf<ContainerSpec>()(
  z.object({
    name: z.string(),
    kind: z.enum(['init', 'sidecar', 'app']),
    ended: z.boolean(),
    limitHugePages: hugePages,
    ...specAmounts,
  }),
);

export const spec = shapeOf<PodSpec>()(
  z.object({
    uid: z.string(),
    namespace: z.string(),
    name: z.string(),
    annotations: texts,
    qos: z.enum(['Guaranteed', 'Burstable', 'BestEffort']),
    finished: z.boolean(),
    isBeingDeleted: z.optional(z.literal(true)),
    containers: z.array(containerSpec),
    podResources: z.optional(shapeOf<SpecResources>()(z.object(specAmounts))),
  }),
);

export const source = shapeOf<RecordedSource>()(z.object({ hasReported: z.boolean(), awaited: ids }));

const containerId = z.string();
const sandboxId = z.string();

/** An event by its kind: a kind that is missing here, or that has other fields, does not compile. */
function shapesOfEvents<S extends Record<keyof RecordedEvents, z.ZodMiniType>>(
  shapes: S & { readonly [K in keyof RecordedEvents]: Same<z.output<S[K]>, RecordedEvents[K]> },
): S {
  return shapes;
}

const events = shapesOfEvents({
  'create-container': z.object({
    kind: z.literal('create-container'),
    pod,
    container,
    shareBecause: z.optional(z.string()),
    runsBeside: z.optional(ids),
  }),
  'update-container': z.object({ kind: z.literal('update-container'), pod, container, resources }),
  'container-named': z.object({
    kind: z.literal('container-named'),
    temporaryId: z.string(),
    containerId,
    cgroupsPath: z.string(),
  }),
  'container-created': z.object({ kind: z.literal('container-created'), containerId }),
  'container-starting': z.object({ kind: z.literal('container-starting'), containerId }),
  'container-started': z.object({ kind: z.literal('container-started'), containerId }),
  'container-stopped': z.object({ kind: z.literal('container-stopped'), containerId }),
  'container-removed': z.object({ kind: z.literal('container-removed'), containerId }),
  'pod-started': z.object({ kind: z.literal('pod-started'), pod }),
  'pod-stopped': z.object({ kind: z.literal('pod-stopped'), sandboxId }),
  'pod-removed': z.object({ kind: z.literal('pod-removed'), sandboxId }),
  'pod-spec': z.object({ kind: z.literal('pod-spec'), spec }),
  'pod-spec-gone': z.object({ kind: z.literal('pod-spec-gone'), uid: z.string() }),
});

/** Reads a value; undefined for one of another shape. */
export function parse<S extends z.ZodMiniType>(shape: S, value: unknown): Tidy<z.output<S>> | undefined {
  const read = shape.safeParse(value);
  return read.success ? (read.data as Tidy<z.output<S>>) : undefined;
}

/** Reads an event of any kind that is recorded; undefined for something else. */
export function parseEvent(value: unknown): RecordedEvent | undefined {
  const kind = kindOf(value);
  return typeof kind === 'string' && Object.hasOwn(events, kind)
    ? parse(events[kind as keyof RecordedEvents] as z.ZodMiniType<RecordedEvent>, value)
    : undefined;
}

/** The kind that an event says that it is. */
export function kindOf(value: unknown): unknown {
  return typeof value === 'object' && value !== null ? (value as { readonly kind?: unknown }).kind : undefined;
}

/** JSON has no `undefined`: what may be absent is there or not. */
type Tidy<T> = T extends CpuSet
  ? T
  : T extends readonly (infer E)[]
    ? readonly Tidy<E>[]
    : T extends object
      ? { readonly [K in keyof T]: Tidy<Exclude<T[K], undefined>> }
      : T;
