import fc from 'fast-check';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import type { KeptRules } from '../../../src/core/model/assignment';
import {
  assignmentsFromKubelet,
  formatKubeletState,
  parseKubeletState,
  toKubeletState,
  type KnownContainer,
} from '../../../src/state/kubelet-checkpoint';
import { assignmentOf } from '../support/assignments';
import { stateOf } from './vectors';

const rules: KeptRules = { policy: 'static', options: ['full-pcpus-only'], reserved: parseCpuList('0') };
const since = '2026-11-21T09:30:00Z';
const running: KnownContainer = { podNamespace: 'ns', podName: 'pod', containerId: 'id' };
const exited: KnownContainer = { ...running, containerId: null };

/** The result for entries `pod/container: list`, given the containers that the runtime knows. */
function takeOver(entries: Record<string, string>, known: Record<string, KnownContainer>): Record<string, string> {
  const byPod: Record<string, Record<string, string>> = {};
  for (const [key, list] of Object.entries(entries)) {
    const [pod = '', name = ''] = key.split('/');
    byPod[pod] = { ...byPod[pod], [name]: list };
  }
  const { assignments, notTaken } = assignmentsFromKubelet(
    stateOf({ policyName: 'static', defaultCpuSet: '0', entries: byPod }),
    { find: (podUid, name) => known[`${podUid}/${name}`], rules, since },
  );
  return Object.fromEntries([
    ...assignments.map(({ podUid, containerName, cpus }) => [`${podUid}/${containerName}`, cpus.toString()]),
    ...notTaken.map(({ podUid, containerName, because }) => [`${podUid}/${containerName}`, because]),
  ]) as Record<string, string>;
}

