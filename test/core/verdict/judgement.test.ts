import { CpuSet } from '../../../src/core/cpuset';
import { judge } from '../../../src/core/verdict/judge';
import { isOutdated, judgeNow, basisOf, reuseParts, type Judgement } from '../../../src/core/verdict/judgement';
import type { Seen } from '../../../src/core/verdict/observation';
import { buildTopology } from '../../../src/core/topology';
import { cpus, NodeDriver, settingsWith, without } from '../transition/node-driver';

/**
 * The judgement of a container that was observed just now; `has` is the kernel's cpuset, the promised one by default.
 */
function lookAt(node: NodeDriver, target: string, has = node.container(target)!.promise!.cpus.toString()): Judgement {
  const container = node.container(target)!;
  const observation = { kind: 'seen', cpus: cpus(has), effective: cpus(has), mems: CpuSet.empty } as const;
  return {
    verdict: judge(node.model, container, observation),
    observation,
    basis: basisOf(node.model, container),
  };
}

function judgeAgain(node: NodeDriver, target: string, last: Judgement | undefined) {
  const container = node.container(target)!;
  const isStale = isOutdated(node.model, container, last);
  return { ...judgeNow(node.model, container, last), isOutdated: isStale };
}

test('without a change the last verdict stands', () => {
  const node = new NodeDriver().run('make q/s 0');
  const last = lookAt(node, 'q/s');
  expect(judgeAgain(node, 'q/s', last)).toEqual({ ...last.verdict, isOutdated: false });
  node.run('make r/t 0'); // moves no container
  expect(judgeAgain(node, 'q/s', last)).toEqual({ ...last.verdict, isOutdated: false });
});

test('a promise after the last observation is pending until it is read back', () => {
  const node = new NodeDriver().run('make q/s 0');
  const before = lookAt(node, 'q/s');
  node.run('make p/a 2');
  expect(judgeAgain(node, 'q/s', before)).toEqual({
    kind: 'pending',
    because: 'promised 0,2-4,6-7 since it was last read: not read back yet',
    isOutdated: true,
  });
  expect(judgeAgain(node, 'q/s', lookAt(node, 'q/s'))).toMatchObject({ kind: 'kept', isOutdated: false });
});

test('a new promise of the same CPUs is pending until it is read back', () => {
  const node = new NodeDriver().run('make q/s 0');
  const before = lookAt(node, 'q/s');
  node.run('make p/a 2; end p/a; stop p; remove p');
  expect(node.container('q/s')!.promise!.cpus).toEqual(before.basis.promise!.cpus);
  expect(judgeAgain(node, 'q/s', before)).toMatchObject({ kind: 'pending', isOutdated: true });
});

test('a promise has the time of the event that made it', () => {
  const node = new NodeDriver().run('make q/s 0');
  const first = node.container('q/s')!.promisedAt!;
  node.run('make r/t 0');
  expect(node.container('q/s')!.promisedAt).toBe(first);
  node.run('make p/a 2');
  const second = node.container('q/s')!.promisedAt!;
  expect(Date.parse(second)).toBeGreaterThan(Date.parse(first));
  expect(node.container('p/a')!.promisedAt).toBe(second); // both were promised by one creation
});

test('an equal promise does not replace the earlier one', () => {
  const node = new NodeDriver().run('make p/a 2');
  const { promise, promisedAt } = node.container('p/a')!;
  const last = lookAt(node, 'p/a');
  const { pod, container } = node.infoOf('p/a');
  node.send({ kind: 'update-container', pod, container, resources: { cpus: '0-7' } });
  expect(node.container('p/a')).toMatchObject({ promise, promisedAt });
  expect(judgeAgain(node, 'p/a', last)).toMatchObject({ kind: 'kept', isOutdated: false });
});

test('the verdict names a move that was not made', () => {
  const node = new NodeDriver().run('make q/s 0');
  const before = lookAt(node, 'q/s');
  node.run('make p/a 2');
  const { applied: _none, ...container } = node.container('q/s')!;
  node.model.apply({ kind: 'put-container', container });
  expect(judgeAgain(node, 'q/s', before).because).toBe(
    'promised 0,2-4,6-7 since it was last read: not carried out yet',
  );
});

