import type { Example } from '../cli/help/examples';

const of = (line: string, does: string): Example => ({ line: `kubectl cpuset ${line}`, does });

/** Examples by command, for its help. Each command has some. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  nodes: [
    of('nodes', 'all nodes'),
    of('nodes -o wide', 'with free CPUs by NUMA node, whole cores and caches'),
    of('nodes --cpus 8 --aligned node', 'where would 8 CPUs of one NUMA node fit?'),
  ],
  pods: [of('pods', 'all pinned containers'), of('pods --drifted', 'containers whose promise is not kept')],
  map: [of('map worker-1', 'who has which CPU there')],
  explain: [of('explain shop/web', 'why the pod has its CPUs, or was refused')],
  'why-not': [of('why-not shop/web', 'which node could take the pod, and what is in the way of the others')],
  events: [
    of('events --since 1h', 'what has happened in the last hour'),
    of('events shop/web', 'what has happened to a pod'),
  ],
  top: [of('top', 'first the nodes with the most free CPUs that no aligned request reaches')],
  'drain-check': [of('drain-check worker-1', 'would its pinned pods find CPUs elsewhere?')],
};
