import type { ListBaseline } from '../../../src/core/model/events';
import { captureBaseline, compareListing, planChanges, type RuntimeListing } from '../../../src/core/transition';
import { NodeDriver } from './node-driver';

/** `p p:stopped p/a#1 p/b#1:exited p/c#1:running`, with sandboxes by pod or as `p@sandbox`. */
function listingOf(text: string): RuntimeListing {
  const items = text.split(/\s+/).filter((item) => item !== '');
  const read = (item: string) => {
    const [what = '', state = ''] = item.split(':');
    const [name = '', sandbox] = what.split('@');
    const uid = name.replace(/\/.*/, '');
    return { name, uid, sandboxId: sandbox ?? `sandbox-${uid}`, state };
  };
  return {
    pods: items
      .map(read)
      .filter(({ name }) => !name.includes('/'))
      .map(({ uid, sandboxId, state }) => ({ sandboxId, uid, ready: state !== 'stopped' })),
    containers: items
      .map(read)
      .filter(({ name }) => name.includes('/'))
      .map(({ name, sandboxId, state }) => ({
        id: name,
        sandboxId,
        exited: state === 'exited',
        ...(state === 'running' && { running: true }),
      })),
  };
}

function knownTo({ model }: NodeDriver): ListBaseline {
  return {
    sandboxIds: new Set(model.pods.keys()),
    containerIds: new Set(model.containers.keys()),
    podUids: new Set([...model.assignments.values()].map(({ podUid }) => podUid)),
  };
}

function compare(
  node: NodeDriver,
  listing: string,
  before = knownTo(node),
  overdue?: ReadonlySet<string>,
): readonly string[] {
  let unknown: readonly string[] = [];
  node.change((draft) => {
    unknown = compareListing(draft, listingOf(listing), before, overdue);
    return planChanges(draft);
  });
  return unknown;
}

test.each`
  name                                                                            | before                             | listing                     | state
  ${'a list of what is known changes nothing'}                                    | ${'make p/a 2'}                    | ${'p p/a#1'}                | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a container that exited leaves its CPUs idle in the pod'}                    | ${'make p/a 2'}                    | ${'p p/a#1:exited'}         | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  ${'a container that is not listed leaves its CPUs idle in the pod'}             | ${'make p/a 2'}                    | ${'p'}                      | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  ${'a pod that is not listed gives its CPUs back'}                               | ${'make p/a 2'}                    | ${''}                       | ${'pool 0-7'}
  ${'a pod that is not ready, with an exited container, gives its CPUs back'}     | ${'make p/a 2'}                    | ${'p:stopped p/a#1:exited'} | ${'pool 0-7'}
  ${'a pod that is not ready, with a running container, keeps its CPUs'}          | ${'make p/a 2'}                    | ${'p:stopped p/a#1'}        | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a container under creation that is not listed yet keeps its CPUs'}           | ${'ask p/a 2'}                     | ${'p'}                      | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a container under creation in a pod that is not listed gives its CPUs back'} | ${'ask p/a 2'}                     | ${''}                       | ${'pool 0-7'}
  ${'an unknown new sandbox of the pod keeps no CPUs'}                            | ${'make p/a 2; end p/a'}           | ${'p@s2'}                   | ${'pool 0-7'}
  ${'a known new sandbox of the pod keeps the CPUs'}                              | ${'make p/a 2; end p/a; pod p s2'} | ${'p@s2'}                   | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
`('$name', ({ before, listing, state }: { before: string; listing: string; state: string }) => {
  const node = new NodeDriver().run(before);
  compare(node, listing);
  expect(node.state).toBe(state);
});

test('given remembered CPUs of a pod that the runtime does not list, then they are released', () => {
  const node = new NodeDriver().run('make p/a 2; end p/a');
  node.model.apply({ kind: 'drop-pod', sandboxId: 'sandbox-p' });
  compare(node, 'q');
  expect(node.state).toBe('pool 0-7');
});

