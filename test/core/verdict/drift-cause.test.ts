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

/** Promised are CPUs 2-3 of a machine with eight. */
function explain({ found, effective, online = '0-7', parent, recorded, ...rest }: Row) {
  return explainDrift({
    promise: { cpus: parse('2-3'), mems: CpuSet.empty },
    seen: { kind: 'seen', cpus: parse(found), effective: parse(effective ?? found), mems: CpuSet.empty },
    online: parse(online),
    ...(parent !== undefined && { parent: parse(parent) }),
    ...(recorded !== undefined && { recorded: { cpus: parse(recorded), mems: CpuSet.empty } }),
    systemd: false,
    together: 1,
    repairs: 0,
    staticKubelet: false,
    ...rest,
  });
}

const rows: readonly [name: string, row: Row, cause: string, because: RegExp][] = [
  ['a write of the file and nothing else is a foreign write', { found: '0-7' }, 'foreign-write', /wrote its cgroup/],
  ['CPUs that went offline are gone from the set', { found: '2', online: '0-2,4-7' }, 'cpu-offline', /CPUs 3 went/],
  ['someone wrote other CPUs while one is offline', { found: '0-1', online: '0-2,4-7' }, 'foreign-write', /./],
  ['the parent lost a CPU', { found: '2', parent: '0-2' }, 'parent-narrowed', /CPUs 3$/],
  ['a wide parent explains nothing', { found: '2', parent: '0-7' }, 'foreign-write', /./],
  ['an update went through the runtime just before', { found: '0-7', msSinceUpdate: 12.4 }, 'runtime-update', /12 ms/],
  ['an update long ago explains nothing', { found: '0-7', msSinceUpdate: 2_001 }, 'foreign-write', /./],
  ['systemd put back what the runtime recorded before', { found: '0-7', systemd: true, recorded: '0-7' }, 'systemd-reload', /daemon-reload/],
  ['systemd emptied a unit that it knows no CPUs of', { found: '', effective: '0-7', systemd: true }, 'systemd-reload', /daemon-reload/],
  ['systemd did it to many units at once', { found: '0-7', systemd: true, together: 4 }, 'systemd-reload', /./],
  ['a unit of systemd, but one alone and with other CPUs', { found: '5', systemd: true, recorded: '2-3' }, 'foreign-write', /./],
  ['many at once, but systemd has nothing to do with them', { found: '0-7', together: 4, recorded: '0-7' }, 'foreign-write', /./],
  ['the cpuset is empty', { found: '', effective: '0-7' }, 'emptied', /emptied/],
  ['it was repaired again and again', { found: '0-7', repairs: 3 }, 'another-manager', /repaired 3 times/],
  ["the kubelet's static policy writes too", { found: '0-7', staticKubelet: true }, 'kubelet-cpu-manager', /kubelet/],
  ['a fact wins over a suspicion', { found: '2', online: '0-2', staticKubelet: true, repairs: 9, msSinceUpdate: 0 }, 'cpu-offline', /./],
]; // prettier-ignore

test.each(rows)('%s', (_name, row, cause, because) => {
  const likely = explain(row);
  expect(likely.cause).toBe(cause);
  expect(likely.because).toMatch(because);
});

test('every word for a cause has a row', () => {
  expect(new Set(rows.map(([, , cause]) => cause))).toEqual(new Set(DRIFT_CAUSES));
});
