import { planChanges, retryPending } from '../../../src/core/transition';
import { judge } from '../../../src/core/verdict/judge';
import { NodeDriver, podOf, resourcesOf, without, EIGHT_CPUS, type Rules } from './node-driver';

/**
 * Eight CPUs, one reserved. While cpusetd was away `late` containers started, as `pod/name count`; `before` is what it
 * knew before.
 */
function meet({ before = '', late, rules = {} }: { before?: string; late: string; rules?: Rules }): NodeDriver {
  const node = new NodeDriver(EIGHT_CPUS, rules).run(before);
  const known = [...node.model.containers.values()].map(({ id, resources, promise }) => {
    const cpus = promise ? { cpus: promise.cpus.toString() } : {};
    return { ...node.infoOf(id).container, phase: 'running' as const, resources: { ...resources, ...cpus } };
  });
  const started = late
    .split(';')
    .filter((part) => part.trim() !== '')
    .map((part) => {
      const [target = '', count = '0'] = part.trim().split(/\s+/);
      node.run(`know ${target} ${count}`); // its creation is not reported
      return { ...node.infoOf(target).container, phase: 'running' as const, resources: resourcesOf(Number(count)) };
    });
  const pods = [...new Set([...known, ...started].map(({ sandboxId }) => sandboxId.replace('sandbox-', '')))];
  node.send({ kind: 'synchronize', pods: pods.map((uid) => podOf(uid)), containers: [...known, ...started] });
  return node;
}

const verdictOf = (node: NodeDriver, target: string) => {
  const container = node.container(target)!;
  const { cpus, mems } = container.promise!;
  return judge(node.model, container, { kind: 'seen', cpus, effective: cpus, mems });
};

test.each`
  name                                                     | before                      | late                          | after                       | state
  ${'a waiting container gets CPUs as soon as a pod releases some'}      | ${'make a/x 4; make b/x 2'} | ${'p/a 4'}                    | ${'remove a'}               | ${'b/x 3,7; p/a 1-2,5-6; pool 0,4'}
  ${'a container that asks for more than there is still waits'}        | ${'make a/x 2; make b/x 4'} | ${'p/a 4'}                    | ${'remove a'}               | ${'b/x 2-3,6-7; pool 0-1,4-5'}
  ${'the longest waiting container is first'}                       | ${'make a/x 6'}             | ${'p/a 4; q/a 4'}             | ${'remove a'}               | ${'p/a 1-2,5-6; pool 0,3-4,7'}
  ${'a smaller request may be served before a larger one'}            | ${'make a/x 2; make b/x 4'} | ${'p/a 6; q/a 2'}             | ${'remove a'}               | ${'b/x 2-3,6-7; q/a 1,5; pool 0,4'}
  ${'two containers may be served at once'}                                  | ${'make a/x 6'}             | ${'p/a 2; q/a 2'}             | ${'remove a'}               | ${'p/a 1,5; q/a 2,6; pool 0,3-4,7'}
  ${'CPUs of an ended container stay with its pod'}    | ${'make a/x 6'}             | ${'p/a 4'}                    | ${'end a/x'}                | ${'a/x 1-3,5-7 idle; pool 0,4'}
  ${'CPUs of an ended container do not go to a waiting one of its pod'}             | ${'make a/x 6'}             | ${'a/y 4'}                    | ${'end a/x'}                | ${'a/x 1-3,5-7 idle; pool 0,4'}
  ${'CPUs of an ended container go to a waiting one when its pod is removed'} | ${'make a/x 6'}             | ${'p/a 4'}                    | ${'end a/x; remove a'}      | ${'p/a 1-2,5-6; pool 0,3-4,7'}
  ${'a container that has ended waits no longer'}                  | ${'make a/x 6'}             | ${'p/a 4'}                    | ${'end p/a; remove a'}      | ${'pool 0-7'}
  ${'a container whose pod is stopped waits no longer'}            | ${'make a/x 6'}             | ${'p/a 4'}                    | ${'stop p; remove a'}       | ${'pool 0-7'}
  ${'CPUs that a resize releases go to a waiting container'}            | ${'make a/x 6'}             | ${'p/a 4'}                    | ${'resize a/x 2'}           | ${'a/x 1,5; p/a 2-3,6-7; pool 0,4'}
  ${'a new container takes free CPUs before a waiting one that needs more'}         | ${'make a/x 2; make b/x 4'} | ${'p/a 4'}                    | ${'remove a; make n/x 2'}   | ${'b/x 2-3,6-7; n/x 1,5; pool 0,4'}
`('$name', ({ before, late, after, state }: Record<'before' | 'late' | 'after' | 'state', string>) => {
  expect(meet({ before, late }).run(after).state).toBe(state);
}); // prettier-ignore