test('a promise that was rolled back does not change the last verdict', () => {
  const node = new NodeDriver().run('make q/s 0');
  const last = lookAt(node, 'q/s');
  expect(() =>
    node.change((draft) => {
      draft.put({ kind: 'put-container', container: { ...node.container('q/s')!, promise: last.basis.promise! } });
      draft.put({
        kind: 'put-container',
        container: { ...node.container('q/s')!, promise: { cpus: cpus('0'), mems: CpuSet.empty } },
      });
      draft.rollback();
      throw new Error('not saved');
    }),
  ).toThrow('not saved');
  expect(judgeAgain(node, 'q/s', last)).toEqual({ ...last.verdict, isOutdated: false });
});

describe('the verdict follows a change of', () => {
  test('the settings', () => {
    const node = new NodeDriver().run('make p/a 2');
    const last = lookAt(node, 'p/a');
    node.setRules({ options: { fullPcpusOnly: true } });
    expect(judgeAgain(node, 'p/a', last)).toMatchObject({ kind: 'held-under-old-rules', isOutdated: true });
    node.model.apply({ kind: 'set-settings', settings: settingsWith({ reserved: '0-1' }) });
    expect(judgeAgain(node, 'p/a', last).because).toBe('CPUs 1 are reserved now');
  });

  test('the isolated CPUs', () => {
    const node = new NodeDriver().run('make p/a 2');
    const last = lookAt(node, 'p/a');
    const { cpus: all } = node.model.topology;
    node.model.apply({ kind: 'set-topology', topology: buildTopology({ cpus: all, isolated: cpus('1,5') }) });
    expect(judgeAgain(node, 'p/a', last)).toMatchObject({
      kind: 'kept',
      because: expect.stringContaining('the kernel isolates CPUs 1,5'),
      isOutdated: true,
    });
  });

  test('the assignment, also when it is dropped', () => {
    const node = new NodeDriver().run('make p/a 2');
    const last = lookAt(node, 'p/a');
    const assignment = [...node.model.assignments.values()][0]!;
    node.model.apply({ kind: 'put-assignment', assignment: { ...assignment, because: 'another reason' } });
    expect(judgeAgain(node, 'p/a', last)).toMatchObject({ kind: 'kept', because: 'another reason', isOutdated: true });
    node.model.apply({ kind: 'drop-assignment', key: 'p/a' });
    expect(judgeAgain(node, 'p/a', last).kind).toBe('unknown');
  });

  test('the wait for exclusive CPUs', () => {
    const node = new NodeDriver().run('make q/s 0');
    const container = node.container('q/s')!;
    const waiting = { ...container, waitingSince: '2026-01-01T00:00:00Z', because: 'it waits' };
    node.model.apply({ kind: 'put-container', container: waiting });
    const last = lookAt(node, 'q/s');
    expect(last.verdict).toEqual({ kind: 'pending', because: 'it waits' });
    node.model.apply({ kind: 'put-container', container });
    expect(judgeAgain(node, 'q/s', last)).toMatchObject({ kind: 'kept', isOutdated: true });
  });

  test('the shared pool, when it overlaps exclusive CPUs', () => {
    const node = new NodeDriver().run('make p/a 7; make q/s 0');
    const last = lookAt(node, 'q/s', '0');
    node.model.apply({ kind: 'set-topology', topology: without(node.model.topology, '0') });
    expect(judgeAgain(node, 'q/s', last)).toMatchObject({ kind: 'violated', isOutdated: true });
  });

  test('the settings, and keeps the likely cause of a drift', () => {
    const node = new NodeDriver().run('make p/a 2');
    const last = lookAt(node, 'p/a', '0-7');
    const verdict = { ...last.verdict, because: 'promised 1,5; likely cause: somebody' };
    node.setRules({ options: { fullPcpusOnly: true } });
    expect(judgeAgain(node, 'p/a', { ...last, verdict })).toEqual({ ...verdict, isOutdated: true });
  });
});

test.each`
  history                                    | kind         | because
  ${'create p/a 2'}                          | ${'pending'} | ${'the container has not started'}
  ${'create p/a 2; starting p/a'}            | ${'pending'} | ${'its cgroup has not been looked at yet'}
  ${'create p/a 2; starting p/a; start p/a'} | ${'pending'} | ${'its cgroup has not been looked at yet'}
`(
  'after "$history", a container that had no cgroup at its observation is $kind: $because',
  ({ history, kind, because }) => {
    const node = new NodeDriver();
    const [creation = '', ...rest] = (history as string).split(';');
    node.run(creation);
    const container = node.container('p/a')!;
    const observation = { kind: 'gone' } as const;
    const verdict = judge(node.model, container, observation);
    const last: Judgement = { verdict, observation, basis: basisOf(node.model, container) };
    node.run(rest.join(';'));
    expect(judgeNow(node.model, node.container('p/a')!, last)).toEqual({ kind, because });
  },
);

