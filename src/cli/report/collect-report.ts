import { join } from 'node:path';
import type { Config, OptionsInForce } from '../../app/config';
import type { Topology } from '../../core/topology';
import { listCpusets, listSysfsFiles, readTopology } from '../../host';
import { describeMachine } from '../../state/journal';
import { collectFacts, type Roots } from '../check/collect-facts';
import { judgeFacts } from '../check/judge-facts';
import { askDaemon } from './daemon';
import { readKernel, readStat } from './kernel';
import { readKubelet } from './kubelet';
import type { Collected, Part } from './part';
import { listStateFiles, readDocument, listJournalFiles, verifyState } from './state-dir';

/** Largest part of a report that the journal may have. */
const MAX_JOURNAL_BYTES = 16 * 1024 * 1024;
const MAX_CGROUPS = 4_000;

/** The options that a report is made with. */
export interface ReportedOptions {
  readonly config: Config;
  readonly inForce: OptionsInForce;
  /** The configuration file; absent without one. */
  readonly file?: string;
  /** The faults of the options; `config` has defaults for these. */
  readonly problems: readonly string[];
}

/**
 * Reads what a bug report needs: of the daemon, which may hang or be away, of its state directory and of the node. What
 * can't be had is in `missing`, with the reason. Changes nothing, and takes some seconds at most.
 */
export async function collectReport(options: ReportedOptions, roots: Roots, answerMs?: number): Promise<Collected> {
  const { config } = options;
  const { stateDir, adminSocket, sysfsRoot, cgroupRoot } = config;
  const journal = await collect('journal', () => listJournalFiles(join(stateDir, 'journal'), MAX_JOURNAL_BYTES));
  const all = await Promise.all([
    collect('daemon', () => askDaemon(adminSocket, answerMs)),
    collect('check.json', async () => {
      const facts = await collectFacts(config, roots);
      return { name: 'check.json', data: { findings: judgeFacts(facts), facts } };
    }),
    collect('options.json', () => describeOptions(options, journal.parts)),
    collect('state/files.json', () => listStateFiles(stateDir)),
    collect('state/verify.json', () => verifyState(stateDir)),
    collect('state/state.json', () => readDocument(stateDir, 'state.json')),
    collect('state/refusals.json', () => readDocument(stateDir, 'refusals.json')),
    collect('machine.json', () => describeTopology(readTopology({ sysfsRoot }))),
    collect('sysfs.json', () => ({ name: 'sysfs.json', data: listSysfsFiles(sysfsRoot) })),
    collect('kernel.json', () => readKernel(roots)),
    collect('proc-stat.txt', () => readStat(roots.procRoot)),
    collect('kubelet.json', () => readKubelet(config)),
    collect('cgroups.json', () => describeCgroups(cgroupRoot)),
  ]);
  // The journal comes last: it goes first when the report becomes too large.
  const found = [...all, journal];
  return { parts: found.flatMap(({ parts }) => parts), missing: found.flatMap(({ missing }) => missing) };
}

/** A part that can't be collected does not keep the others from the report. */
async function collect(name: string, work: () => Part | Collected | Promise<Part | Collected>): Promise<Collected> {
  try {
    const found = await work();
    return 'parts' in found ? found : { parts: [found], missing: [] };
  } catch (error) {
    const because = error instanceof Error ? error.message : String(error);
    return { parts: [], missing: [{ name, because }] };
  }
}

function describeCgroups(cgroupRoot: string): Collected {
  const { cgroups, isCut } = listCpusets(cgroupRoot, MAX_CGROUPS);
  const name = 'cgroups.json';
  const missing = isCut ? [{ name, because: `only the first ${MAX_CGROUPS} cgroups are in it` }] : [];
  return { parts: [{ name, data: cgroups }], missing };
}

/**
 * The options that this command has, what is wrong with them, and those that the daemon started with, from its journal.
 */
function describeOptions({ inForce, file, problems }: ReportedOptions, journal: readonly Part[]): Part {
  const here = { ...inForce, ...(file !== undefined && { file }), problems };
  return { name: 'options.json', data: { here, daemon: findSettings(journal) ?? 'not in the journal' } };
}

function findSettings(journal: readonly Part[]): object | undefined {
  for (const part of journal) {
    if (!('lines' in part)) continue;
    const line = part
      .lines()
      .split('\n')
      .findLast((each) => each.includes('"options":'));
    if (line === undefined) continue;
    try {
      const { at, version, options, setAt } = JSON.parse(line) as Readonly<Record<string, unknown>>;
      return { at, version, options, setAt };
    } catch {
      continue;
    }
  }
  return undefined;
}

/** For `--topology` and `--topologies` of other commands, and as records of the journal have it, with memory. */
function describeTopology(topology: Topology): Collected {
  const cpus = topology.cpus.map(({ id, core, socket, numaNode, uncoreCache }) => [
    id,
    core,
    socket,
    numaNode,
    uncoreCache,
  ]);
  return {
    parts: [
      { name: 'topology.jsonl', lines: () => JSON.stringify({ name: 'machine', cpus }) },
      { name: 'machine.json', data: describeMachine(topology) },
    ],
    missing: [],
  };
}