test('given a pod that is not listed, then the shared pool grows by its CPUs', () => {
  const node = new NodeDriver().run('make q/s 0; make p/a 2');
  compare(node, 'q q/s#1');
  expect(node.movesMade).toBe('q/s#1 0,2-4,6-7>0-7');
});

describe('given changes since the list was asked for, then the list does not affect', () => {
  test.each`
    name                                | before          | then                     | listing      | state
    ${'a new pod with a container'}     | ${'make q/s 0'} | ${'make p/a 2'}          | ${'q q/s#1'} | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'a new container of a known pod'} | ${'pod p'}      | ${'make p/a 2'}          | ${'p'}       | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'idle CPUs of a new pod'}         | ${'make q/s 0'} | ${'make p/a 2; end p/a'} | ${'q q/s#1'} | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
    ${'a pod that was removed since'}   | ${'make p/a 2'} | ${'remove p'}            | ${'p p/a#1'} | ${'pool 0-7'}
  `('$name', ({ before, then, listing, state }: Record<'before' | 'then' | 'listing' | 'state', string>) => {
    const node = new NodeDriver().run(before);
    const known = knownTo(node);
    node.run(then);
    compare(node, listing, known);
    expect(node.state).toBe(state);
  });
});

test.each`
  name                                                             | before          | listing                    | unknown
  ${'known containers are not unknown'}                            | ${'make p/a 2'} | ${'p p/a#1'}               | ${[]}
  ${'a running container that the model does not have is unknown'} | ${'make p/a 2'} | ${'p p/a#1 p/b#1 q q/x#1'} | ${['p/b#1', 'q/x#1']}
  ${'exited containers are left out'}                              | ${''}           | ${'p p/b#1:exited'}        | ${[]}
  ${'containers of pods that are not ready are left out'}          | ${''}           | ${'p:stopped p/b#1'}       | ${[]}
  ${'containers of pods that are not listed are left out'}         | ${''}           | ${'p/b#1'}                 | ${[]}
`(
  'unknown containers: $name',
  ({ before, listing, unknown }: { before: string; listing: string; unknown: string[] }) => {
    expect(compare(new NodeDriver().run(before), listing)).toEqual(unknown);
  },
);

test('given a list that shows a new sandbox as not ready, when the sandbox starts, then its pod is not stopped', () => {
  const node = new NodeDriver().run('pod p');
  compare(node, 'p:stopped');
  expect(node.run('make p/a 2; end p/a').state).toBe('p/a 1,5 idle; pool 0,2-4,6-7');
});

test.each`
  history              | phase
  ${'ask p/a 2'}       | ${'creating'}
  ${'create p/a 2'}    | ${'created'}
`('given a container in the phase $phase, when the list says that it runs, then the events of its start were lost, and it runs', ({ history }: { history: string }) => {
  const node = new NodeDriver().run(history);
  const before = captureBaseline(node.model);
  compare(node, 'p p/a#1', before);
  expect(node.container('p/a')!.phase).not.toBe('running');
  compare(node, 'p p/a#1:running', before);
  expect(node.container('p/a')!.phase).toBe('running');
}); // prettier-ignore

describe('given a creation that has lasted too long', () => {
  const overdue = new Set(['p/a#1']);

  test('when the runtime does not list the container, then its creation has failed and its CPUs are released', () => {
    const node = new NodeDriver().run('ask p/a 2');
    compare(node, 'p', knownTo(node), overdue);
    expect(node.state).toBe('pool 0-7');
    expect(node.container('p/a')).toBeUndefined();
  });

  test('when the runtime lists the container, then it has the phase of the list', () => {
    const node = new NodeDriver().run('ask p/a 2');
    compare(node, 'p p/a#1', knownTo(node), overdue);
    expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
    expect(node.container('p/a')!.phase).toBe('created');
  });

  test('when the container has been created since, then nothing changes', () => {
    const node = new NodeDriver().run('ask p/a 2');
    const before = knownTo(node);
    node.run('created p/a');
    compare(node, 'p', { ...before, containerIds: new Set() }, overdue);
    expect(node.container('p/a')!.phase).toBe('created');
  });
});
