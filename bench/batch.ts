/**
 * Cost of one line of `cpusetd allocate --batch`, JSON in and out included, beside the kubelet's routine in Go.
 *
 * Method: the bundle answers many lines about one machine, and none, in turns, and in turns with a process of Node that
 * only parses the same lines and prints them. Processor time of the whole process (all threads): the difference between
 * many lines and none is what a line costs when the start is paid; "with its start" is all of a run of 2,000 lines,
 * divided by them. The kubelet's own code allocates the same in the same run, by its own clock. Compare factors, and
 * with `--before` both bundles.
 *
 * Arguments: --quick, --bundle FILE, --before FILE.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { projectRoot } from '../test/e2e/rig/project-root';
import type { CpuRow } from '../test/conformance/scenarios/scenario';
import { KubeletClock } from './kubelet/kubelet-clock';
import { readArguments } from './nri/arguments';
import { takeBundle } from './nri/daemon';
import { median, printMachine, printTable } from './nri/figures';

const { quick, bundle, before } = readArguments();
const ROUNDS = quick ? 1 : 7;
const SOME = quick ? 200 : 2_000;
const MANY = quick ? 1_000 : 20_000;
const TOPOLOGIES = join(projectRoot(), 'test/fixtures/vectors/topologies.jsonl');
const CASES = [
  { cpus: 384, topology: 'amd-s2c96t2' },
  { cpus: 1024, topology: 'big-s8c64t2' },
];
const COUNT = 16;

/** Prints every line of the file again, parsed and written: the least that JSON lines cost in Node. */
const ECHO = `
const { createReadStream } = require('node:fs');
(async () => {
  let rest = '';
  for await (const piece of createReadStream(process.argv[2], 'utf8')) {
    const lines = (rest + piece).split('\\n');
    rest = lines.pop();
    process.stdout.write(lines.map((line) => JSON.stringify(JSON.parse(line)) + '\\n').join(''));
  }
})();
`;
const TELL_CPU_TIME = `
process.on('exit', () => {
  const { user, system } = process.cpuUsage();
  require('node:fs').writeFileSync(process.env.BENCH_CPU_FILE, String(user + system));
});
`;

const dir = mkdtempSync(join(tmpdir(), 'batch-'));
const devNull = openSync('/dev/null', 'w');

function write(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

/** Processor time of the process, in µs. */
function costOf(args: readonly string[]): number {
  const file = join(dir, 'cpu');
  const { status } = spawnSync(process.execPath, ['-r', join(dir, 'tell.cjs'), ...args], {
    stdio: ['ignore', devNull, 'inherit'],
    env: { ...process.env, BENCH_CPU_FILE: file },
  });
  if (status !== 0) throw new Error(`${args.join(' ')}: exit ${status}`);
  return Number(readFileSync(file, 'utf8'));
}

function makeLines(count: number, { cpus, topology }: (typeof CASES)[number]): string {
  const how = { topology, algorithm: 'packed', strategy: 'packed', available: `0-${cpus - 1}`, numCPUs: COUNT };
  return Array.from({ length: count }, (_, id) => `${JSON.stringify({ id, ...how })}\n`).join('');
}

/** µs of the kubelet for the allocation of a line. */
async function timeKubelet({ cpus, topology }: (typeof CASES)[number]): Promise<number> {
  const rows = readFileSync(TOPOLOGIES, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { readonly name: string; readonly cpus: readonly CpuRow[] });
  const clock = KubeletClock.start();
  const machine = rows.find(({ name }) => name === topology)!;
  const ns = await clock.medianNs({ cpus: machine.cpus, options: {}, available: `0-${cpus - 1}`, count: COUNT });
  await clock.stop();
  if (ns === undefined) throw new Error(`the kubelet does not allocate ${COUNT} CPUs of ${topology}`);
  return ns / 1000;
}

async function main(): Promise<void> {
  printMachine();
  write('tell.cjs', TELL_CPU_TIME);
  const bundles: [string, string][] = [['cpusetd', takeBundle(dir, bundle)]];
  if (before !== undefined) bundles.push(['cpusetd, before', takeBundle(mkdtempSync(join(dir, 'before-')), before)]);
  const allocate = (file: string) => (lines: string) => [
    ...[file, 'allocate', '--batch', lines],
    ...['--topologies', TOPOLOGIES],
  ];
  const echo = write('echo.cjs', ECHO);
  const ways = new Map<string, (lines: string) => readonly string[]>([
    ...bundles.map(([name, file]) => [name, allocate(file)] as const),
    ['parsed and printed again', (lines) => [echo, lines]],
  ]);
  const none = write('none.jsonl', '');
  for (const each of CASES) {
    const kubeletUs = await timeKubelet(each);
    const [some, many] = [write('some.jsonl', makeLines(SOME, each)), write('many.jsonl', makeLines(MANY, each))];
    const times = new Map<string, Record<'none' | 'some' | 'many', number[]>>();
    for (const name of ways.keys()) times.set(name, { none: [], some: [], many: [] });
    for (let round = 0; round < ROUNDS; round++) {
      const inTurn = round % 2 === 0 ? [...ways] : [...ways].reverse();
      for (const [name, argsFor] of inTurn) {
        const own = times.get(name)!;
        own.none.push(costOf(argsFor(none)));
        own.some.push(costOf(argsFor(some)));
        own.many.push(costOf(argsFor(many)));
      }
    }
    const rows = [...times].map(([name, { none, some, many }]) => {
      const lineUs = (median(many) - median(none)) / MANY;
      const withStartUs = median(some) / SOME;
      const isOurs = name.startsWith('cpusetd');
      return [
        name,
        {
          'a line, µs': lineUs,
          'kubelet, µs': isOurs ? kubeletUs : '',
          'times faster than the kubelet': isOurs ? kubeletUs / lineUs : '',
          [`of ${SOME} with its start, µs`]: withStartUs,
          'so many times faster': isOurs ? kubeletUs / withStartUs : '',
          'start, ms': median(none) / 1000,
        },
      ] as const;
    });
    printTable(`16 CPUs of ${each.cpus}, all free; processor time`, Object.fromEntries(rows));
  }
}

void main().finally(() => rmSync(dir, { recursive: true }));
