import { join } from 'node:path';

import { showText } from '../../core/show-text';
import { inspectState, STATE_VERSION, type InspectedState, type State } from '../../state';
import { complain, write, type CliContext, type ExitStatus } from '../context';
import { formatData, type DataFormat } from '../format/data';
import { formatTable, formatTime } from '../format/table';
import { plural } from '../../core/text';

/** Prints the saved state, or on standard error the reason why the file can't be used. */
export async function showState(
  { stateDir, output }: { readonly stateDir: string; readonly output: 'table' | DataFormat },
  { stdout, stderr }: CliContext,
): Promise<ExitStatus> {
  const found = inspectState({ dir: stateDir });
  if (!('state' in found)) {
    const none = `${fileIn(stateDir)}: no such file, so nothing is remembered there; name another --state-dir if it is elsewhere`;
    complain(stderr, problemOf(found, stateDir) ?? none);
    return 1;
  }
  const { state } = found;
  if (output === 'table') await write(stdout, formatState(state));
  else await write(stdout, await formatData(state, output));
  return 0;
}

/** Prints one line: a start can use the state, or the reason why not. */
export function verifyState({ stateDir }: { readonly stateDir: string }, { stdout, stderr }: CliContext): ExitStatus {
  const { use, text } = judgeState(stateDir);
  if (use === 'good') stdout.write(`${showText(text)}\n`);
  else complain(stderr, text);
  return use === 'good' ? 0 : 1;
}

/** The use of the state on disk for a start, and the reason in a sentence. */
export interface StateJudgement {
  /** `rebuilt`: a start sets it aside, and asks the runtime. `refused`: no start until it is put right. */
  readonly use: 'good' | 'rebuilt' | 'refused';
  readonly text: string;
}

/** Tells if a start can use the state. Changes nothing. */
export function judgeState(stateDir: string): StateJudgement {
  const found = inspectState({ dir: stateDir });
  const problem = problemOf(found, stateDir);
  if (problem === undefined) return { use: 'good', text: `${fileIn(stateDir)}: ${describe(found)}` };
  const isRefused = found.kind === 'failed' || (found.kind === 'problem' && found.problem.kind === 'newer');
  return { use: isRefused ? 'refused' : 'rebuilt', text: problem };
}

function describe(found: InspectedState): string {
  if (found.kind !== 'loaded') return 'there is none yet; a start begins with the containers of the runtime';
  const { writtenBy, generation, assignments } = found.state;
  const summary = `good: ${plural(assignments.length, 'assignment')}, generation ${generation}, written by cpusetd ${writtenBy}`;
  return found.version === STATE_VERSION ? summary : `${summary}; version ${found.version}, a start migrates it`;
}

function problemOf(found: InspectedState, stateDir: string): string | undefined {
  if (found.kind === 'failed') return found.because;
  if (found.kind !== 'problem') return undefined;
  const { kind, because } = found.problem;
  // An error of the file system names the path and the remedy itself.
  if (/ \(E[A-Z]+\)$/.test(because)) return because;
  const remedy =
    kind === 'newer'
      ? ''
      : '; a start sets it aside and rebuilds from the runtime, running containers stay where they are';
  const file = fileIn(stateDir);
  return `${because.startsWith(file) ? '' : `${file}: `}${because}${remedy}`;
}

function fileIn(stateDir: string): string {
  return join(stateDir, 'state.json');
}

function formatState({ assignments }: State): string {
  if (assignments.length === 0) return 'No assignments.\n';
  return formatTable(
    ['POD', 'CONTAINER', 'CPUS', 'MEMS', 'HOLDER', 'SINCE', 'BECAUSE', 'POD UID'],
    assignments.map((assignment) => [
      assignment.podName === '' ? '' : `${assignment.podNamespace}/${assignment.podName}`,
      assignment.containerName,
      assignment.cpus.toString(),
      assignment.mems.toString(),
      assignment.containerId?.slice(0, 13) ?? 'idle',
      formatTime(assignment.since),
      assignment.because,
      assignment.podUid,
    ]),
  );
}