describe('assignmentsFromKubelet', () => {
  test('an entry becomes an assignment with the names and ids of the runtime', () => {
    const state = stateOf({ policyName: 'static', defaultCpuSet: '0-1', entries: { uid: { main: '2-3' } } });
    const { assignments, notTaken } = assignmentsFromKubelet(state, { find: () => running, rules, since });
    expect(notTaken).toEqual([]);
    expect(assignments).toEqual([
      {
        podUid: 'uid',
        podNamespace: 'ns',
        podName: 'pod',
        containerName: 'main',
        kind: 'static',
        cpus: parseCpuList('2-3'),
        mems: CpuSet.empty,
        requested: 2,
        containerId: 'id',
        quotaLifted: false,
        rules,
        because: "taken over from the kubelet's cpu_manager_state",
        since,
      },
    ]);
  });

  test.each`
    name                                                                                  | entries                                     | known                                                | outcome
    ${'a pod that is gone: not taken'}                                                    | ${{ 'p/a': '1', 'q/a': '2' }}               | ${{ 'q/a': running }}                                | ${{ 'p/a': 'it is not on this node any more', 'q/a': '2' }}
    ${'an empty set: not taken'}                                                          | ${{ 'p/a': '' }}                            | ${{ 'p/a': running }}                                | ${{ 'p/a': 'its set is empty' }}
    ${'an exited container: its CPUs become idle'}                                        | ${{ 'p/a': '1-2' }}                         | ${{ 'p/a': exited }}                                 | ${{ 'p/a': '1-2' }}
    ${'an exited init container: it keeps the CPUs that the app container does not have'} | ${{ 'p/init': '1-4', 'p/app': '1-2' }}      | ${{ 'p/init': exited, 'p/app': running }}            | ${{ 'p/init': '3-4', 'p/app': '1-2' }}
    ${'an exited init container whose CPUs are all taken over: not taken'}                | ${{ 'p/init': '1', 'p/app': '1-2' }}        | ${{ 'p/init': exited, 'p/app': running }}            | ${{ 'p/init': 'it does not run, and others have all of its CPUs', 'p/app': '1-2' }}
    ${'two exited containers that overlap: the first in the file keeps the CPUs'}         | ${{ 'p/a': '1-2', 'p/b': '2-3' }}           | ${{ 'p/a': exited, 'p/b': exited }}                  | ${{ 'p/a': '1-2', 'p/b': '3' }}
    ${'two running containers that overlap: neither is taken'}                            | ${{ 'p/a': '1-2', 'q/a': '2-3' }}           | ${{ 'p/a': running, 'q/a': running }}                | ${{ 'p/a': 'it overlaps with q/a, and both run', 'q/a': 'it overlaps with p/a, and both run' }}
    ${'an exited container keeps only CPUs that no running one claims'}                   | ${{ 'p/a': '1', 'q/a': '1', 'r/a': '1-2' }} | ${{ 'p/a': running, 'q/a': running, 'r/a': exited }} | ${{ 'p/a': 'it overlaps with q/a, and both run', 'q/a': 'it overlaps with p/a, and both run', 'r/a': '2' }}
  `('$name', ({ entries, known, outcome }: Record<string, Record<string, never>>) => {
    expect(takeOver(entries!, known!)).toEqual(outcome);
  });

  test('CPUs of a whole pod are listed as not taken', () => {
    const state = stateOf({ policyName: 'static', defaultCpuSet: '0', podEntries: { p: { cpuSet: '4-7' } } });
    expect(assignmentsFromKubelet(state, { find: () => running, rules, since })).toEqual({
      assignments: [],
      notTaken: [{ podUid: 'p', containerName: null, cpus: '4-7', because: expect.stringContaining('as a whole') }],
    });
  });

  test('for a random file, assignments are disjoint, and each entry is an assignment or not taken', () => {
    const anySet = fc.uniqueArray(fc.nat(24), { maxLength: 6 }).map((ids) => CpuSet.of(ids).toString());
    const anyEntries = fc.dictionary(
      fc.constantFrom('p', 'q', 'r'),
      fc.dictionary(fc.constantFrom('a', 'b', 'c'), anySet),
    );
    const anyFate = fc.func(fc.constantFrom(running, exited, undefined));
    fc.assert(
      fc.property(anyEntries, anyFate, (entries, fate) => {
        const state = stateOf({ policyName: 'static', defaultCpuSet: '', entries });
        const { assignments, notTaken } = assignmentsFromKubelet(state, {
          find: (pod, name) => fate(`${pod}/${name}`),
          rules,
          since,
        });
        const sizes = assignments.map(({ cpus }) => cpus.size);
        expect(CpuSet.unionOf(assignments.map(({ cpus }) => cpus)).size).toBe(sizes.reduce((a, b) => a + b, 0));
        expect(sizes.every((size) => size > 0)).toBe(true);
        const count = [...state.entries.values()].reduce((sum, pod) => sum + pod.size, 0);
        expect(assignments.length + notTaken.length).toBe(count);
      }),
      { seed: 20261121, numRuns: 500 },
    );
  });
});

describe('toKubeletState', () => {
  test('writes a state that parseKubeletState reads, with idle CPUs', () => {
    const assignments = [
      assignmentOf('a', '2-3', { podUid: 'p' }),
      assignmentOf('b', '4', { podUid: 'p', containerId: null }),
      assignmentOf('a', '5', { podUid: 'q' }),
    ];
    const state = toKubeletState(assignments, { policyName: 'static', defaultCpuSet: parseCpuList('0-1,6-7') });
    expect(parseKubeletState(formatKubeletState(state, 'v2'))).toEqual({
      ok: true,
      format: 'v2',
      state: stateOf({
        policyName: 'static',
        defaultCpuSet: '0-1,6-7',
        entries: { p: { a: '2-3', b: '4' }, q: { a: '5' } },
      }),
    });
  });

  test('followed by assignmentsFromKubelet changes no CPUs', () => {
    const before = [assignmentOf('a', '2-3'), assignmentOf('b', '8,10')];
    const state = toKubeletState(before, { policyName: 'static', defaultCpuSet: parseCpuList('0-1') });
    const { assignments } = assignmentsFromKubelet(state, { find: () => running, rules, since });
    expect(assignments.map(({ containerName, cpus }) => [containerName, cpus])).toEqual(
      before.map(({ containerName, cpus }) => [containerName, cpus]),
    );
  });
});
