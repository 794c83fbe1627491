import { listOffered, loadConfig, nameOf } from '../../app/config';
import { toSettings } from '../../app/config/settings';
import { parseCpuList } from '../../core/cpuset';
import type { Settings } from '../../core/model/settings';
import type { Topology } from '../../core/topology';
import type { JournalRecord } from '../../state/journal';
import { UsageError } from '../context';
import { readMachine } from '../machine/read-machine';
import type { Comparison } from './format-replay';
import { readHistory, type OptionTexts } from './read-inputs';
import { replay } from './replay';

export interface Variant {
  /** Options of `cpusetd run`, by their names without dashes. */
  readonly overrides: ReadonlyMap<string, string>;
  /** `live`, or a file. */
  readonly topology: string | undefined;
}

/** Replays a journal as it was, and with the variant. Throws UsageError for options that can't be. */
export async function compare(
  records: AsyncIterable<JournalRecord>,
  { overrides, topology }: Variant,
): Promise<Comparison> {
  const machine = topology === undefined ? undefined : readMachine(topology);
  const history = await readHistory(records);
  const loaded = new Map<OptionTexts, (topology: Topology) => Settings>();
  const varied = new Map<OptionTexts, (topology: Topology) => Settings>();
  for (const input of history.inputs) {
    if (input.of !== 'settings' || loaded.has(input.options)) continue;
    loaded.set(input.options, await readRules(input.options, new Map()));
    varied.set(input.options, await readRules(input.options, overrides));
  }
  const before = replay(history, { settingsFor: (of, on) => loaded.get(of)!(on), keepsCpus: true });
  if (overrides.size === 0 && !machine) return { history, before, after: before };
  const after = replay(history, {
    settingsFor: (of, on) => varied.get(of)!(on),
    ...(machine && { topology: machine }),
    keepsCpus: false,
  });
  return { history, before, after };
}

/** Options that decide nothing here, and whose files and sockets may not exist. */
const PLACEMENT =
  /^(?:cpu-manager-|pod-policies|reserved-|min-shared-|on-insufficient-|lift-|memory-nodes|topology-manager-)/;

async function readRules(
  recorded: OptionTexts,
  overrides: ReadonlyMap<string, string>,
): Promise<(topology: Topology) => Settings> {
  for (const name of overrides.keys()) {
    const remedy = 'set one that decides placements, such as cpu-manager-policy';
    if (!listOffered().some((key) => nameOf(key) === name))
      throw new UsageError(`--set ${name}: is no option; ${remedy}`);
    if (!PLACEMENT.test(name)) throw new UsageError(`--set ${name}: decides no placement; ${remedy}`);
  }
  const chosen = new Map(Object.entries(recorded).filter(([name]) => PLACEMENT.test(name)));
  for (const [name, text] of overrides) chosen.set(name, text);
  // One replaces the other.
  if (overrides.has('reserved-cpus')) chosen.delete('reserved-cpu-count');
  if (overrides.has('reserved-cpu-count')) chosen.delete('reserved-cpus');
  const flags = Object.fromEntries([...chosen].map(([name, text]) => [name, [text]]));
  const loaded = await loadConfig({ flags, env: {} });
  if (!loaded.ok) throw new UsageError(...loaded.problems);
  return (topology) => {
    const { reservedCpus } = loaded.config;
    const list = overrides.get('reserved-cpus');
    // A smaller machine lacks some of the CPUs that were reserved on the recorded one.
    const kept = reservedCpus && list === undefined ? reservedCpus.intersect(topology.online) : reservedCpus;
    const reserved = kept?.isEmpty ? parseCpuList(String(topology.online.first)) : kept;
    return toSettings({ ...loaded.config, reservedCpus: reserved }, topology);
  };
}
