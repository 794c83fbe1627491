import { readAsked } from '../decision/asked';
import { askedHugePages } from '../model/asked-huge-pages';
import { readBrought } from '../model/brought';
import type { CpuResources, RuntimeAnswer, RuntimeEvent } from '../model/events';
import type { NodeView } from '../model/node-view';
import { keyOfRefusal, type FreeInZone, type Refusal } from '../model/refusal';
import { resolvePod } from '../model/spec-book';
import { entitledCpus } from '../decision/entitlement';

/** An event that asks for CPUs, or one that is refused for lack of them: a start. */
export type CpuEvent = Extract<RuntimeEvent, { kind: 'create-container' | 'update-container' | 'container-starting' }>;

const ASKED = {
  'create-container': 'creation',
  'update-container': 'change',
  'container-starting': 'start',
} as const satisfies Record<CpuEvent['kind'], Refusal['asked']>;

/** The event as a request that may be refused; undefined for an event that only reports. */
export function asCpuEvent(event: { readonly kind: string } | undefined): CpuEvent | undefined {
  return event && Object.hasOwn(ASKED, event.kind) ? (event as CpuEvent) : undefined;
}

/** Maximum lengths of texts from others, in UTF-16 units. Names in Kubernetes are no longer than this. */
const MAX_NAME = 253;
/** The length of an annotation's prefix and a container's name. */
const MAX_ANNOTATION = 320;
const MAX_REASON = 1_024;
const MAX_ZONES = 16;

/** Makes the record of a first refusal. `at`: the time, RFC 3339. */
export function describeRefusal(
  view: NodeView,
  event: CpuEvent,
  { code, message }: Extract<RuntimeAnswer, { kind: 'refuse' }>,
  at: string,
): Refusal {
  const { pod, container } = event;
  const known = view.containers.get(container.id)?.resources;
  const changed = event.kind === 'update-container' && { ...known, ...event.resources };
  const resources = { ...container.resources, ...changed };
  const resolved = resolvePod(view, pod);
  const info = { ...container, resources };
  const held = view.assignmentOf({ ...info, podUid: pod.uid });
  const { chosen, request, amounts } = readAsked(view, resolved, info, changed ? { held, runs: true } : {});
  return {
    podUid: cut(pod.uid, MAX_NAME),
    podNamespace: cut(pod.namespace, MAX_NAME),
    podName: cut(pod.name, MAX_NAME),
    containerName: cut(container.name, MAX_NAME),
    asked: ASKED[event.kind],
    requested: entitledCpus(request),
    ...(amounts && {
      ...(amounts.podCount !== undefined && { podCount: amounts.podCount }),
      ...(amounts.memoryBytes > 0 && { memoryBytes: amounts.memoryBytes }),
    }),
    policy: chosen.policy,
    ...(chosen.chosenBy !== undefined && { chosenBy: cut(chosen.chosenBy, MAX_ANNOTATION) }),
    ...((askedHugePages(resolved.spec, info) || isBound(view, event, resources)) && { isBound: true as const }),
    code,
    because: cut(message, MAX_REASON),
    zones: countFree(view).slice(0, MAX_ZONES),
    firstAt: at,
    lastAt: at,
    times: 1,
  };
}

/** A creation alone brings CPUs and memory nodes. What one brought that is refused is not remembered. */
function isBound({ topology }: NodeView, { kind }: CpuEvent, resources: CpuResources): boolean {
  const read = readBrought(resources, topology.online);
  return kind === 'create-container' && read.ok && read.brought !== undefined;
}

/** The key of the refusal of a request. */
export function keyOfRequest({ pod, container }: Pick<CpuEvent, 'pod' | 'container'>): string {
  return keyOfRefusal({ podUid: cut(pod.uid, MAX_NAME), containerName: cut(container.name, MAX_NAME) });
}

/** The CPUs of each NUMA node that has some, ascending by id. */
export function countFree({ topology, settings, free }: NodeView): readonly FreeInZone[] {
  return topology.numaNodes.map(({ id, cpus }) => ({
    node: id,
    allocatable: cpus.minus(settings.reserved).size,
    free: cpus.countIn(free),
  }));
}

/** Cuts a text, and leaves no half of a surrogate pair, which UTF-8 can't encode. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, '');
}
