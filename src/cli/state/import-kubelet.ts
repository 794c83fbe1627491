import { basename } from 'node:path';

import { CpuSet } from '../../core/cpuset';
import { CpusetdError, toErrorStatus } from '../../core/errors';
import type { Assignment } from '../../core/model/assignment';
import { escapeJson } from '../../core/show-text';
import { acquireHostLock, HostError, readOnline, readTopology } from '../../host';
import { readBounded } from '../../files/read-bounded';
import { inspectState, openStateStore } from '../../state';
import {
  assignmentsFromKubelet,
  checkKubeletState,
  checkKubeletStateV1,
  formatKubeletContent,
  isOfCraneAgent,
  MAX_KUBELET_STATE_BYTES,
  parseKubeletState,
  nameContainers,
  type KubeletState,
  type KubeletStateV1,
  type NotTaken,
  type ParsedKubeletState,
} from '../../state/kubelet-checkpoint';
import { complain, UsageError, write, type CliContext, type ExitStatus } from '../context';
import { formatTable } from '../format/table';
import { readDaemonSettings } from '../options/daemon-settings';

interface ImportOptions {
  readonly stateDir: string;
  readonly output: 'table' | 'json';
  readonly dryRun: boolean;
  /** The runtime's CRI socket. */
  readonly criEndpoint: string;
  readonly sysfsRoot: string;
  /** The configuration file of `cpusetd run`, for the reservation. */
  readonly config?: string;
}

type Accepted = Extract<ParsedKubeletState, { readonly ok: true }>;

/**
 * Imports the kubelet's exclusive CPUs as idle CPUs of their pods. The daemon gives them to the containers that the
 * runtime lists, and frees those of pods that are gone, so no container moves. A state with which a kubelet would not
 * start is refused.
 */
export async function importKubelet(file: string, options: ImportOptions, context: CliContext): Promise<ExitStatus> {
  const { stateDir, output, dryRun, criEndpoint } = options;
  const { stdout, stderr, version } = context;
  const parsed = parseKubeletState(read(file));
  if (!parsed.ok) {
    const refused =
      parsed.problem === 'too-large'
        ? ''
        : '; the kubelet refuses this file too: name the cpu_manager_state of a kubelet, or delete it and let the kubelet write it anew';
    complain(stderr, `${file}: ${parsed.because}${refused}`);
    return 1;
  }
  const problems = await check(file, parsed, options, context);
  complain(stderr, ...problems.map((problem) => `${file}: ${problem}`));
  if (dryRun && output === 'json') {
    // The content of a file that would be refused is printed, too; exit status and standard error report the refusal.
    await write(stdout, `${escapeJson(formatContent(parsed))}\n`);
    if (hasNothing(parsed)) complain(stderr, `${file}: ${NOTHING}`);
    return problems.length > 0 ? 1 : 0;
  }
  if (problems.length > 0) {
    complain(stderr, `${file}: nothing of it is imported`);
    return 1;
  }
  if (hasNothing(parsed)) {
    complain(stderr, `${file}: ${NOTHING}`);
    if (output === 'json') await write(stdout, `${escapeJson(formatContent(parsed))}\n`);
    return 0;
  }
  const { taken, notTaken } =
    parsed.format !== 'v1'
      ? takeOver(parsed.state)
      : dryRun
        ? leaveUnnamed(parsed.state)
        : takeOver(await nameThem(parsed.state, { file, criEndpoint }));
  if (!dryRun) save(taken, { stateDir, version });
  await write(
    stdout,
    output === 'json' ? `${escapeJson(formatContent(parsed))}\n` : formatOutcome({ taken, notTaken }),
  );
  return 0;
}

/** The reasons why the file can't be imported; empty when it can. */
async function check(
  file: string,
  parsed: Accepted,
  { dryRun, output, sysfsRoot, config }: ImportOptions,
  { env }: CliContext,
): Promise<readonly string[]> {
  if (isOfCraneAgent(basename(file), parsed.state)) return [OF_CRANE_AGENT];
  try {
    const online = readOnline(sysfsRoot);
    const reservation = config === undefined ? undefined : await readReservation(config, sysfsRoot, env);
    const machine = { online, ...(reservation && { reservation }) };
    return parsed.format === 'v1'
      ? checkKubeletStateV1(parsed.state, machine)
      : checkKubeletState(parsed.state, machine);
  } catch (error) {
    // The content of the file can be printed on any machine.
    if (dryRun && output === 'json' && (error instanceof CpusetdError || error instanceof HostError))
      return [error.message];
    throw error;
  }
}

