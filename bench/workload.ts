/**
 * The gain of a service from CPUs of its own, and the loss of its neighbours: the same pod on shared CPUs and pinned by
 * cpusetd, alone and beside containers that burn all CPU time.
 *
 * Method: containerd and runc of Debian in a private root, a kubelet's part played over CRI, the bundled daemon beside
 * it. The service is a Guaranteed pod with 1 CPU. A request arrives each ms and takes 0.2 ms of CPU time; its response
 * time counts from the arrival, so that a pause is in the times of all requests that arrived in it. Then it works
 * without a pause, to measure throughput; 100 % is what calibration found for a CPU that nothing disturbs, the least of
 * many tries. Neighbours are two threads for each CPU, in burstable containers whose requests fill the node. All do the
 * same unit of work, which touches no memory. Without cpusetd, all are on all CPUs, as with the kubelet's policy
 * `none`. A busy disk is a process on the reserved CPU that writes 4 kB with fdatasync. "Programs of the host moved
 * away" means that all programs outside of the containers have the reserved CPU as affinity during the visit, as
 * `CPUAffinity=` of systemd would do, and get their own back after it.
 *
 * All scenarios are visited in each round, forwards and backwards in turn, so that a drift of the machine is in the
 * spread. Figures are medians of rounds, with the least and the most. Each visit checks that containers are on the CPUs
 * that the scenario says. Needs root and a C compiler, which is installed with apt when there is none; CPU 0 is
 * reserved.
 *
 * Arguments: --quick, --rounds N (4), --seconds N of requests in each visit (2), --bundle FILE.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { readOnline } from '../src/host';
import { startRuntime } from '../test/e2e/rig';
import { takeBundle } from './nri/daemon';
import { median, printMachine } from './nri/figures';
import { calibrate, compileProgram } from './workload/program';
import { interruptsTable, listFrequent, neighboursTable, ownThreadsTable, type Visits } from './workload/report';
import { BESIDE_NEIGHBOURS, BUSY_DISK, OWN_THREADS, type Scenario } from './workload/scenarios';
import { offerProgram, type Pace, type Place, type Visit, visit } from './workload/visit';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    bundle: { type: 'string' },
  },
});
const rounds = Number(values.rounds ?? (values.quick ? 1 : 4));
const requestsMs = Number(values.seconds ?? (values.quick ? 0.3 : 2)) * 1000;
if (!Number.isInteger(rounds) || rounds < 1 || !(requestsMs >= 100))
  throw new TypeError('--rounds is a whole number from 1, --seconds at least 0.1');
/** Times of a request and between two, in µs. */
const REQUEST_US = 200;
const PERIOD_US = 1000;
/** The most that the daemon, the runtime and this bench use of the CPU of the service while they wait, in CPUs. */
const QUIET_CPUS = 0.05;

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => stop.abort(new Error(`ended by ${name}`)));

async function main(): Promise<void> {
  if (readOnline('/sys').size < 2) throw new Error('this needs 2 CPUs: one is reserved, the other is for the service');
  const dir = mkdtempSync(join(tmpdir(), 'workload-'));
  try {
    const program = join(dir, 'program');
    compileProgram(program);
    const iterations = calibrate(program, REQUEST_US);
    const bundle = takeBundle(dir, values.bundle);
    const runtime = await startRuntime({ suite: 'trixie', nri: true });
    try {
      printMachine();
      const { containerd, runc } = runtime.packages;
      console.log(
        `containerd ${containerd!}, runc ${runc!}, ${rounds} rounds with ${requestsMs / PERIOD_US} s of requests each`,
      );
      const pace: Pace = {
        periodUs: PERIOD_US,
        iterations,
        requestsMs,
        warmUpMs: values.quick ? 100 : 300,
        workMs: Math.min(requestsMs, 1000),
        reportMs: values.quick ? 50 : 500,
      };
      const place: Place = { runtime, dir, program, bundle, pace, stop: stop.signal };
      offerProgram(place);
      report(await visitAll(place));
    } finally {
      await runtime.stop();
    }
  } finally {
    rmSync(dir, { recursive: true });
  }
}

async function visitAll(place: Place): Promise<Visits> {
  const visits = new Map<Scenario, Visit[]>(
    [...BESIDE_NEIGHBOURS, ...BUSY_DISK, ...OWN_THREADS].map((each) => [each, []]),
  );
  for (let round = 0; round < rounds; round++) {
    console.log(`round ${round + 1} of ${rounds}`);
    const order = [...visits.keys()];
    if (round % 2 === 1) order.reverse();
    for (const scenario of order) {
      stop.signal.throwIfAborted();
      visits.get(scenario)!.push(await visit(place, scenario));
    }
  }
  return visits;
}

function report(visits: Visits): void {
  const those = (scenarios: readonly Scenario[]): Visits => new Map(scenarios.map((each) => [each, visits.get(each)!]));
  const whole = 1e6 / REQUEST_US;
  console.log(`\nBeside neighbours\n\n${neighboursTable(those(BESIDE_NEIGHBOURS), whole)}`);
  console.log(`\nBeside neighbours and a busy disk\n\n${interruptsTable(those(BUSY_DISK), whole)}`);
  console.log(`\nWith a second thread of its own that never sleeps\n\n${ownThreadsTable(those(OWN_THREADS))}`);
  const steered = visits.get(BUSY_DISK.at(-1)!)!;
  const frequent = listFrequent(steered);
  const outside = median(visits.get(BESIDE_NEIGHBOURS.find(({ isPinned }) => isPinned)!)!.map((each) => each.outside));
  const unmovable = [...new Set(steered.flatMap((each) => each.unmovable))];
  console.log(
    [
      '',
      `Interrupts that came to the CPU of the service though steered: ${frequent.join(', ') || 'none'}.`,
      `Those that the kernel refuses to move: ${unmovable.join(', ') || 'none'}.`,
      'Not in these figures: what neighbours take of caches and memory bandwidth (no unit of work touches memory) and of the other thread of a core.',
      'The last two rows tell how quiet the machine was: programs of the host may run on the CPU of the service too, where nothing keeps them off.',
      ...(outside > QUIET_CPUS
        ? [`It was not: they took ${(outside * 100).toFixed(0)} % of its CPU. Measure again in a quiet time.`]
        : []),
    ].join('\n'),
  );
}

main().catch((error: unknown) => {
  if (stop.signal.aborted) console.error((stop.signal.reason as Error).message);
  if (!stop.signal.aborted || String(error).includes('left behind')) console.error(error);
  process.exitCode = 1;
});
