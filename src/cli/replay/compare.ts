import { loadConfig, nameOf, OPTION_KEYS } from '../../app/config';
import { toSettings } from '../../app/config/settings';
import { CpuSet } from '../../core/cpuset';
import type { Settings } from '../../core/model/settings';
import { machineOf, type Topology } from '../../core/topology';
import type { JournalRecord } from '../../state/journal';
import { UsageError } from '../context';
import { readMachine } from '../machine/read-machine';
import type { Comparison } from './format-replay';
import { readHistory, type History, type Input } from './read-inputs';
import { decidesPlacement } from './recorded-options';
import { replay, type Replay } from './replay';

export interface Variant {
  /** Options of `cpusetd run`, by their names without dashes. */
  readonly overrides: ReadonlyMap<string, string>;
  /** `live`, or a file. */
  readonly topology: string | undefined;
}

/**
 * Replays a journal as it was, and with the variant. `countUnreadable`: lines so far that were no records. Throws
 * UsageError for options that can't be.
 */
export async function compare(
  records: AsyncIterable<JournalRecord>,
  { overrides, topology }: Variant,
  countUnreadable?: () => number,
): Promise<Comparison> {
  const machine = topology === undefined ? undefined : readMachine(topology);
  const history = await readHistory(records, countUnreadable);
  const varied = await readAllRules(history, overrides);
  const before = await replayAsRecorded(history);
  if (overrides.size === 0 && !machine) return { history, before, after: before, changes: [] };
  const after = replay(history, {
    settingsFor: (settings, on) => varied.get(settings)!(on),
    ...(machine && { topology: machine }),
    isAsRecorded: false,
  });
  const changes = [
    ...[...overrides].map(([name, text]) => `${name}=${text}`),
    ...(topology === undefined ? [] : [topology === 'live' ? 'this machine' : `the machine of ${topology}`]),
  ];
  return { history, before, after, changes };
}

/** Replays a journal with the recorded options, on the recorded machine. */
export async function replayAsRecorded(history: History): Promise<Replay> {
  const recorded = await readAllRules(history, new Map());
  return replay(history, { settingsFor: (settings, on) => recorded.get(settings)!(on), isAsRecorded: true });
}

async function readAllRules(
  { inputs }: History,
  overrides: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<RecordedRules, Rules>> {
  const rules = new Map<RecordedRules, Rules>();
  for (const input of inputs) if (input.kind === 'settings') rules.set(input, await readRules(input, overrides));
  return rules;
}

type RecordedRules = Extract<Input, { kind: 'settings' }>;
type Rules = (topology: Topology) => Settings;

async function readRules(
  { options, reserved, topology: recorded }: RecordedRules,
  overrides: ReadonlyMap<string, string>,
): Promise<Rules> {
  for (const name of overrides.keys()) {
    const remedy = 'set one that decides placements, such as cpu-manager-policy';
    if (!OPTION_KEYS.some((key) => nameOf(key) === name))
      throw new UsageError(`--set ${name}: is no option; ${remedy}`);
    if (!decidesPlacement(name)) throw new UsageError(`--set ${name}: decides no placement; ${remedy}`);
  }
  const chosen = new Map(Object.entries(options).filter(([name]) => decidesPlacement(name)));
  const isReservedAnew = overrides.has('reserved-cpus') || overrides.has('reserved-cpu-count');
  for (const name of ['reserved-cpus', 'reserved-cpu-count']) chosen.delete(name);
  // The CPUs themselves are recorded: a count chose them on the machine of the start, or they are the kubelet's.
  if (!isReservedAnew && !reserved.isEmpty) chosen.set('reserved-cpus', reserved.toString());
  for (const [name, text] of overrides) chosen.set(name, text);
  const flags = Object.fromEntries([...chosen].map(([name, text]) => [name, [text]]));
  const loaded = await loadConfig({ flags, env: {} });
  if (!loaded.ok) throw new UsageError(...loaded.problems);
  const { config } = loaded;
  return (topology) => {
    if (isReservedAnew || reserved.isEmpty) return toSettings(config, topology);
    // A smaller machine lacks some of the CPUs that were reserved on the recorded one.
    const kept = reserved.intersect(machineOf(topology).online);
    const reservedCpus = kept.isEmpty ? CpuSet.of([topology.online.first!]) : kept;
    const settings = toSettings({ ...config, reservedCpus }, topology);
    return topology === recorded ? { ...settings, reserved } : settings; // some of them may have been offline
  };
}
