import type { ContainerInfo, ContainerPhase, PodInfo } from '../../../src/core/model/events';
import type { CpuSet } from '../../../src/core/cpuset';
import { cpus, NodeDriver, podOf, resourcesOf, type Rules } from './node-driver';

/**
 * What the runtime lists, one container a line: `pod/name#1 count record live [phase]`, `-` for what it does not have.
 * `record` is the cpuset of its spec, `live` that of the kernel.
 */
function listingOf(text: string): { pods: PodInfo[]; containers: ContainerInfo[]; live: Map<string, CpuSet> } {
  const pods = new Map<string, PodInfo>();
  const live = new Map<string, CpuSet>();
  const containers = text
    .split(';')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .flatMap((line): ContainerInfo[] => {
      const [id = '', count = '0', record = '-', kernel = '-', phase = 'running'] = line.split(/\s+/);
      const [uid = '', name = ''] = id.replace(/#.*/, '').split('/');
      const pod = podOf(uid);
      pods.set(uid, pod);
      if (name === '') return [];
      if (kernel !== '-') live.set(id, cpus(kernel));
      const resources = { ...resourcesOf(Number(count)), ...(record !== '-' && { cpus: record }) };
      const cgroupsPath = `${pod.cgroupParent}/${id}`;
      return [{ id, sandboxId: pod.sandboxId, name, phase: phase as ContainerPhase, cgroupsPath, resources }];
    });
  return { pods: [...pods.values()], containers, live };
}

function synchronize(node: NodeDriver, text: string): NodeDriver {
  const { live, ...listing } = listingOf(text);
  node.send({ kind: 'synchronize', ...listing }, live);
  return node;
}

test.each`
  name                                                                   | before                      | listing                                            | state                               | moves
  ${'nothing anywhere'}                                                  | ${''}                       | ${''}                                              | ${'pool 0-7'}                       | ${''}
  ${'who is remembered and still there keeps its CPUs'}                  | ${'make p/a 2'}             | ${'p/a#1 2 1,5 1,5'}                               | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${''}
  ${'it is put back on them when the kernel has something else'}         | ${'make p/a 2'}             | ${'p/a#1 2 1,5 0-7'}                               | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 0-7>1,5'}
  ${'and when the kernel has nothing'}                                   | ${'make p/a 2'}             | ${'p/a#1 2 - -'}                                   | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 ?>1,5'}
  ${'one whose pod is there ended: its CPUs wait'}                       | ${'make p/a 2'}             | ${'p'}                                             | ${'p/a 1,5 idle; pool 0,2-4,6-7'}   | ${''}
  ${'one that is listed as exited has ended'}                            | ${'make p/a 2'}             | ${'p/a#1 2 1,5 - exited'}                          | ${'p/a 1,5 idle; pool 0,2-4,6-7'}   | ${''}
  ${'a pod that is gone gives everything back'}                          | ${'make p/a 2; make q/s 0'} | ${'q/s#1 0 0,2-4,6-7 0,2-4,6-7'}                   | ${'pool 0-7'}                       | ${'q/s#1 0,2-4,6-7>0-7'}
  ${'its idle CPUs too'}                                                 | ${'make p/a 2; end p/a'}    | ${''}                                              | ${'pool 0-7'}                       | ${''}
  ${'restarted while we were away: the new one has the CPUs of the old'} | ${'make p/a 2'}             | ${'p/a#2 2 - 0-7'}                                 | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#2 0-7>1,5'}
  ${'a creation that failed while we were away gives back'}              | ${'ask p/a 2'}              | ${'p'}                                             | ${'pool 0-7'}                       | ${''}
  ${'a stranger that shares is moved off exclusive CPUs'}                | ${'make p/a 2'}             | ${'p/a#1 2 1,5 1,5; q/s#1 0 - 0-7'}                | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'q/s#1 0-7>0,2-4,6-7'}
  ${'a stranger with whole CPUs gets some, and others leave them first'} | ${''}                       | ${'p/a#1 2 - 0-7; q/s#1 0 - 0-7'}                  | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 0-7>1,5; q/s#1 0-7>0,2-4,6-7'}
  ${'state was lost: who sits on CPUs of its own stays there'}           | ${''}                       | ${'p/a#1 2 3,7 3,7'}                               | ${'p/a 3,7; pool 0-2,4-6'}          | ${''}
  ${'the record speaks for one that does not run yet'}                   | ${''}                       | ${'p/a#1 2 3,7 - created'}                         | ${'p/a 3,7; pool 0-2,4-6'}          | ${''}
  ${'those who sit go before those who come'}                            | ${''}                       | ${'p/a#1 2 - 0-7; q/b#1 2 1,5 1,5'}                | ${'p/a 2,6; q/b 1,5; pool 0,3-4,7'} | ${'p/a#1 0-7>2,6'}
  ${'two on the same CPUs: one stays, the other moves'}                  | ${''}                       | ${'p/a#1 2 1,5 1,5; q/b#1 2 1,5 1,5'}              | ${'p/a 1,5; q/b 2,6; pool 0,3-4,7'} | ${'q/b#1 1,5>2,6'}
  ${'two that overlap in one CPU'}                                       | ${''}                       | ${'p/a#1 2 1,5 1,5; q/b#1 2 5-6 5-6'}              | ${'p/a 1,5; q/b 2,6; pool 0,3-4,7'} | ${'q/b#1 5-6>2,6'}
  ${'who sits on reserved CPUs is moved'}                                | ${''}                       | ${'p/a#1 2 0-1 0-1'}                               | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 0-1>1,5'}
  ${'who sits on more CPUs than it is entitled to is moved'}             | ${''}                       | ${'p/a#1 2 5-7 5-7'}                               | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 5-7>1,5'}
  ${'a remembered one goes before a stranger on its CPUs'}               | ${'make p/a 2'}             | ${'a/x#1 2 1,5 1,5; p/a#1 2 1,5 1,5'}              | ${'a/x 2,6; p/a 1,5; pool 0,3-4,7'} | ${'a/x#1 1,5>2,6'}
  ${'no room for all: who runs is not refused, it shares'}               | ${''}                       | ${'p/a#1 4 - 0-7; q/b#1 4 - 0-7'}                  | ${'p/a 1-2,5-6; pool 0,3-4,7'}      | ${'p/a#1 0-7>1-2,5-6; q/b#1 0-7>0,3-4,7'}
  ${'a namesake of a running one does not take its CPUs'}                | ${'make p/a 2; know p/a 2'} | ${'p/a#0 2 - 0-7; p/a#1 2 1,5 1,5; p/a#2 2 - 0-7'} | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#0 0-7>0,2-4,6-7; p/a#2 0-7>0,2-4,6-7'}
  ${'two strangers of one name: the second shares'}                      | ${''}                       | ${'p/a#1 2 1,5 1,5; p/a#2 2 2,6 2,6'}              | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#2 2,6>0,2-4,6-7'}
  ${'a record that nobody can read counts as not known'}                 | ${''}                       | ${'p/a#1 2 x-y -'}                                 | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 ?>1,5'}
`('$name', ({ before, listing, state, moves }: { before: string; listing: string; state: string; moves: string }) => {
  const node = synchronize(new NodeDriver().run(before), listing);
  expect({ state: node.state, moves: node.movesMade }).toEqual({ state, moves });

  const reversed = listing.split(';').reverse().join(';');
  const other = synchronize(new NodeDriver().run(before), reversed);
  expect({ order: 'reversed', state: other.state, moves: other.movesMade }).toEqual({
    order: 'reversed',
    state,
    moves,
  });
});

test('twice the same list changes nothing and has nothing to save', () => {
  const listing = 'p/a#1 2 3,7 3,7; q/s#1 0 0-2,4-6 0-2,4-6';
  const node = synchronize(new NodeDriver(), listing);
  const { state } = node;
  synchronize(node, listing);
  expect({ state: node.state, moves: node.movesMade, durable: node.isDurable }).toEqual({
    state,
    moves: '',
    durable: false,
  });
});

test('a running exclusive container keeps its CPUs under new rules that would not give them', () => {
  for (const rules of [
    { reserved: '0-2' },
    { cpuManagerPolicy: 'none' },
    { options: { fullPcpusOnly: true }, reserved: '0' },
    { minSharedCpus: 7 },
  ] satisfies Rules[]) {
    const node = new NodeDriver().run('make p/a 3');
    node.setRules(rules);
    synchronize(node, 'p/a#1 3 1,4-5 1,4-5');
    expect(node.container('p/a')?.placement).toBe('exclusive');
    expect(node.container('p/a')?.promise?.cpus.toString()).toBe('1,4-5');
    expect(node.movesMade).toBe('');
  }
});

test.each`
  name                                                  | before          | listing                  | notes
  ${'started without us'}                               | ${''}           | ${'q/s#1 0 - -'}         | ${['found-unpinned']}
  ${'created without us'}                               | ${''}           | ${'q/s#1 0 - - created'} | ${['found-unpinned']}
  ${'its record has a cpuset, so somebody was there'}   | ${''}           | ${'q/s#1 0 0-7 0-7'}     | ${[]}
  ${'known to us'}                                      | ${'make q/s 0'} | ${'q/s#1 0 - 0-7'}       | ${[]}
  ${'restarted without us on CPUs that waited for it'}  | ${'make p/a 2'} | ${'p/a#2 2 - -'}         | ${['found-unpinned']}
  ${'the kernel has one for it, so somebody was there'} | ${''}           | ${'q/s#1 0 - 0-7'}       | ${[]}
`('$name: notes', ({ before, listing, notes }: { before: string; listing: string; notes: string[] }) => {
  const node = synchronize(new NodeDriver().run(before), listing);
  expect(node.reported.map(({ kind }) => kind).filter((kind) => kind === 'found-unpinned')).toEqual(notes);
});

describe('a container that started without us is told once', () => {
  /** A process that died and starts again: it has what is on disk, and the kernel has what was written. */
  function restart(before: NodeDriver): NodeDriver {
    const node = new NodeDriver();
    for (const assignment of before.model.assignments.values())
      node.model.apply({ kind: 'put-assignment', assignment });
    return node;
  }

  const toldOf = ({ reported }: NodeDriver): unknown[] =>
    reported.flatMap((event) => (event.kind === 'found-unpinned' ? [event.who.containerId] : []));

  /** The same list again; the runtime's record has no cpuset yet, the kernel has what each was moved to. */
  function again(node: NodeDriver, listing: string): string {
    const lines = listing.split(';').map((line) => {
      const [id = '', count = ''] = line.trim().split(' ');
      return `${id} ${count} - ${node.model.containers.get(id)!.promise!.cpus.toString()}`;
    });
    return lines.join('; ');
  }

  test.each`
    name                                               | listing
    ${'with CPUs of its own'}                          | ${'p/a#1 2 - -'}
    ${'in a shared pool of all CPUs'}                  | ${'q/s#1 0 - -'}
    ${'in the shared pool, beside one with its own'}   | ${'p/a#1 2 - -; q/s#1 0 - -'}
  `('$name: not again after each of many restarts', ({ listing }: { listing: string }) => {
    let node = synchronize(new NodeDriver(), listing);
    expect(toldOf(node)).toHaveLength(listing.split(';').length);
    for (let i = 0; i < 5; i++) {
      node = synchronize(restart(node), again(node, listing));
      expect(toldOf(node)).toEqual([]);
    }
  }); // prettier-ignore

  test('one that starts between two of the restarts is told, and only that one', () => {
    const listing = 'p/a#1 2 - -; q/s#1 0 - -';
    const node = synchronize(new NodeDriver(), listing);
    const next = synchronize(restart(node), `${again(node, listing)}; r/t#1 0 - -`);
    expect(toldOf(next)).toEqual(['r/t#1']);
  });

  test('its CPUs changed while nobody could move it: it is no news that it was met before', () => {
    const listing = 'p/a#1 2 - -; q/s#1 0 - -';
    const before = synchronize(new NodeDriver(), listing);
    const then = again(before, listing);
    const node = restart(before.run('make x/y 2'));
    expect(toldOf(synchronize(node, then))).toEqual([]);
  });

  test('it is told by the process that met it first, and not when that one synchronizes again', () => {
    const node = synchronize(new NodeDriver(), 'q/s#1 0 - -');
    expect(toldOf(node)).toEqual(['q/s#1']);
    expect(toldOf(synchronize(node, 'q/s#1 0 - -'))).toEqual([]);
  });
});

test('a pod that was stopped before the connection was lost is still stopped after', () => {
  const node = new NodeDriver().run('make p/a 2; stop p');
  synchronize(node, 'p/a#1 2 1,5 1,5');
  expect(node.run('end p/a').state).toBe('pool 0-7');
});

test('a lifted quota in the record is our own doing, no conflict', () => {
  const { pods, containers, live } = listingOf('p/a#1 2 3,7 3,7');
  const lifted = containers.map((container) => ({ ...container, resources: { ...container.resources, quotaUs: -1 } }));
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', pods, containers: lifted }, live);
  expect(node.state).toBe('p/a 3,7; pool 0-2,4-6');
});

test('a container whose sandbox is not listed is passed over', () => {
  const { containers, live } = listingOf('p/a#1 2 3,7 3,7');
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', pods: [], containers }, live);
  expect({ state: node.state, known: node.model.containers.size }).toEqual({ state: 'pool 0-7', known: 0 });
});
