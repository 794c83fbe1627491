/** A documented difference between the kubelet and cpusetd. */
export interface Difference {
  readonly what: string;
  /** The side with the better answer; `either` where both are right by their own rules. */
  readonly right: 'cpusetd' | 'kubelet' | 'either';
  readonly why: string;
  /** Of kubernetes/kubernetes. */
  readonly issues: readonly number[];
}

/**
 * All kinds of differences, and the proof of each that `judge-set.ts` or `judge-history.ts` asks for.
 * docs/conformance.md has them as a table.
 */
export const KINDS = {
  'busy-cpus': {
    what: 'the kubelet gives CPUs that another container has or that are reserved, or another number of CPUs',
    right: 'cpusetd',
    why: 'it compares the free CPUs of a socket or a core with the mean size of all, so a unit that is larger than that counts as free while it is not. Asked with its own sizes, it gives the CPUs that cpusetd gives',
    issues: [124_066, 140_495],
  },
  'mean-sizes': {
    what: 'both sets are free, and the kubelet passes a free socket or core over',
    right: 'cpusetd',
    why: 'the same cause, on machines of unequal sockets or cores',
    issues: [124_066, 140_495],
  },
  'lost-combination': {
    what: '`distribute-cpus-across-numa`: the kubelet leaves the nodes less balanced',
    right: 'cpusetd',
    why: 'its best combination of nodes changes while it looks at the next ones',
    issues: [141_238],
  },
  'never-answers': {
    what: '`distribute-cpus-across-numa` with `full-pcpus-only`: the kubelet does not end its search',
    right: 'cpusetd',
    why: 'it counts CPUs where whole cores are needed, and goes round without end. Its admission of pods stands still',
    issues: [140_730],
  },
  panics: {
    what: 'NUMA nodes with numbers of 64 and more, as on POWER: the kubelet ends with a panic when it gives hints',
    right: 'cpusetd',
    why: 'its sets of nodes are one word of 64 bits, and an error is not looked at',
    issues: [],
  },
  'split-cores': {
    what: '`full-pcpus-only`: the kubelet gives parts of cores',
    right: 'cpusetd',
    why: 'it only compares numbers: CPUs of halves that are left from before the option was set, or beside reserved ones, count as cores',
    issues: [],
  },
  'loose-threads': {
    what: '`full-pcpus-only`: both give whole cores, and other ones',
    right: 'either',
    why: 'the kubelet counts the same halves when it puts units in order. Asked without them, it gives the CPUs that cpusetd gives',
    issues: [],
  },
  'unlike-cores': {
    what: '`full-pcpus-only` where cores have unlike numbers of threads: one side refuses, or gives other CPUs',
    right: 'cpusetd',
    why: 'the kubelet takes the mean number of threads for that of each core; cpusetd puts the number together from whole cores',
    issues: [140_495],
  },
  'fewer-caches': {
    what: '`prefer-align-cpus-by-uncorecache`: cpusetd uses fewer caches',
    right: 'cpusetd',
    why: 'the kubelet looks at the lowest cores of a cache only, and compares with the mean size of caches',
    issues: [],
  },
  'fewer-nodes': {
    what: '`distribute-cpus-across-numa`: cpusetd uses fewer NUMA nodes',
    right: 'cpusetd',
    why: 'the kubelet begins with the number of nodes that nodes of mean size would need, and splits halves of cores over nodes',
    issues: [],
  },
  'empty-pool': {
    what: '`strict-cpu-reservation`: the kubelet gives away the last CPU of the shared pool',
    right: 'cpusetd',
    why: 'shared containers have none then, and the kubelet does not start again with that state; cpusetd keeps one, or lets them use the reserved ones',
    issues: [],
  },
  'init-reuse': {
    what: 'pods with init containers: other CPUs, or the kubelet refuses',
    right: 'cpusetd',
    why: 'the kubelet may give later containers other CPUs than those of init containers that have ended, which stay blocked; cpusetd uses them again first, or gives them back. The node never has fewer CPUs left than in the kubelet',
    issues: [112_228],
  },
  'asked-again': {
    what: 'pods with init containers and the scope `pod`: cpusetd refuses a container',
    right: 'kubelet',
    why: 'cpusetd asks for the nodes of the pod at each of its containers, and CPUs that an init container had beside these nodes, as `align-by-socket` allows, count as taken. Rare, and not repaired yet',
    issues: [],
  },
  'pod-level': {
    what: 'pods with resources as a whole, without the feature gate or with the scope `pod`',
    right: 'either',
    why: 'without PodLevelResourceManagers the kubelet gives such pods no CPUs; with it and the scope `pod` it gives the pod a set of its own. cpusetd decides as the kubelet with the gate and the scope `container`',
    issues: [],
  },
  'lost-cpus': {
    what: 'CPUs are in no set of the kubelet any more, and it does not start again with that state',
    right: 'cpusetd',
    why: 'with the scope `pod`, it gives a pod with resources as a whole a second set after a restart, and keeps the set of one that it refuses when it shares the set out',
    issues: [140_989],
  },
  'refused-at-restart': {
    what: 'the kubelet ends a running pod at its start',
    right: 'cpusetd',
    why: 'it admits running pods anew by another policy of the topology manager; cpusetd keeps their CPUs, and `status` says that they are held under old rules',
    issues: [],
  },
  'memory-nodes': {
    what: 'the kubelet allows other memory nodes',
    right: 'either',
    why: 'its memory manager does not know the CPUs, and takes the first nodes with room; cpusetd allows the nodes of the CPUs, and more if these have too little',
    issues: [],
  },
  'memory-hints': {
    what: 'other NUMA nodes are chosen, with memory as a second resource',
    right: 'either',
    why: 'the memory manager keeps memory of several nodes for pods that use just these nodes, and counts the whole pod with the scope `pod`. On the nodes that cpusetd chose, the kubelet gives the same CPUs',
    issues: [],
  },
  'memory-refused': {
    what: 'the kubelet refuses a pod for its memory',
    right: 'either',
    why: 'the same cause; cpusetd refuses for CPUs alone, and for huge pages with a strict topology manager',
    issues: [],
  },
} as const satisfies Readonly<Record<string, Difference>>;

export type Kind = keyof typeof KINDS;