test('given a container that waits, then its reason says so, and still does after it was served', () => {
  const node = meet({ before: 'make a/x 6', late: 'p/a 4' });
  expect(node.container('p/a')).toMatchObject({ placement: 'shared', entitledCpus: 4 });
  expect(verdictOf(node, 'p/a')).toEqual({
    kind: 'pending',
    because: expect.stringMatching(/^shares, and waits for CPUs of its own: it asked for 4 exclusive CPUs, 1 can be/),
  });
  node.run('remove a');
  const because = expect.stringMatching(/^4 exclusive CPUs, free on the node; it had waited since 1970-/);
  expect(node.container('p/a')).toMatchObject({ placement: 'exclusive', because });
  expect(node.container('p/a')!.waitingSince).toBeUndefined();
  expect(verdictOf(node, 'p/a')).toEqual({ kind: 'kept', because });
  expect(node.reported).toContainEqual(expect.objectContaining({ kind: 'pinned' }));
});

test.each`
  what                                     | count | options                    | because
  ${'for lack of CPUs now'}                | ${4}  | ${{}}                      | ${/^shares, and waits for CPUs of its own: it asked for 4/}
  ${'for a request that can never be met'} | ${3}  | ${{ fullPcpusOnly: true }} | ${/^shares: asked for 3/}
`(
  'given a running container, then it is not refused $what: it shares, and that is reported',
  ({ count, options, because }) => {
    const node = meet({ before: 'make a/x 6', late: `p/a ${count}`, rules: { options } });
    expect(node.reported.filter(({ kind }) => kind === 'refused')).toEqual([]);
    const facts = { podUid: 'p', container: 'a', containerId: node.container('p/a')!.id };
    expect(node.reported).toContainEqual({
      kind: 'shares',
      subject: expect.objectContaining(facts) as object,
      because: expect.stringMatching(because as RegExp) as string,
      isExpected: false,
    });
  },
);

test('given a container that is served, then others are moved in the same transaction, which is saved first', () => {
  const node = meet({ before: 'make a/x 6; make q/s 0', late: 'p/a 4' }).run('remove a');
  expect({ moves: node.movesMade, durable: node.isDurable }).toEqual({
    moves: 'p/a#1 0,4>1-2,5-6; q/s#1 0,4>0,3-4,7',
    durable: true,
  });
});

test('given min-shared-cpus, then a waiting container does not take CPUs below it', () => {
  const rules = { minSharedCpus: 4 };
  const node = meet({ before: 'make a/x 2; make b/x 2', late: 'p/a 4', rules }).run('remove a');
  expect(node.state).toBe('b/x 2,6; pool 0-1,3-5,7');
  expect(node.run('remove b').state).toBe('p/a 1-2,5-6; pool 0,3-4,7');
});

test('given a request that can never be met, then its container does not wait', () => {
  const rules = { options: { fullPcpusOnly: true } };
  const node = meet({ late: 'p/a 3', rules });
  expect(node.container('p/a')).toMatchObject({ placement: 'shared', entitledCpus: 0 });
  expect(node.container('p/a')!.waitingSince).toBeUndefined();
});

test('given CPUs that come online again, then a waiting container gets them at once, or in the next round', () => {
  const node = meet({ before: 'make a/x 4', late: 'p/a 3' });
  const offline = new NodeDriver(without(EIGHT_CPUS, '3,7')).run('make a/x 4');
  expect(offline.state).toBe('a/x 1-2,5-6; pool 0,4');
  expect(node.state).toBe('a/x 1-2,5-6; p/a 3-4,7; pool 0');
  const waiting = new NodeDriver(without(EIGHT_CPUS, '3,7'));
  waiting.run('make a/x 4; know p/a 2');
  const { pod, container } = waiting.infoOf('p/a');
  waiting.send({ kind: 'container-created', pod, container });
  expect(waiting.container('p/a')!.waitingSince).toBeDefined();
  waiting.change((draft) => {
    draft.put({ kind: 'set-topology', topology: EIGHT_CPUS });
    retryPending(draft);
    return planChanges(draft);
  });
  expect(waiting.state).toBe('a/x 1-2,5-6; p/a 3,7; pool 0,4');
});

test('given a try without success, then nothing changes and nothing is reported', () => {
  const node = meet({ before: 'make a/x 6', late: 'p/a 4' });
  node.change((draft) => {
    retryPending(draft);
    return planChanges(draft);
  });
  expect({ durable: node.isDurable, moves: node.moves, reported: node.reported }).toEqual({
    durable: false,
    moves: [],
    reported: [],
  });
});

test('given a container that has waited, then it is no longer throttled by the quota from its creation', () => {
  const node = meet({ before: 'make a/x 6', late: 'p/a 4', rules: { liftCpuQuota: true } });
  expect(node.container('p/a')?.promise?.quota).toBeUndefined();
  node.run('remove a');
  expect(node.container('p/a')?.promise?.quota).toEqual({ quotaUs: -1 });
});
