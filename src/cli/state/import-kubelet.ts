import { readFileSync } from 'node:fs';

import { demand } from '../../app/demand';
import { CpuSet } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import type { Assignment } from '../../core/model/assignment';
import { acquireHostLock } from '../../host';
import { inspectState, openStateStore } from '../../state';
import {
  assignmentsFromKubelet,
  formatKubeletContent,
  parseKubeletState,
  type NotTaken,
  type ParsedKubeletState,
} from '../../state/kubelet-checkpoint';
import { UsageError, write, type CliContext, type ExitStatus } from '../context';
import { formatTable } from '../format/table';

interface ImportOptions {
  readonly stateDir: string;
  readonly output: 'table' | 'json';
  readonly dryRun: boolean;
}

type Accepted = Extract<ParsedKubeletState, { readonly ok: true }>;

/**
 * Takes the kubelet's exclusive CPUs over, as CPUs that wait in their pods: the daemon gives them to their containers when
 * the runtime tells it of them, and takes back what belongs to pods that are gone. So nobody moves.
 */
export async function importKubelet(
  file: string,
  { stateDir, output, dryRun }: ImportOptions,
  { stdout, stderr, version }: CliContext,
): Promise<ExitStatus> {
  const parsed = parseKubeletState(read(file));
  if (!parsed.ok) {
    stderr.write(`cpusetd: ${file}: ${parsed.because}; the kubelet refuses this file too\n`);
    return 1;
  }
  const { taken, notTaken } = dryRun && parsed.format === 'v1' ? NOTHING : takeOver(parsed, file);
  if (!dryRun) save(taken, { stateDir, version });
  await write(stdout, output === 'json' ? `${formatContent(parsed)}\n` : formatOutcome({ taken, notTaken }));
  return 0;
}

const NOTHING: Outcome = { taken: [], notTaken: [] };

interface Outcome {
  readonly taken: readonly Assignment[];
  readonly notTaken: readonly NotTaken[];
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new UsageError(`${file}: can't be read (${code}); check the path`);
  }
}

function takeOver(parsed: Accepted, file: string): Outcome {
  if (parsed.format === 'v1') {
    throw fault(
      `${file}: format v1 names containers by their ids only; let a kubelet of 1.18 or newer rewrite it first`,
    );
  }
  const { assignments, notTaken } = assignmentsFromKubelet(parsed.state, {
    find: () => ({ podNamespace: '', podName: '', containerId: null }),
    rules: { policy: parsed.state.policyName, options: [], reserved: CpuSet.empty },
    since: new Date().toISOString(),
  });
  // Containers of one pod may overlap: an app container has CPUs of an init container that has ended. Who gets only a
  // part here is left to the daemon, which sees where it runs.
  const isWhole = ({ cpus, requested }: Assignment): boolean => cpus.size === requested;
  const parts = assignments
    .filter((assignment) => !isWhole(assignment))
    .map(({ podUid, containerName, cpus }) => ({
      podUid,
      containerName,
      cpus: cpus.toString(),
      because: 'another container of its pod has a part of its CPUs; settled when the runtime tells which of them runs',
    }));
  return { taken: assignments.filter(isWhole), notTaken: [...notTaken, ...parts] };
}

/** Throws CpusetdError when the daemon runs, or something is remembered already. */
function save(
  taken: readonly Assignment[],
  { stateDir, version }: { readonly stateDir: string; readonly version: string },
): void {
  const outcome = demand(() => acquireHostLock(`${stateDir}/lock`));
  if (outcome.kind === 'held') throw fault(`cpusetd is running: ${outcome.because}`);
  try {
    const found = inspectState({ dir: stateDir });
    const isNew = found.kind === 'none' || ('state' in found && found.state.assignments.length === 0);
    if (!isNew) {
      throw fault(
        `${stateDir}: cpusetd has a state of its own there; import only where a node moves over, into an empty --state-dir`,
      );
    }
    const opened = openStateStore({ dir: stateDir, version });
    if (!opened.ok) throw fault(opened.because);
    const generation = 'state' in found ? found.state.generation + 1 : 1;
    const saved = opened.store.save({ generation, assignments: taken });
    if (!saved.ok) throw fault(saved.because);
  } finally {
    outcome.lock.release();
  }
}

function fault(message: string): CpusetdError {
  return new CpusetdError('FAILED_PRECONDITION', message);
}

/** `policyName`, `defaultCpuSet`, `entries` and `podEntries`, the last two unless empty. */
function formatContent(parsed: Accepted): string {
  if (parsed.format !== 'v1') return formatKubeletContent(parsed.state);
  const { policyName, defaultCpuSet, entries } = parsed.state;
  return JSON.stringify({
    policyName,
    defaultCpuSet,
    ...(entries.size > 0 && { entries: Object.fromEntries(entries) }),
  });
}

function formatOutcome({ taken, notTaken }: Outcome): string {
  const rows = [
    ...taken.map(({ podUid, containerName, cpus }) => [podUid, containerName, cpus.toString(), 'taken over']),
    ...notTaken.map(({ podUid, containerName, cpus, because }) => [
      podUid,
      containerName ?? '(pod)',
      cpus,
      `left: ${because}`,
    ]),
  ];
  return rows.length === 0
    ? 'No exclusive CPUs in it.\n'
    : formatTable(['POD UID', 'CONTAINER', 'CPUS', 'OUTCOME'], rows);
}
