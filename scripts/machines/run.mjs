// Proves the claims of test/machines in emulated machines, with the bundle dist/cpusetd.js.
//
// node scripts/machines/run.mjs [--only MACHINE,...] [--claim NAME,...] [--all] [--bundle FILE] [--jobs 2] [--docs]
// [--list] [--prepare]
//
// Prints a line at the start of each machine and for each claim, then a table. What was seen is in a file, which it
// names. Ends with 0 when every claim held, 1 when one did not, 2 when no machine can be had here. --all takes in the
// slow machines; --docs writes the tables of test/machines/RESULTS.md and test/machines/last-run.md; --prepare only
// builds the parts of machines that the cache does not have.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { boot, removeAbandonedFolders } from './boot.mjs';
import { makePackages } from './debian-packages.mjs';
import { ensureGuestDisk } from './guest-disk.mjs';
import { findMissingPrerequisite, installHostCommands } from './host.mjs';
import { ensureKernel, kernelOf } from './kernel.mjs';
import { readMachines } from './machine.mjs';
import { bundleInMemory, nodeBundle } from '../shared/bundle.mjs';
import { logToStderr as log } from '../shared/log.mjs';
import { endNotRun, writeResults } from '../test-run/results.mjs';
import { ensureQemu } from './qemu.mjs';
import { countClaims, formatClaim, formatClaims, formatOutcome, formatRecord, updateDocument } from './report.mjs';

/** @import { Kernel, KernelName } from './kernel.mjs' */
/** @import { Machine } from './machine.mjs' */
/** @import { MachineRun } from './report.mjs' */
/** @typedef {Awaited<ReturnType<typeof prepare>>} Parts */

const repository = fileURLToPath(new URL('../..', import.meta.url));
const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true, default: [] },
    claim: { type: 'string', multiple: true, default: [] },
    all: { type: 'boolean', default: false },
    bundle: { type: 'string', default: 'dist/cpusetd.js' },
    jobs: { type: 'string', default: '2' },
    docs: { type: 'boolean', default: false },
    list: { type: 'boolean', default: false },
    prepare: { type: 'boolean', default: false },
  },
});
/** @param {string[]} lists */
const split = (lists) => lists.flatMap((list) => list.split(',')).filter((name) => name !== '');

/** Runs the claims. Their patience is measured in boots of this machine, which are slow on a busy host. */
const guestScript = `read -r up rest < /proc/uptime
patience=$((\${up%.*} * 60))
[ $patience -gt 480 ] || patience=480
CPUSETD_TEST_PATIENCE_MS=\${patience}000 node /in/guest.js > /dev/console 2>&1
`;

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM']) process.once(name, () => stop.abort());

process.exitCode = await main();

async function main() {
  const machines = chooseMachines(split(values.only));
  if (values.list) {
    for (const { name, about, slow } of machines) console.log(`${name.padEnd(24)} ${about}${slow ? ' (slow)' : ''}`);
    return 0;
  }
  const missing = findMissingPrerequisite();
  if (missing !== undefined) endNotRun('claims in emulated machines', missing);
  removeAbandonedFolders();
  const startedAt = Date.now();
  const parts = await prepare(machines);
  log(`ready after ${seconds(Date.now() - startedAt)}: ${machines.length} machines`);
  if (values.prepare) return 0;

  /** @type {MachineRun[]} */
  const runs = [];
  const waiting = [...machines];
  const work = async () => {
    for (let machine = waiting.shift(); machine !== undefined && !stop.signal.aborted; machine = waiting.shift()) {
      console.log(`${machine.name}: boots`);
      const run = await proveIn(machine, parts);
      runs.push(run);
      console.log(`${machine.name}: ${describeEnd(run)}`);
    }
  };
  await Promise.all(Array.from({ length: Number(values.jobs) }, work));
  const counts = countClaims(runs);
  writeResults({ ...counts, notRun: [...counts.notRun, ...listLeftOut(machines)] });
  if (stop.signal.aborted) return 1;

  runs.sort((a, b) => machines.indexOf(a.machine) - machines.indexOf(b.machine));
  const wallMs = Date.now() - startedAt;
  const lines = keepLog('what-machines-saw', `${runs.map(formatOutcome).join('\n')}\n`);
  const shown = runs.filter(({ error, claims }) => error !== undefined || claims.some(({ error: why }) => why));
  for (const run of shown) console.log(formatOutcome(run));
  console.log(`${formatClaims(runs)}\n${machines.length} machines in ${seconds(wallMs)}; what was seen is in ${lines}`);
  const seen = new Set(runs.flatMap(({ claims }) => claims.map(({ claim }) => claim)));
  const unseen = split(values.claim).filter((name) => !seen.has(name));
  if (unseen.length > 0) {
    log(
      `--claim: no machine that ran has "${unseen.join('", "')}"; names are in test/machines/claims, --only chooses machines`,
    );
    return 1;
  }
  if (values.docs) {
    const page = join(repository, 'test/machines/RESULTS.md');
    const run = { runs, wallMs, version: parts.version };
    writeFileSync(page, updateDocument(readFileSync(page, 'utf8'), run));
    writeFileSync(join(repository, 'test/machines/last-run.md'), formatRecord(run));
  }
  return counts.failed === 0 ? 0 : 1;
}

