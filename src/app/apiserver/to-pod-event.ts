import type { NodeView } from '../../core/model/node-view';
import { showText } from '../../core/show-text';
import type { DomainEvent } from '../../core/transition';
import type { PodEventMessage } from '../../kube';
import { podEventOf, type PodEventHead } from '../journal/event-log';

/** The Event on the pod that an event is about; undefined for kinds that have none, and where the pod is not known. */
export function toPodEvent(view: NodeView, event: DomainEvent): PodEventMessage | undefined {
  const shown = podEventOf(event);
  if (!shown || !('subject' in event) || !event.subject) return undefined;
  const { subject, because } = event;
  const container = 'container' in subject ? subject.container : undefined;
  return messageOf(view, { podUid: subject.podUid, podName: subject.pod, container, ...shown, because });
}

/** The Event for a foreign write that was repaired. */
export function repairedEvent(view: NodeView, containerId: string): PodEventMessage | undefined {
  const container = view.allContainers.get(containerId);
  if (!container) return undefined;
  const cpus = container.promise?.cpus.toString() ?? '';
  return messageOf(view, {
    podUid: container.podUid,
    podName: undefined,
    container: container.name,
    type: 'Normal',
    reason: 'CpusetRepaired',
    because: `the cpuset is ${cpus} again, as promised`,
  });
}

interface EventParts extends PodEventHead {
  readonly podUid: string;
  /** `namespace/name`, when the event names the pod. */
  readonly podName: string | undefined;
  readonly container: string | undefined;
  readonly because: string;
}

function messageOf(
  view: NodeView,
  { podUid, podName, container, type, reason, because }: EventParts,
): PodEventMessage | undefined {
  const pod = view.podsOf(podUid)[0] ?? parseName(podName);
  if (!pod) return undefined;
  return {
    pod: { uid: podUid, namespace: pod.namespace, name: pod.name },
    ...(container !== undefined && { container }),
    type,
    reason,
    message: showText(container === undefined ? because : `${container}: ${because}`),
  };
}

/** The name in an event, for a pod that the model does not know: its pod event may have been refused as well. */
function parseName(name = ''): Pick<PodEventMessage['pod'], 'namespace' | 'name'> | undefined {
  const [, namespace, pod] = /^([^/]+)\/([^/]+)$/.exec(name) ?? [];
  return namespace === undefined || pod === undefined ? undefined : { namespace, name: pod };
}
