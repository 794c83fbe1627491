import type { Example } from '../cli/help/examples';

const example = (line: string, does: string): Example => ({ line: `kubectl cpuset ${line}`, does });

/** Examples by command, for its help. Each command has some. */
export const EXAMPLES: Readonly<Record<string, readonly Example[]>> = {
  nodes: [
    example('nodes', 'all nodes'),
    example('nodes -o wide', 'with free CPUs by NUMA node, whole cores and caches'),
    example('nodes --cpus 8 --aligned node', 'where would 8 CPUs of one NUMA node fit?'),
  ],
  pods: [example('pods', 'all pinned containers'), example('pods --drifted', 'containers whose promise is not kept')],
  map: [example('map worker-1', 'who has which CPU there')],
  explain: [example('explain shop/web', 'why the pod has its CPUs, or was refused')],
  'why-not': [example('why-not shop/web', 'which node could take the pod, and what is in the way of the others')],
  events: [
    example('events --since 1h', 'what has happened in the last hour'),
    example('events shop/web', 'what has happened to a pod'),
  ],
  top: [example('top', 'first the nodes with the most free CPUs that no aligned request reaches')],
  'drain-check': [example('drain-check worker-1', 'would its pinned pods find CPUs elsewhere?')],
};
