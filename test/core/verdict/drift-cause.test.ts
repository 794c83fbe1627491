import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import { DRIFT_CAUSES, explainDrift, type DriftClues } from '../../../src/core/verdict/drift-cause';

interface Row extends Partial<Omit<DriftClues, 'promise' | 'seen' | 'online' | 'parent' | 'recorded'>> {
  readonly found: string;
  readonly effective?: string;
  readonly online?: string;
  readonly parent?: string;
  readonly recorded?: string;
}

const parse = (list: string) => parseCpuList(list);

/** The promise is CPUs 2-3 of a machine with eight. */
function explain({ found, effective, online = '0-7', parent, recorded, ...rest }: Row) {
  return explainDrift({
    promise: { cpus: parse('2-3'), mems: CpuSet.empty },
    seen: { kind: 'seen', cpus: parse(found), effective: parse(effective ?? found), mems: CpuSet.empty },
    online: parse(online),
    ...(parent !== undefined && { parent: parse(parent) }),
    ...(recorded !== undefined && { runtimeRecord: { cpus: parse(recorded), mems: CpuSet.empty } }),
    systemd: false,
    repairs: 0,
    staticKubelet: false,
    ...rest,
  });
}

const koordlet = ['Koordinator (koordlet)'];
const rows: readonly [name: string, row: Row, cause: string, because: RegExp][] = [
  ['a write of the file and nothing else', { found: '0-7' }, 'unknown-writer', /^unknown writer: someone wrote its cgroup directly$/],
  ['the cpuset is empty', { found: '', effective: '0-7' }, 'unknown-writer', /emptied/],

  ['CPUs that went offline are gone from the set', { found: '2', online: '0-2,4-7' }, 'cpu-offline', /CPUs 3 went/],
  ['someone wrote other CPUs while one is offline', { found: '0-1', online: '0-2,4-7' }, 'unknown-writer', /./],
  ['the parent lost a CPU', { found: '2', parent: '0-2' }, 'parent-narrowed', /CPUs 3$/],
  ['a wide parent explains nothing', { found: '2', parent: '0-7' }, 'unknown-writer', /./],

  ['an update went through the runtime just before', { found: '0-7', msSinceUpdate: 12.4 }, 'runtime-update', /12 ms/],
  ['an update long ago explains nothing', { found: '0-7', msSinceUpdate: 2_001 }, 'unknown-writer', /./],
  ["an update, and the kubelet's static policy is at work", { found: '0-7', msSinceUpdate: 9, staticKubelet: true }, 'kubelet-cpu-manager', /9 ms before, and the kubelet/],
  ['a static kubelet writes through the runtime, or not at all', { found: '0-7', staticKubelet: true }, 'unknown-writer', /./],

  ["systemd's unit has the earlier record of the runtime", { found: '0-7', systemd: true, recorded: '0-7' }, 'systemd-reload', /record/],
  ['the same value where systemd has nothing to do with it', { found: '0-7', recorded: '0-7' }, 'unknown-writer', /./],
  ['a unit of systemd, but with other CPUs than its record', { found: '5', systemd: true, recorded: '2-3' }, 'unknown-writer', /./],
  ['systemd loaded its units a moment before', { found: '', effective: '0-7', systemd: true, msSinceReload: 3_100 }, 'systemd-reload', /3 s before.*daemon-reload/],
  ['systemd loaded its units long ago', { found: '', effective: '0-7', systemd: true, msSinceReload: 15_001 }, 'unknown-writer', /./],
  ['systemd loaded its units in the future, after a clock step', { found: '5', systemd: true, msSinceReload: -1 }, 'unknown-writer', /./],
  ['systemd loaded its units a moment before, but the cgroup is none of them', { found: '5', msSinceReload: 10 }, 'unknown-writer', /./],

  ['repaired again and again, and a manager of cpusets runs here', { found: '0-7', repairs: 3, managers: koordlet }, 'another-manager', /koordlet.*each of 3/],
  ['repaired again and again, and no known manager runs here', { found: '0-7', repairs: 3, managers: [] }, 'unknown-writer', /again after each of 3/],
  ['repaired again and again, and the processes could not be listed', { found: '0-7', repairs: 3 }, 'unknown-writer', /./],
  ['a manager runs here, but only one repair was needed', { found: '0-7', repairs: 1, managers: koordlet }, 'unknown-writer', /./],

  ['a fact wins over a coincidence', { found: '2', online: '0-2', staticKubelet: true, repairs: 9, managers: koordlet, msSinceUpdate: 0 }, 'cpu-offline', /./],
]; // prettier-ignore

test.each(rows)('%s', (_name, row, cause, because) => {
  const likely = explain(row);
  expect(likely.cause).toBe(cause);
  expect(likely.because).toMatch(because);
});

test('every cause has a row', () => {
  expect(new Set(rows.map(([, , cause]) => cause))).toEqual(new Set(DRIFT_CAUSES));
});
