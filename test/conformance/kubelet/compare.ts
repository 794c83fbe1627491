import { createRandom, type Random } from '../../support/random';
import { AskKubelet } from './ask-kubelet';
import { compareHistory } from './histories';
import { hasFewNodes, listRealMachines, makeMachine, type Machine } from './machines';
import { compareMerges } from './merges';
import { compareSingles, type Kubelets } from './single-decisions';
import { Tally } from './tally';

/** The amount to compare. */
export interface Amount {
  readonly seed: number;
  /** At least so many decisions. */
  readonly decisions: number;
  /** Real machines with more CPUs are left out: the kubelet takes long there. */
  readonly mostCpus: number;
  /** Told of the state from time to time. */
  readonly onProgress?: (tally: Tally) => void;
}

const PROGRESS_MS = 10_000;

/**
 * Compares decisions of cpusetd with those of the kubelet: on real machines, then on random ones, until there are
 * enough. The same seed compares the same.
 * @param programs the folder of the built kubelet-oracle
 */
export async function compareWithKubelet(
  programs: string,
  { seed, decisions, mostCpus, onProgress }: Amount,
): Promise<Tally> {
  const kubelets: Kubelets = {
    real: new AskKubelet(`${programs}/kubelet-oracle`),
    repaired: new AskKubelet(`${programs}/kubelet-oracle-repaired`),
  };
  const tally = new Tally();
  const random = createRandom(seed);
  let printedAt = Date.now();
  try {
    for (const machine of listMachines(random, mostCpus)) {
      await compareOn(kubelets, machine, random, tally);
      if (onProgress && Date.now() - printedAt > PROGRESS_MS) {
        onProgress(tally);
        printedAt = Date.now();
      }
      if (tally.decisions >= decisions) return tally;
    }
    return tally;
  } finally {
    await Promise.all([kubelets.real.stop(), kubelets.repaired.stop()]);
  }
}

function* listMachines(random: Random, mostCpus: number): Generator<Machine> {
  yield* listRealMachines().filter(({ topology }) => topology.online.size <= mostCpus);
  for (let number = 1; ; number++) yield makeMachine(random, `random machine ${number}`);
}

/**
 * A large machine is asked less, since the kubelet's time grows with its CPUs and, as 2 to their number, with its NUMA
 * nodes.
 */
async function compareOn(kubelets: Kubelets, machine: Machine, random: Random, tally: Tally): Promise<void> {
  const { online, numaNodes } = machine.topology;
  // The kubelet's topology manager refuses more.
  if (numaNodes.length > 8) return;
  await Promise.all(Object.values(kubelets).map((kubelet: AskKubelet) => kubelet.ask(machine.question)));
  const questions = Math.max(3, Math.min(40, Math.floor(2000 / online.size)));
  for (let policy = 0; policy < 5; policy++) await compareSingles(kubelets, machine, random, { tally, questions });
  if (!hasFewNodes(machine)) return;
  await compareMerges(kubelets.real, machine, random, { tally, questions: 2 * questions });
  if (online.size > 3 && online.size <= 128) await compareHistory(kubelets, machine, random, { tally, steps: 20 });
}