/** @param {MachineRun} run */
function describeEnd({ claims, error, wallMs, cpuMs }) {
  const held = claims.filter(({ outcome }) => outcome.startsWith('holds')).length;
  const rest = error === undefined ? '' : `, not looked at: the rest; ${error}`;
  return `${held} of ${claims.length} claims held, ${seconds(wallMs)} (${seconds(cpuMs)} of CPU)${rest}`;
}

/** @param {Machine[]} machines */
function listLeftOut(machines) {
  const leftOut = readMachines().filter(({ name }) => !machines.some((machine) => machine.name === name));
  return leftOut.map(({ name }) => ({ what: `machine ${name}`, tests: 1, why: '--only or --all would choose it' }));
}

/** @param {string[]} only */
function chooseMachines(only) {
  const all = readMachines();
  const unknown = only.filter((name) => !all.some((machine) => machine.name === name));
  if (unknown.length > 0)
    throw new Error(`no such machine: ${unknown.join(', ')}; there are ${all.map(({ name }) => name).join(', ')}`);
  const chosen = all.filter(({ name, slow }) => (only.length > 0 ? only.includes(name) : values.all || !slow));
  // The slowest first: then both places end at about the same time.
  return chosen.sort((a, b) => b.sockets * b.cores * b.threads - a.sockets * a.cores * a.threads);
}

/**
 * Everything a run needs; parts that the cache does not have are built.
 * @param {Machine[]} machines
 */
async function prepare(machines) {
  installHostCommands(log);
  const qemu = ensureQemu(log);
  const onDisk = { v2: ensureKernel('v2', log), v1: ensureKernel('v1', log) };
  const needsGeneric = machines.some((machine) => kernelOf(machine) === 'generic');
  /** @type {Partial<Record<KernelName, Kernel>>} */
  const kernels = { ...onDisk, ...(needsGeneric && { generic: ensureKernel('generic', log) }) };
  /** @type {Record<string, Awaited<ReturnType<typeof ensureGuestDisk>>>} */
  const disks = {};
  for (const suite of new Set(machines.map((machine) => machine.suite)))
    disks[suite] = await ensureGuestDisk({ suite, kernels: Object.values(onDisk), qemu, log });
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8'));
  const bundle = readBundle();
  const installs = !values.prepare && machines.some(({ init }) => init === 'systemd');
  const packages = installs ? await makePackages(repository, bundle) : {};
  return { qemu, kernels, disks, version, bundle, packages, guest: await bundleGuest() };
}

function readBundle() {
  try {
    return readFileSync(resolve(repository, values.bundle));
  } catch {
    throw new Error(`${values.bundle} is missing: run \`npm run build\` first`);
  }
}

