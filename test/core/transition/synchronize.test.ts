import type { ContainerInfo, ContainerPhase, PodInfo } from '../../../src/core/model/events';
import type { CpuSet } from '../../../src/core/cpuset';
import { cpus, NodeDriver, podOf, resourcesOf, type Rules } from './node-driver';

/**
 * The list of the runtime, one container a line: `pod/name#1 count record live [phase]`, with `-` for an absent value.
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
  name                                                                                      | before                      | listing                                            | state                               | moves
  ${'an empty list changes nothing'}                                                        | ${''}                       | ${''}                                              | ${'pool 0-7'}                       | ${''}
  ${'a remembered container that is listed keeps its CPUs'}                                 | ${'make p/a 2'}             | ${'p/a#1 2 1,5 1,5'}                               | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${''}
  ${'a remembered container is moved back when the kernel has another cpuset'}              | ${'make p/a 2'}             | ${'p/a#1 2 1,5 0-7'}                               | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 0-7>1,5'}
  ${'a remembered container is moved back when the kernel has no cpuset'}                   | ${'make p/a 2'}             | ${'p/a#1 2 - -'}                                   | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 ?>1,5'}
  ${'a container that is not listed leaves its CPUs idle in its pod'}                       | ${'make p/a 2'}             | ${'p'}                                             | ${'p/a 1,5 idle; pool 0,2-4,6-7'}   | ${''}
  ${'a container that is listed as exited leaves its CPUs idle'}                            | ${'make p/a 2'}             | ${'p/a#1 2 1,5 - exited'}                          | ${'p/a 1,5 idle; pool 0,2-4,6-7'}   | ${''}
  ${'a pod that is not listed gives its CPUs back'}                                         | ${'make p/a 2; make q/s 0'} | ${'q/s#1 0 0,2-4,6-7 0,2-4,6-7'}                   | ${'pool 0-7'}                       | ${'q/s#1 0,2-4,6-7>0-7'}
  ${'a pod that is not listed gives its idle CPUs back'}                                    | ${'make p/a 2; end p/a'}    | ${''}                                              | ${'pool 0-7'}                       | ${''}
  ${'a container that was restarted while cpusetd was away gets its CPUs again'}            | ${'make p/a 2'}             | ${'p/a#2 2 - 0-7'}                                 | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#2 0-7>1,5'}
  ${'a creation that failed while cpusetd was away gives its CPUs back'}                    | ${'ask p/a 2'}              | ${'p'}                                             | ${'pool 0-7'}                       | ${''}
  ${'an unknown container that shares is moved off exclusive CPUs'}                         | ${'make p/a 2'}             | ${'p/a#1 2 1,5 1,5; q/s#1 0 - 0-7'}                | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'q/s#1 0-7>0,2-4,6-7'}
  ${'an unknown container with whole CPUs gets some, and others are moved first'}           | ${''}                       | ${'p/a#1 2 - 0-7; q/s#1 0 - 0-7'}                  | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 0-7>1,5; q/s#1 0-7>0,2-4,6-7'}
  ${'lost state: a container on CPUs of its own keeps them'}                                | ${''}                       | ${'p/a#1 2 3,7 3,7'}                               | ${'p/a 3,7; pool 0-2,4-6'}          | ${''}
  ${'lost state: the runtime record gives the CPUs of a container that does not run yet'}   | ${''}                       | ${'p/a#1 2 3,7 - created'}                         | ${'p/a 3,7; pool 0-2,4-6'}          | ${''}
  ${'lost state: containers on CPUs of their own come before new ones'}                     | ${''}                       | ${'p/a#1 2 - 0-7; q/b#1 2 1,5 1,5'}                | ${'p/a 2,6; q/b 1,5; pool 0,3-4,7'} | ${'p/a#1 0-7>2,6'}
  ${'lost state: of two containers on the same CPUs one stays, and the other moves'}        | ${''}                       | ${'p/a#1 2 1,5 1,5; q/b#1 2 1,5 1,5'}              | ${'p/a 1,5; q/b 2,6; pool 0,3-4,7'} | ${'q/b#1 1,5>2,6'}
  ${'lost state: of two containers that overlap in one CPU one stays, and the other moves'} | ${''}                       | ${'p/a#1 2 1,5 1,5; q/b#1 2 5-6 5-6'}              | ${'p/a 1,5; q/b 2,6; pool 0,3-4,7'} | ${'q/b#1 5-6>2,6'}
  ${'lost state: a container on reserved CPUs is moved'}                                    | ${''}                       | ${'p/a#1 2 0-1 0-1'}                               | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 0-1>1,5'}
  ${'lost state: a container on more CPUs than it is entitled to is moved'}                 | ${''}                       | ${'p/a#1 2 5-7 5-7'}                               | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 5-7>1,5'}
  ${'a remembered container keeps its CPUs before an unknown one that runs there'}          | ${'make p/a 2'}             | ${'a/x#1 2 1,5 1,5; p/a#1 2 1,5 1,5'}              | ${'a/x 2,6; p/a 1,5; pool 0,3-4,7'} | ${'a/x#1 1,5>2,6'}
  ${'a running container that does not fit shares'}                                         | ${''}                       | ${'p/a#1 4 - 0-7; q/b#1 4 - 0-7'}                  | ${'p/a 1-2,5-6; pool 0,3-4,7'}      | ${'p/a#1 0-7>1-2,5-6; q/b#1 0-7>0,3-4,7'}
  ${'a second container of the same name does not take the CPUs of the first'}              | ${'make p/a 2; know p/a 2'} | ${'p/a#0 2 - 0-7; p/a#1 2 1,5 1,5; p/a#2 2 - 0-7'} | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#0 0-7>0,2-4,6-7; p/a#2 0-7>0,2-4,6-7'}
  ${'of two unknown containers of one name the second shares'}                              | ${''}                       | ${'p/a#1 2 1,5 1,5; p/a#2 2 2,6 2,6'}              | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#2 2,6>0,2-4,6-7'}
  ${'a record that can not be parsed counts as unknown'}                                    | ${''}                       | ${'p/a#1 2 x-y -'}                                 | ${'p/a 1,5; pool 0,2-4,6-7'}        | ${'p/a#1 ?>1,5'}
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

test('given the same list twice, then nothing changes and nothing is saved', () => {
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

test('given new rules that would not give its CPUs, then a running exclusive container keeps them', () => {
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
  name                                                                              | before          | listing                  | notes
  ${'a container that was started without cpusetd is reported'}                     | ${''}           | ${'q/s#1 0 - -'}         | ${['found-unpinned']}
  ${'a container that was created without cpusetd is reported'}                     | ${''}           | ${'q/s#1 0 - - created'} | ${['found-unpinned']}
  ${'a container with a cpuset in its record is not reported'}                      | ${''}           | ${'q/s#1 0 0-7 0-7'}     | ${[]}
  ${'a known container is not reported'}                                            | ${'make q/s 0'} | ${'q/s#1 0 - 0-7'}       | ${[]}
  ${'a container that was restarted without cpusetd, on its own CPUs, is reported'} | ${'make p/a 2'} | ${'p/a#2 2 - -'}         | ${['found-unpinned']}
  ${'a container with a cpuset in the kernel is not reported'}                      | ${''}           | ${'q/s#1 0 - 0-7'}       | ${[]}
`('$name', ({ before, listing, notes }: { before: string; listing: string; notes: string[] }) => {
  const node = synchronize(new NodeDriver().run(before), listing);
  expect(node.reported.map(({ kind }) => kind).filter((kind) => kind === 'found-unpinned')).toEqual(notes);
});

test('given that cpusetd runs in one of the containers, then this one is placed as others are, and not reported', () => {
  const { live, ...listing } = listingOf('q/s#1 0 - -; cpusetd/cpusetd#1 0 - -');
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', ...listing, own: 'cpusetd/cpusetd#1' }, live);
  const reported = node.reported.flatMap((event) =>
    event.kind === 'found-unpinned' ? [event.subject.containerId] : [],
  );
  expect(reported).toEqual(['q/s#1']);
  expect(node.model.containers.get('cpusetd/cpusetd#1')?.placement).toBe('shared');
});

describe('given a container that was started without cpusetd', () => {
  /** Starts again after a crash, with the state on disk and the cpusets in the kernel. */
  function restart(before: NodeDriver): NodeDriver {
    const node = new NodeDriver();
    for (const assignment of before.model.assignments.values())
      node.model.apply({ kind: 'put-assignment', assignment });
    return node;
  }

  const unpinnedIn = ({ reported }: NodeDriver): unknown[] =>
    reported.flatMap((event) => (event.kind === 'found-unpinned' ? [event.subject.containerId] : []));

  /** The same list again. The runtime's record has no cpuset yet; the kernel has the new one of each container. */
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
  `('$name: then it is not reported again after restarts of cpusetd', ({ listing }: { listing: string }) => {
    let node = synchronize(new NodeDriver(), listing);
    expect(unpinnedIn(node)).toHaveLength(listing.split(';').length);
    for (let i = 0; i < 5; i++) {
      node = synchronize(restart(node), again(node, listing));
      expect(unpinnedIn(node)).toEqual([]);
    }
  }); // prettier-ignore

  test('when another one starts between two restarts, then only that one is reported', () => {
    const listing = 'p/a#1 2 - -; q/s#1 0 - -';
    const node = synchronize(new NodeDriver(), listing);
    const next = synchronize(restart(node), `${again(node, listing)}; r/t#1 0 - -`);
    expect(unpinnedIn(next)).toEqual(['r/t#1']);
  });

  test('when its promise changes while it can not be moved, then it is not reported again', () => {
    const listing = 'p/a#1 2 - -; q/s#1 0 - -';
    const before = synchronize(new NodeDriver(), listing);
    const then = again(before, listing);
    const node = restart(before.run('make x/y 2'));
    expect(unpinnedIn(synchronize(node, then))).toEqual([]);
  });

  test('then it is reported once, and not at the next synchronization of the same process', () => {
    const node = synchronize(new NodeDriver(), 'q/s#1 0 - -');
    expect(unpinnedIn(node)).toEqual(['q/s#1']);
    expect(unpinnedIn(synchronize(node, 'q/s#1 0 - -'))).toEqual([]);
  });
});

test('given a stopped pod, then it is still stopped after a synchronization', () => {
  const node = new NodeDriver().run('make p/a 2; stop p');
  synchronize(node, 'p/a#1 2 1,5 1,5');
  expect(node.run('end p/a').state).toBe('pool 0-7');
});

test('given an unlimited quota in the record, then it is no conflict: cpusetd lifted it', () => {
  const { pods, containers, live } = listingOf('p/a#1 2 3,7 3,7');
  const lifted = containers.map((container) => ({ ...container, resources: { ...container.resources, quotaUs: -1 } }));
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', pods, containers: lifted }, live);
  expect(node.state).toBe('p/a 3,7; pool 0-2,4-6');
});

test('given a container whose sandbox is not listed, then it is ignored', () => {
  const { containers, live } = listingOf('p/a#1 2 3,7 3,7');
  const node = new NodeDriver();
  node.send({ kind: 'synchronize', pods: [], containers }, live);
  expect({ state: node.state, known: node.model.containers.size }).toEqual({ state: 'pool 0-7', known: 0 });
});
