import type { NodeView } from '../../core/model/node-model';
import { showText } from '../../core/show-text';
import type { Note } from '../../core/transition';
import type { PodEventMessage } from '../../kube';

/** Which notes of a decision are worth an Event on the pod, by their constant text. */
const NEWS: Readonly<Record<string, Pick<PodEventMessage, 'type' | 'reason'>>> = {
  refused: { type: 'Warning', reason: 'CpusRefused' },
  drifted: { type: 'Warning', reason: 'CpusetDrifted' },
  switched: { type: 'Normal', reason: 'CpuPolicySwitched' },
  'not switched': { type: 'Warning', reason: 'CpuPolicyNotSwitched' },
};

/** What the note tells whoever looks at the pod; undefined for what concerns nobody but us, or no pod that we know. */
export function toNews(view: NodeView, { message, fields }: Note): PodEventMessage | undefined {
  const kind = Object.hasOwn(NEWS, message) ? NEWS[message] : undefined;
  const { podUid, pod, container, because } = fields;
  if (!kind || typeof podUid !== 'string' || typeof because !== 'string') return undefined;
  return newsOf(view, {
    podUid,
    podName: typeof pod === 'string' ? pod : undefined,
    container: typeof container === 'string' ? container : undefined,
    ...kind,
    because,
  });
}

/** That a foreign write was put right. */
export function repairedNews(view: NodeView, containerId: string): PodEventMessage | undefined {
  const container = view.allContainers.get(containerId);
  if (!container) return undefined;
  const cpus = container.promise?.cpus.toString() ?? '';
  return newsOf(view, {
    podUid: container.podUid,
    podName: undefined,
    container: container.name,
    type: 'Normal',
    reason: 'CpusetRepaired',
    because: `the cpuset is ${cpus} again, as promised`,
  });
}

interface Told extends Pick<PodEventMessage, 'type' | 'reason'> {
  readonly podUid: string;
  /** `namespace/name`, where the note says it. */
  readonly podName: string | undefined;
  readonly container: string | undefined;
  readonly because: string;
}

function newsOf(
  view: NodeView,
  { podUid, podName, container, type, reason, because }: Told,
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

/** The name in a note, for a pod of which nothing else is known: that it was heard of may have been refused as well. */
function parseName(name = ''): Pick<PodEventMessage['pod'], 'namespace' | 'name'> | undefined {
  const [, namespace, pod] = /^([^/]+)\/([^/]+)$/.exec(name) ?? [];
  return namespace === undefined || pod === undefined ? undefined : { namespace, name: pod };
}
