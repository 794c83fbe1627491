import type { RuntimeAnswer, RuntimeEvent } from '../model/events';
import type { NodeView } from '../model/node-model';
import type { FreeInZone, Refusal } from '../model/refusal';
import { entitle } from './placement';

/** An event that asks for CPUs and may be refused. */
export type CpuEvent = Extract<RuntimeEvent, { kind: 'create-container' | 'update-container' }>;

/** Texts of others, in UTF-16 units: names in Kubernetes are no longer than this, and reasons are far shorter. */
const MAX_NAME = 253;
/** Of an annotation: its prefix, and the name of a container. */
const MAX_ANNOTATION = 320;
const MAX_REASON = 1_024;
const MAX_ZONES = 16;

/** The refusal of an event as it is remembered, of which this is the first time. `at`: the time, RFC 3339. */
export function describeRefusal(
  view: NodeView,
  event: CpuEvent,
  { code, message }: Extract<RuntimeAnswer, { kind: 'refuse' }>,
  at: string,
): Refusal {
  const { pod, container } = event;
  const known = view.containers.get(container.id)?.resources;
  const resources =
    event.kind === 'create-container' ? container.resources : { ...container.resources, ...known, ...event.resources };
  const { chosen, request } = entitle(view, pod, { ...container, resources });
  return {
    podUid: cut(pod.uid, MAX_NAME),
    podNamespace: cut(pod.namespace, MAX_NAME),
    podName: cut(pod.name, MAX_NAME),
    containerName: cut(container.name, MAX_NAME),
    asked: event.kind === 'create-container' ? 'creation' : 'change',
    requested: request.kind === 'exclusive' ? request.count : 0,
    policy: chosen.policy,
    ...(chosen.chosenBy !== undefined && { chosenBy: cut(chosen.chosenBy, MAX_ANNOTATION) }),
    code,
    because: cut(message, MAX_REASON),
    zones: countFree(view).slice(0, MAX_ZONES),
    firstAt: at,
    lastAt: at,
    times: 1,
  };
}

/** CPUs of each NUMA node that has some, ascending by id. */
export function countFree({ topology, settings, free }: NodeView): readonly FreeInZone[] {
  return topology.numaNodes.map(({ id, cpus }) => ({
    node: id,
    allocatable: cpus.minus(settings.reserved).size,
    free: cpus.countIn(free),
  }));
}

/** Without half a character at the end: not every encoding has such. */
function cut(text: string, max: number): string {
  return text.length <= max ? text : text.slice(0, max).replace(/[\ud800-\udbff]$/, '');
}
