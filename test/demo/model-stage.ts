import type { Actor, Cpusetd, Stage } from '../../scripts/demo/stage';

/** All observations on a machine of two CPUs. A test can make any one of them wrong. */
export interface Observations {
  /** One for each start of the daemon. */
  health: [string, string];
  promise: string;
  drift: string;
  topology: string;
  outcome: string;
  assignments: string;
  leftovers: string[];
  web: { own: string; cpusets: CpusetsOfWeb };
  db: { own: string; neighbour: string; cpusets: CpusetsOfDb };
}

interface CpusetsOfWeb {
  killed: string;
  back: string;
  alone: string;
}

interface CpusetsOfDb {
  pinned: string;
  repaired: string;
  killed: string;
  back: string;
}

/** The observations when every claim holds. */
export const rightObservations = (): Observations => ({
  health: ['SERVING', 'SERVING'],
  promise: '1',
  drift: 'promised 1, the kernel has cpuset.cpus 0; likely cause: unknown writer: someone wrote its cgroup directly',
  topology: PICTURE,
  outcome: 'SIGKILL',
  assignments: '1',
  leftovers: [],
  web: { own: '0-1', cpusets: { killed: '0', back: '0', alone: '0-1' } },
  db: { own: '1', neighbour: '0', cpusets: { pinned: '1', repaired: '1', killed: '1', back: '1' } },
});

const PICTURE = `worker-1: 2 CPUs online in 1 socket, 1 NUMA node, 1 uncore cache, 2 cores; 0 free

socket 0, NUMA node 0, 16 GiB
0# 1A

   USE       CPUS  WHO
A  static    1     default/db db
#  reserved  0     the system; shared containers run here too
`;

type Act = 'pinned' | 'repaired' | 'killed' | 'back' | 'alone';

/**
 * A stage in this process, where nothing runs and every observation is there at once. Its words are those of a real
 * one.
 */
export function openModelStage(observations: Observations, words: Stage['words']): Stage {
  let act: Act = 'pinned';
  const actor = (own: string, neighbour: string | undefined, cpusets: Partial<Record<Act, string>>): Actor => ({
    folder: '/nowhere',
    beginning: () => Promise.resolve({ own, ...(neighbour !== undefined && { neighbour }) }),
    cpuset: () => cpusets[act] ?? `nothing was to be looked at now (${act})`,
    tamper: () => void (act = 'repaired'),
  });
  const daemon: Cpusetd = {
    health: () => Promise.resolve(observations.health[act === 'pinned' ? 0 : 1]),
    decision: () => Promise.resolve({ cpus: observations.promise, because: '1 exclusive CPU, free on the node' }),
    drift: () => Promise.resolve(observations.drift),
    topology: () => Promise.resolve(observations.topology),
    kill: () => ((act = 'killed'), Promise.resolve(observations.outcome)),
    startAgain: () => ((act = 'back'), Promise.resolve(observations.assignments)),
  };
  return {
    what: 'containerd 0 and runc 0',
    machine: '0-1',
    words,
    startDaemon: () => daemon,
    run: (name) =>
      Promise.resolve(
        name === 'web'
          ? actor(observations.web.own, undefined, { ...observations.web.cpusets })
          : actor(observations.db.own, observations.db.neighbour, { ...observations.db.cpusets }),
      ),
    remove: (name) => (name === 'db' && (act = 'alone'), Promise.resolve()),
    close: () => Promise.resolve(observations.leftovers),
  };
}
