import { listContainers } from '../../qos/avoidance/list-containers';
import { findLowQuotas, type UnknownThrottles } from '../../qos/avoidance/low-quotas';
import type { ContainerState } from '../../qos/avoidance/situation';
import { NOT_SYNCHRONIZED } from '../../qos/phases/plan-round';
import type { QosPod } from '../../qos/objects/objects';
import type { ObjectsOfNode } from '../../qos/objects/objects-of-node';
import type { DaemonContext } from '../context';
import type { QosActionsNote } from './qos-actions-note';
import type { QuotaWriter } from './quota-writer';

export interface UnknownThrottlesParts {
  readonly context: Pick<DaemonContext, 'model'>;
  readonly note: Pick<QosActionsNote, 'owesUnknown' | 'throttles'>;
  readonly quotas: Pick<QuotaWriter, 'read'>;
  readonly objects: () => ObjectsOfNode;
}

/**
 * The quotas that a lost note may have been about. Only the API server knows what they should be. Those that were
 * lowered since are known.
 */
export function findUnknownThrottles({ context, note, quotas, objects }: UnknownThrottlesParts): UnknownThrottles {
  if (!note.owesUnknown) return { low: [], unknown: [] };
  const { model } = context;
  if (!model.synchronized) return { because: NOT_SYNCHRONIZED };
  const known = objects();
  if (known.kind === 'unknown') return known;
  if (!model.specSource.hasReported) return { because: 'the API server has not sent the pods yet' };
  const lowered = new Set(note.throttles.map(({ id }) => id));
  const containers = listContainers(model, known.pods, new Map())
    .filter(({ id }) => !lowered.has(id))
    .map((container): ContainerState => ({ ...container, ...quotas.read(container.id) }));
  const hasPodLimit = ({ uid }: QosPod): boolean => model.podSpecs.get(uid)?.podResources?.limitMilliCpu !== undefined;
  return findLowQuotas(known.pods, containers, hasPodLimit);
}
