import type { Logger } from 'pino';
import type { PodInfo } from '../../core/model/events';
import type { NodeView } from '../../core/model/node-model';
import type { Cgroups } from '../../host';
import { widenPodCgroup } from './pod-cgroup';

export interface RoomParts {
  readonly model: NodeView;
  readonly cgroups: Cgroups;
  readonly log: Logger;
}

/** Lets the cgroups that a pod's containers are in have every CPU of the node, and says where that was needed. */
export function makeRoom({ model, cgroups, log }: RoomParts, pod: PodInfo): void {
  const outcome = widenPodCgroup(cgroups, pod, model.topology.online);
  const facts = { podUid: pod.uid, pod: `${pod.namespace}/${pod.name}` };
  if (outcome.kind === 'ok' && outcome.changed)
    log.info(facts, 'cgroups above a pod lacked CPUs that had been offline; they have them again');
  if (outcome.kind === 'refused')
    log.warn({ ...facts, because: outcome.because }, 'cgroups above a pod could not be given all CPUs');
}
