import { join } from 'node:path';

import { CpuSet } from '../../core/cpuset';
import { CpusetdError } from '../../core/errors';
import type { Assignment } from '../../core/model/assignment';
import { KINDS } from '../../core/model/pool-view';
import { readOnline, readTopology } from '../../host';
import { inspectState } from '../../state';
import { formatKubeletState, toKubeletState } from '../../state/kubelet-checkpoint';
import { write, type CliContext } from '../context';
import { readDaemonSettings } from '../options/daemon-settings';

/**
 * Prints the checkpoint with which a kubelet with the static policy leaves all containers on their CPUs. Throws
 * CpusetdError when there is no usable state.
 */
export async function exportKubelet(
  {
    stateDir,
    format,
    sysfsRoot,
    config,
  }: {
    readonly stateDir: string;
    readonly format: 'v2' | 'v3' | 'v4';
    readonly sysfsRoot: string;
    /** The configuration file of `cpusetd run`. */
    readonly config?: string;
  },
  { stdout, env }: CliContext,
): Promise<void> {
  const found = inspectState({ dir: stateDir });
  if (!('state' in found)) {
    const file = join(stateDir, 'state.json');
    const because =
      found.kind === 'none' ? 'there is no state' : found.kind === 'failed' ? found.because : found.problem.because;
    const remedy =
      found.kind === 'none'
        ? '; name the --state-dir of cpusetd run'
        : '; cpusetd state verify shows what a start does';
    throw new CpusetdError(
      'FAILED_PRECONDITION',
      `${because.includes(file) ? '' : `${file}: `}${because}; nothing to export${remedy}`,
    );
  }
  const { assignments } = found.state;
  const exclusive = CpuSet.unionOf(
    assignments.filter(({ kind }) => KINDS[kind].claim === 'exclusive').map(({ cpus }) => cpus),
  );
  const online = readOnline(sysfsRoot);
  const strict =
    config === undefined ? strictlyReserved(assignments) : await readStrictReservation(config, sysfsRoot, env);
  const defaultCpuSet = online.minus(exclusive).minus(strict);
  await write(stdout, formatKubeletState(toKubeletState(assignments, { policyName: 'static', defaultCpuSet }), format));
}

/** The reservation of cpusetd, if it is strict. */
async function readStrictReservation(file: string, sysfsRoot: string, env: CliContext['env']): Promise<CpuSet> {
  const { options, reserved } = await readDaemonSettings(file, readTopology({ sysfsRoot }), env);
  return options.strictCpuReservation ? reserved : CpuSet.empty;
}

/**
 * Without settings, the newest assignment has the rules. Under strict-cpu-reservation the kubelet's pool has no
 * reserved CPUs.
 */
function strictlyReserved(assignments: readonly Assignment[]): CpuSet {
  const newest = [...assignments].sort((a, b) => (a.since < b.since ? 1 : -1))[0];
  return newest?.rules.options.includes('strict-cpu-reservation') ? newest.rules.reserved : CpuSet.empty;
}