/** True for an accepted file without entries, as under the policy none. */
function hasNothing({ state }: Accepted): boolean {
  return state.policyName === 'none';
}

const NOTHING =
  'there is nothing to import: its policyName is "none", so this kubelet gave no container CPUs of its own; start cpusetd without an import';

const OF_CRANE_AGENT =
  "this is a state of crane-agent's CPU manager, not of a kubelet: it does not say which policy a pod has, and its entries of numa " +
  'and immovable pods are in the shared pool too; nothing of it is needed: stop crane-agent and start cpusetd with --pod-policies, ' +
  'which leaves containers on the CPUs that they have (docs/crane.md)';

interface Outcome {
  readonly taken: readonly Assignment[];
  readonly notTaken: readonly NotTaken[];
}

function read(file: string): string {
  const found = readBounded(file, MAX_KUBELET_STATE_BYTES);
  if (found.ok) return found.text;
  throw new UsageError(`${file}: ${found.because}; name the cpu_manager_state of a kubelet`);
}

/** A dry run only reads the file and calls no runtime. */
function leaveUnnamed({ entries }: KubeletStateV1): Outcome {
  const because = 'format v1 has its id only; the import asks the runtime whose it is';
  const notTaken = [...entries].map(([id, cpus]) => ({ podUid: '(unknown)', containerName: id, cpus, because }));
  return { taken: [], notTaken };
}

/** Format v1 has only container ids; the runtime's list has their pods, as for a kubelet. */
async function nameThem(
  state: KubeletStateV1,
  { file, criEndpoint }: { readonly file: string; readonly criEndpoint: string },
): Promise<KubeletState> {
  if (state.entries.size === 0) return nameContainers(state, new Map());
  const { createCriClient } = await import('../../cri/client');
  const client = createCriClient(criEndpoint);
  try {
    const options = { timeoutMs: LIST_TIMEOUT_MS };
    const containers = await client.listContainers(options);
    const uidOf = new Map((await client.listPods(options)).map(({ sandboxId, uid }) => [sandboxId, uid]));
    const known = containers.flatMap(({ id, sandboxId, name }) => {
      const podUid = uidOf.get(sandboxId);
      return podUid === undefined ? [] : [[id, { podUid, containerName: name }] as const];
    });
    return nameContainers(state, new Map(known));
  } catch (error) {
    throw fault(
      `${file}: format v1 names containers by their ids only, and the runtime at ${criEndpoint} could not be asked whose they are ` +
        `(${toErrorStatus(error).message}); start the runtime, or name its socket with --cri-endpoint`,
    );
  } finally {
    client.close();
  }
}

const LIST_TIMEOUT_MS = 10_000;

function takeOver(state: KubeletState): Outcome {
  const { assignments, notTaken } = assignmentsFromKubelet(state, {
    find: () => ({ podNamespace: '', podName: '', containerId: null }),
    rules: { policy: 'static', options: [], reserved: CpuSet.empty },
    since: new Date().toISOString(),
  });
  // Containers of one pod may overlap: an app container gets CPUs of an init container that has ended. The daemon
  // decides on a container that gets only a part here, since it reads where the container runs.
  const isWhole = ({ cpus, requested }: Assignment): boolean => cpus.size === requested;
  const parts = assignments
    .filter((assignment) => !isWhole(assignment))
    .map(({ podUid, containerName, cpus }) => ({
      podUid,
      containerName,
      cpus: cpus.toString(),
      because: 'another container of its pod has a part of its CPUs; settled when the runtime says which of them runs',
    }));
  return { taken: assignments.filter(isWhole), notTaken: [...notTaken, ...parts] };
}

/** Throws CpusetdError when the daemon runs, or has saved a state already. */
function save(
  taken: readonly Assignment[],
  { stateDir, version }: { readonly stateDir: string; readonly version: string },
): void {
  const outcome = acquireHostLock(`${stateDir}/lock`);
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

async function readReservation(
  file: string,
  sysfsRoot: string,
  env: CliContext['env'],
): Promise<{ readonly cpus: CpuSet; readonly strict: boolean }> {
  const { options, reserved } = await readDaemonSettings(file, readTopology({ sysfsRoot }), env);
  return { cpus: reserved, strict: options.strictCpuReservation };
}