test('the verdict of a container that is left alone is outdated only after a promise', () => {
  const node = new NodeDriver(undefined, { cpuManagerPolicy: 'none' }).run('make p/a 2');
  const container = node.container('p/a')!;
  const observation = { kind: 'seen', cpus: cpus('0-7'), effective: cpus('0-7'), mems: CpuSet.empty } as const;
  const last = {
    verdict: judge(node.model, container, observation),
    observation,
    basis: basisOf(node.model, container),
  };
  expect(judgeAgain(node, 'p/a', last)).toMatchObject({ kind: 'left-alone', isOutdated: false });
  const promise = { cpus: cpus('0-7'), mems: CpuSet.empty };
  node.model.apply({ kind: 'put-container', container: { ...container, placement: 'shared', promise } });
  expect(judgeAgain(node, 'p/a', last)).toMatchObject({ kind: 'pending', isOutdated: true });
});

describe('a judgement that reuses the objects of the last one', () => {
  const quota = { quotaUs: 20_000, periodUs: 100_000 };

  /** Two observations of one container: the second has new objects, unless it reused those of the first. */
  function lookTwice(second: Partial<Seen> = {}, history = ''): { readonly last: Judgement; readonly now: Judgement } {
    const node = new NodeDriver().run('make q/s 0');
    const last = lookAt(node, 'q/s');
    if (history !== '') node.run(history);
    const { verdict, observation, basis } = lookAt(node, 'q/s');
    return { last, now: { verdict, observation: { ...(observation as Seen), ...second }, basis } };
  }

  test('has all of them when it is equal', () => {
    const { last, now } = lookTwice();
    expect(now.basis).not.toBe(last.basis);
    const reused = reuseParts(last, now);
    expect(reused).toEqual(now);
    for (const part of ['verdict', 'observation', 'basis'] as const) expect(reused[part]).toBe(last[part]);
  });

  test.each`
    differs                            | second
    ${'the CPUs that were written'}    | ${{ cpus: cpus('3') }}
    ${'the CPUs that processes have'}  | ${{ effective: cpus('3') }}
    ${'the CPUs that the root has'}    | ${{ active: cpus('0-7') }}
    ${'the memory nodes'}              | ${{ mems: cpus('1') }}
    ${'the threads that were read'}    | ${{ threads: { looked: 1, narrower: 0, narrowerCpus: CpuSet.empty, outside: CpuSet.empty } }}
    ${'the quota'}                     | ${{ quota }}
    ${'the quota of the pod'}          | ${{ podQuota: quota }}
    ${'the quotas that were not read'} | ${{ unread: [{ scope: 'pod', because: 'EIO' }] }}
  `('has a new observation when it differs in $differs', ({ second }) => {
    const { last, now } = lookTwice(second as Partial<Seen>);
    const reused = reuseParts(last, now);
    expect(reused.observation).toBe(now.observation);
    expect(reused.basis).toBe(last.basis);
  });

  test('has a new observation when a quota that could not be read is gone', () => {
    const { last, now } = lookTwice();
    const before = {
      ...last,
      observation: { ...(last.observation as Seen), unread: [{ scope: 'pod', because: 'EIO' }] as const },
    };
    expect(reuseParts(before, now).observation).toBe(now.observation);
  });

  test('has a new verdict when the reason differs', () => {
    const { last, now } = lookTwice();
    const verdict = { ...now.verdict, because: 'something else' };
    expect(reuseParts(last, { ...now, verdict }).verdict).toBe(verdict);
  });

  test('has the new promise, also when its CPUs are equal', () => {
    const { last, now } = lookTwice({}, 'make p/a 2; end p/a; stop p; remove p');
    expect(now.basis.promise!.cpus).toEqual(last.basis.promise!.cpus);
    expect(reuseParts(last, now).basis).toBe(now.basis);
  });

  test('is returned unchanged when it is the first', () => {
    const { now } = lookTwice();
    expect(reuseParts(undefined, now)).toBe(now);
  });
});
