import { asObject, asString } from '../../kube';
import type { Binding } from '../load/bindings';

/** The Events to watch. */
export const BINDING_EVENTS = 'type=Normal,reason=Scheduled';

/** The wording of kube-scheduler. */
const MESSAGE = /^Successfully assigned ([^\s/]+)\/(\S+) to (\S+)$/;

/**
 * Reads the binding from an Event of a scheduler; undefined for any other Event. The time is `eventTime` for Events of
 * the new API, which have no count, else `lastTimestamp`, in whole seconds as crane-scheduler counts.
 */
export function bindingOfEvent(object: unknown): Binding | undefined {
  const event = asObject(object);
  const { type, reason, message, count, eventTime, lastTimestamp, firstTimestamp } = event;
  if (type !== 'Normal' || reason !== 'Scheduled') return undefined;
  const [, namespace, name, node] = MESSAGE.exec(asString(message)) ?? [];
  const pod = asObject(event['involvedObject']);
  if (node === undefined || namespace !== asString(pod['namespace']) || name !== asString(pod['name']))
    return undefined;
  const { uid, creationTimestamp } = asObject(event['metadata']);
  const isNew = typeof count !== 'number' || count === 0;
  const times = [...(isNew ? [eventTime, lastTimestamp] : [lastTimestamp, eventTime]), firstTimestamp];
  const timestampMs = [...times, creationTimestamp].map(readTime).find((ms) => ms !== undefined);
  const id = asString(pod['uid']) || asString(uid);
  return timestampMs === undefined || id === '' ? undefined : { uid: id, node, timestampMs };
}

function readTime(value: unknown): number | undefined {
  const ms = Date.parse(asString(value));
  return Number.isNaN(ms) ? undefined : Math.floor(ms / 1000) * 1000;
}