/** Files of deploy/ that a machine with systemd installs, by their names without folders. */
function readServiceFiles() {
  const proxy = ['cpusetd-cri-proxy.service', 'cpusetd-cri-proxy.socket'];
  const files = ['cpusetd.service', 'kubelet.service.d/10-cpusetd.conf', ...proxy, 'etc/cpusetd.yaml'];
  return Object.fromEntries(files.map((file) => [basename(file), readFileSync(join(repository, 'deploy', file))]));
}

function bundleGuest() {
  return bundleInMemory({
    ...nodeBundle,
    absWorkingDir: repository,
    entryPoints: ['test/machines/guest/main.ts'],
    legalComments: 'none',
  });
}

/**
 * Proves the claims in a machine, with one retry, and only when QEMU itself died: any other failure is ours and is
 * reported.
 * @param {Machine} machine
 * @param {Parts} parts
 * @returns {Promise<MachineRun>}
 */
async function proveIn(machine, parts) {
  const first = await tryIn(machine, parts, 1);
  if (!first.died || stop.signal.aborted) return first;
  log(`${machine.name}: ${first.error}; once more`);
  return { ...(await tryIn(machine, parts, 2)), retried: first.error };
}

/**
 * Boots a machine once.
 * @param {Machine} machine
 * @param {Parts} parts
 * @param {number} attempt
 * @returns {Promise<MachineRun>}
 */
async function tryIn(machine, { qemu, kernels, disks, bundle, packages, guest }, attempt) {
  const built = disks[machine.suite];
  if (built === undefined) throw new Error(`no disk of ${machine.suite} was prepared`);
  const { disk, versions } = built;
  const kernel = kernels[kernelOf(machine)];
  if (kernel === undefined) throw new Error(`no kernel of ${machine.name} was prepared`);
  const { status, why, died, results, console, wallMs, cpuMs } = await boot({
    qemu,
    kernel,
    disk: { path: disk },
    machine,
    handIn: {
      'cpusetd.js': bundle,
      'guest.js': guest,
      'machine.json': JSON.stringify({ machine, only: split(values.claim) }),
      'packages.json': JSON.stringify(versions),
      ...(machine.init === 'systemd' && { ...readServiceFiles(), ...packages }),
      'run.sh': guestScript,
    },
    limitMs: machine.limitSeconds * 1000,
    onResult: (line) => {
      for (const event of parseEvent(line))
        if (event.event === 'claim') globalThis.console.log(`${machine.name}: ${formatClaim(event)}`);
    },
    signal: stop.signal,
  });
  const events = results.split('\n').flatMap(parseEvent);
  const claims = events.filter(({ event }) => event === 'claim');
  const ended = events.some(({ event }) => event === 'end');
  const nothing = claims.length === 0 && values.claim.length === 0 ? 'it ran, and no claim was looked at' : undefined;
  const error = ended ? nothing : why || `the claims' runner ended with ${status ?? 'nothing'}`;
  if (error !== undefined || claims.some(({ outcome }) => outcome === 'broken'))
    keepConsole(`${machine.name}-${attempt}`, console);
  return {
    machine,
    versions,
    booted: events.find(({ event }) => event === 'booted'),
    claims,
    died,
    error,
    wallMs,
    cpuMs,
  };
}

/**
 * The event in a line that the machine printed.
 * @param {string} line
 * @returns {any[]} none for a line that is no JSON
 */
function parseEvent(line) {
  try {
    return [JSON.parse(line)];
  } catch {
    return []; // cut off with the machine
  }
}

/**
 * Keeps the output of the machine for the analysis of a broken claim. The next run replaces it.
 * @param {string} name
 * @param {string} text
 */
function keepConsole(name, text) {
  log(`${name}: its console is in ${keepLog(`console-${name}`, text)}`);
}

/**
 * Writes a file beside the logs of all other tests.
 * @param {string} name
 * @param {string} text
 * @returns {string} its path
 */
function keepLog(name, text) {
  const folder = join(repository, 'test-logs');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.log`);
  writeFileSync(file, text);
  return file;
}

/** @param {number} ms */
function seconds(ms) {
  return `${Math.round(ms / 1000)} s`;
}
