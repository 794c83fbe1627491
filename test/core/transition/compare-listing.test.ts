import type { KnownBefore } from '../../../src/core/model/events';
import { compareListing, planChanges, type RuntimeListing } from '../../../src/core/transition';
import { NodeDriver } from './node-driver';

/** `p p:stopped p/a#1 p/b#1:exited`, with sandboxes by pod or as `p@sandbox`. */
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
      .map(({ name, sandboxId, state }) => ({ id: name, sandboxId, exited: state === 'exited' })),
  };
}

function knownTo({ model }: NodeDriver): KnownBefore {
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
  name                                                                    | before                             | listing                     | state
  ${'all as known'}                                                       | ${'make p/a 2'}                    | ${'p p/a#1'}                | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a container has exited'}                                             | ${'make p/a 2'}                    | ${'p p/a#1:exited'}         | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  ${'a container is gone'}                                                | ${'make p/a 2'}                    | ${'p'}                      | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  ${'a pod is gone'}                                                      | ${'make p/a 2'}                    | ${''}                       | ${'pool 0-7'}
  ${'a pod is not ready, and its container has exited'}                   | ${'make p/a 2'}                    | ${'p:stopped p/a#1:exited'} | ${'pool 0-7'}
  ${'a pod is not ready, but its container runs'}                         | ${'make p/a 2'}                    | ${'p:stopped p/a#1'}        | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'one under creation is not in the list yet'}                          | ${'ask p/a 2'}                     | ${'p'}                      | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'one under creation in a pod that is gone'}                           | ${'ask p/a 2'}                     | ${''}                       | ${'pool 0-7'}
  ${'a new sandbox of the pod that nobody told us of does not hold them'} | ${'make p/a 2; end p/a'}           | ${'p@s2'}                   | ${'pool 0-7'}
  ${'the pod has a new sandbox that we know'}                             | ${'make p/a 2; end p/a; pod p s2'} | ${'p@s2'}                   | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
`('$name', ({ before, listing, state }: { before: string; listing: string; state: string }) => {
  const node = new NodeDriver().run(before);
  compare(node, listing);
  expect(node.state).toBe(state);
});

test('what was remembered of a pod that the runtime does not have is released', () => {
  const node = new NodeDriver().run('make p/a 2; end p/a');
  node.model.apply({ kind: 'drop-pod', sandboxId: 'sandbox-p' });
  compare(node, 'q');
  expect(node.state).toBe('pool 0-7');
});

test('the pool grows with what is released', () => {
  const node = new NodeDriver().run('make q/s 0; make p/a 2');
  compare(node, 'q q/s#1');
  expect(node.movesMade).toBe('q/s#1 0,2-4,6-7>0-7');
});

describe('what came after the list was asked for is not judged by it', () => {
  test.each`
    name                                | before          | then                     | listing      | state
    ${'a new pod with a container'}     | ${'make q/s 0'} | ${'make p/a 2'}          | ${'q q/s#1'} | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'a new container of a known pod'} | ${'pod p'}      | ${'make p/a 2'}          | ${'p'}       | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'idle CPUs of a new pod'}         | ${'make q/s 0'} | ${'make p/a 2; end p/a'} | ${'q q/s#1'} | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
    ${'a pod that is gone since'}       | ${'make p/a 2'} | ${'remove p'}            | ${'p p/a#1'} | ${'pool 0-7'}
  `('$name', ({ before, then, listing, state }: Record<'before' | 'then' | 'listing' | 'state', string>) => {
    const node = new NodeDriver().run(before);
    const known = knownTo(node);
    node.run(then);
    compare(node, listing, known);
    expect(node.state).toBe(state);
  });
});

test.each`
  name                                         | before          | listing                    | unknown
  ${'known ones are not strangers'}            | ${'make p/a 2'} | ${'p p/a#1'}               | ${[]}
  ${'one that runs and that nobody told us'}   | ${'make p/a 2'} | ${'p p/a#1 p/b#1 q q/x#1'} | ${['p/b#1', 'q/x#1']}
  ${'exited strangers do not matter'}          | ${''}           | ${'p p/b#1:exited'}        | ${[]}
  ${'nor do those of pods that are not ready'} | ${''}           | ${'p:stopped p/b#1'}       | ${[]}
  ${'nor those whose pod is not listed'}       | ${''}           | ${'p/b#1'}                 | ${[]}
`('strangers: $name', ({ before, listing, unknown }: { before: string; listing: string; unknown: string[] }) => {
  expect(compare(new NodeDriver().run(before), listing)).toEqual(unknown);
});

test('a list that was taken while a sandbox was made does not stop the pod for good', () => {
  const node = new NodeDriver().run('pod p');
  compare(node, 'p:stopped');
  expect(node.run('make p/a 2; end p/a').state).toBe('p/a 1,5 idle; pool 0,2-4,6-7');
});

describe('a creation that has lasted too long', () => {
  const overdue = new Set(['p/a#1']);

  test('and that the runtime does not list has failed: its CPUs go back', () => {
    const node = new NodeDriver().run('ask p/a 2');
    compare(node, 'p', knownTo(node), overdue);
    expect(node.state).toBe('pool 0-7');
    expect(node.container('p/a')).toBeUndefined();
  });

  test('and that the runtime lists was never told to have ended', () => {
    const node = new NodeDriver().run('ask p/a 2');
    compare(node, 'p p/a#1', knownTo(node), overdue);
    expect(node.state).toBe('p/a 1,5; pool 0,2-4,6-7');
    expect(node.container('p/a')!.phase).toBe('created');
  });

  test('means nothing for one that has been made meanwhile', () => {
    const node = new NodeDriver().run('ask p/a 2');
    const before = knownTo(node);
    node.run('created p/a');
    compare(node, 'p', { ...before, containerIds: new Set() }, overdue);
    expect(node.container('p/a')!.phase).toBe('created');
  });
});
