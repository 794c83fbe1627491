import { CpuSet } from '../../../src/core/cpuset';
import type { Container } from '../../../src/core/model/container';
import { explainOldRules, judge } from '../../../src/core/verdict/judge';
import type { Observation } from '../../../src/core/verdict/observation';
import { cpus, machineOf, NodeDriver, settingsWith, without, type Rules } from '../transition/node-driver';

/**
 * `1,5`; `1,5 on 1` for processes that run elsewhere; `1,5 on 1 of 0-4` for a limited parent; `gone`, `unreadable`,
 * `never` observed.
 */
function observationOf(text: string): Observation | undefined {
  if (text === 'never') return undefined;
  if (text === 'gone') return { kind: 'gone' };
  const [, forMs, isConfirmed] = /^missing (\d+) ms(, running)?$/.exec(text) ?? [];
  if (forMs !== undefined) {
    const missing = {
      because: 'its cgroup is not at /x',
      forMs: Number(forMs),
      isConfirmed: isConfirmed !== undefined,
    };
    return { kind: 'gone', missing };
  }
  if (text === 'unreadable') return { kind: 'unreadable', because: 'EACCES' };
  const [sets = '', active] = text.split(' of ');
  const [list = '', effective = list] = sets.split(' on ');
  const seen = { kind: 'seen', cpus: cpus(list), effective: cpus(effective), mems: CpuSet.empty } as const;
  return active === undefined ? seen : { ...seen, active: cpus(active) };
}

test.each`
  name                                                | history                         | target   | seen                           | kind          | because
  ${'equal'}                                          | ${'make p/a 2'}                 | ${'p/a'} | ${'1,5'}                       | ${'kept'}     | ${/^2 exclusive CPUs/}
  ${'equal, in the pool'}                             | ${'make p/a 2; make q/s 0'}     | ${'q/s'} | ${'0,2-4,6-7'}                 | ${'kept'}     | ${/in the shared pool/}
  ${'someone wrote another list'}                     | ${'make p/a 2'}                 | ${'p/a'} | ${'0-7'}                       | ${'drifted'}  | ${/promised 1,5, the kernel has cpuset.cpus 0-7/}
  ${'someone wrote a narrower list'}                  | ${'make p/a 2'}                 | ${'p/a'} | ${'1'}                         | ${'drifted'}  | ${/promised 1,5.* 1$/}
  ${'a shared one on CPUs of others'}                 | ${'make p/a 2; make q/s 0'}     | ${'q/s'} | ${'0-7'}                       | ${'drifted'}  | ${/promised 0,2-4,6-7/}
  ${'nothing was written at all'}                     | ${'make p/a 2'}                 | ${'p/a'} | ${' on 0-7'}                   | ${'drifted'}  | ${/no cpuset of its own/}
  ${'as written, but a parent is narrower'}           | ${'make p/a 2'}                 | ${'p/a'} | ${'1,5 on 1'}                  | ${'violated'} | ${/run on 1: a parent/}
  ${'a CPU is going offline'}                         | ${'make p/a 2'}                 | ${'p/a'} | ${'1,5 on 1 of 0-4,6-7'}       | ${'violated'} | ${/as promised.* run on 1: no cgroup has CPUs 5: they are going offline/}
  ${'a CPU is going offline, on version 1'}           | ${'make p/a 2'}                 | ${'p/a'} | ${'1 of 0-4,6-7'}              | ${'violated'} | ${/promised 1,5, but.* run on 1: no cgroup has CPUs 5: they are going offline/}
  ${'narrowed, while others go offline'}              | ${'make p/a 2'}                 | ${'p/a'} | ${'1,5 on 1 of 0-5'}           | ${'violated'} | ${/a parent cgroup is narrower, it lacks CPUs 5/}
  ${'someone wrote, while others go offline'}         | ${'make p/a 2'}                 | ${'p/a'} | ${'1 of 0-5'}                  | ${'drifted'}  | ${/promised 1,5.* 1$/}
  ${'as written, and without a CPU to run on'}        | ${'make p/a 2'}                 | ${'p/a'} | ${'1,5 on '}                   | ${'violated'} | ${/run on no CPU/}
  ${'not started'}                                    | ${'create p/a 2'}               | ${'p/a'} | ${'0-7'}                       | ${'pending'}  | ${/not started/}
  ${'not observed yet'}                               | ${'make p/a 2'}                 | ${'p/a'} | ${'never'}                     | ${'pending'}  | ${/not been looked at/}
  ${'not started, and not observed yet'}              | ${'create p/a 2'}               | ${'p/a'} | ${'never'}                     | ${'pending'}  | ${/not started/}
  ${'its cgroup is gone'}                             | ${'make p/a 2'}                 | ${'p/a'} | ${'gone'}                      | ${'pending'}  | ${/exiting/}
  ${'its cgroup is gone since a moment'}              | ${'make p/a 2'}                 | ${'p/a'} | ${'missing 9999 ms, running'}  | ${'pending'}  | ${/exiting/}
  ${'its cgroup is missing, and it runs'}             | ${'make p/a 2'}                 | ${'p/a'} | ${'missing 10000 ms, running'} | ${'unknown'}  | ${/^its cgroup is not at \/x; it runs so for more than 10 s$/}
  ${'its cgroup is missing, and its end not known'}   | ${'make p/a 2'}                 | ${'p/a'} | ${'missing 60000 ms'}          | ${'unknown'}  | ${/^its cgroup is not at \/x, and the runtime has not reported its end for more than 10 s$/}
  ${'its cgroup cannot be read'}                      | ${'make p/a 2'}                 | ${'p/a'} | ${'unreadable'}                | ${'unknown'}  | ${/EACCES/}
  ${'its cgroup is there and its process is not yet'} | ${'create p/a 2; starting p/a'} | ${'p/a'} | ${'1,5'}                       | ${'kept'}     | ${/./}
`('$name: $kind', ({ history, target, seen, kind, because }: Record<string, string> & { because: RegExp }) => {
  const node = new NodeDriver().run(history!);
  const verdict = judge(node.model, node.container(target!)!, observationOf(seen!));
  expect(verdict).toEqual({ kind, because: expect.stringMatching(because) });
});

test('a container without a promise has the verdict left-alone', () => {
  const node = new NodeDriver(undefined, { cpuManagerPolicy: 'none' }).run('make p/a 2');
  for (const seen of ['0', '0-7', 'gone', 'unreadable', 'never']) {
    expect(judge(node.model, node.container('p/a')!, observationOf(seen)).kind).toBe('left-alone');
  }
});

describe('memory nodes', () => {
  const node = new NodeDriver().run('make p/a 2');
  const container = { ...node.container('p/a')!, promise: { cpus: cpus('1,5'), mems: cpus('0') } } satisfies Container;
  test.each`
    mems     | kind
    ${'0'}   | ${'kept'}
    ${'1'}   | ${'drifted'}
    ${'0-1'} | ${'drifted'}
    ${''}    | ${'drifted'}
  `('promised 0, seen "$mems": $kind', ({ mems, kind }: { mems: string; kind: string }) => {
    const seen = { kind: 'seen', cpus: cpus('1,5'), effective: cpus('1,5'), mems: cpus(mems) } as const;
    expect(judge(node.model, container, seen).kind).toBe(kind);
  });
});

describe('CPUs went offline', () => {
  const machine = machineOf(8, 1);
  const node = new NodeDriver(machine).run('make p/a 2; make q/s 0');

  test.each`
    name                                           | gone       | target   | seen       | kind
    ${'one of the container: it has the others'}   | ${'2'}     | ${'p/a'} | ${'1'}     | ${'violated'}
    ${'all of the container: it runs in the pool'} | ${'1-2'}   | ${'p/a'} | ${'0,3-7'} | ${'violated'}
    ${'one of the pool'}                           | ${'7'}     | ${'q/s'} | ${'0,3-6'} | ${'kept'}
    ${'all of the pool: it is on exclusive ones'}  | ${'0,3-7'} | ${'q/s'} | ${'1-2'}   | ${'violated'}
    ${'all of the pool, seen by the container'}    | ${'0,3-7'} | ${'p/a'} | ${'1-2'}   | ${'kept'}
  `('$name: $kind', ({ gone, target, seen, kind }: Record<'gone' | 'target' | 'seen' | 'kind', string>) => {
    node.setTopology(without(machine, gone));
    expect(judge(node.model, node.container(target)!, observationOf(seen)).kind).toBe(kind);
  });
});

describe('held under old rules', () => {
  test.each`
    name                                     | before                                  | now                                                                     | because
    ${'nothing changed'}                     | ${{}}                                   | ${{}}                                                                   | ${undefined}
    ${'its CPUs are reserved now'}           | ${{}}                                   | ${{ reserved: '0-1' }}                                                  | ${'CPUs 1 are reserved now'}
    ${'other CPUs are reserved now'}         | ${{}}                                   | ${{ reserved: '0,4' }}                                                  | ${undefined}
    ${'an option was switched on'}           | ${{}}                                   | ${{ options: { fullPcpusOnly: true } }}                                 | ${'given with the policy options none, which are full-pcpus-only now'}
    ${'an option was switched off'}          | ${{ options: { fullPcpusOnly: true } }} | ${{}}                                                                   | ${'given with the policy options full-pcpus-only, which are none now'}
    ${'the policy is none now'}              | ${{}}                                   | ${{ cpuManagerPolicy: 'none' }}                                         | ${'given under cpu-manager-policy static, which is none now'}
    ${'a rule for other containers changed'} | ${{}}                                   | ${{ minSharedCpus: 3, onInsufficientCpu: 'share', liftCpuQuota: true }} | ${undefined}
  `('$name', ({ before, now, because }: { before: Rules; now: Rules; because: string | undefined }) => {
    const node = new NodeDriver(undefined, before).run('make p/a 2');
    const [assignment] = node.model.assignments.values();
    expect(explainOldRules(assignment!, settingsWith(now))).toBe(because);
    node.setRules(now);
    const verdict = judge(node.model, node.container('p/a')!, observationOf('1,5'));
    expect(verdict.kind).toBe(because === undefined ? 'kept' : 'held-under-old-rules');
  });
});

describe("containers of Crane's policies", () => {
  const ONE_NODE: Rules = { podPolicies: ['immovable', 'numa'] };
  const nodeWith = (policy: string, rules: Rules = ONE_NODE): NodeDriver => {
    const node = new NodeDriver(machineOf(4, 1), rules);
    node.podFields.set('p', { annotations: { 'cpusetd.io/policy': policy } });
    return node.run('make p/a 2; make q/s 1');
  };
  const judged = (node: NodeDriver, target = 'p/a') =>
    judge(node.model, node.container(target)!, observationOf(node.container(target)!.promise!.cpus.toString()));

  test.each`
    name                                       | policy         | change                                                                                    | kind                      | because
    ${'numa: kept'}                            | ${'numa'}      | ${() => undefined}                                                                        | ${'kept'}                 | ${/^shares the CPUs of NUMA node 0/}
    ${'numa: the others are offline'}          | ${'numa'}      | ${(node: NodeDriver) => node.setTopology(without(machineOf(4, 1), '2-3'))}                | ${'kept'}                 | ${/it runs on reserved CPUs 0, since no others are left/}
    ${'numa: no more allowed'}                 | ${'numa'}      | ${(node: NodeDriver) => node.setRules({})}                                                | ${'held-under-old-rules'} | ${/its pod chose the policy numa, which pods may not choose any more/}
    ${'numa: options are not for it'}          | ${'numa'}      | ${(node: NodeDriver) => node.setRules({ ...ONE_NODE, options: { fullPcpusOnly: true } })} | ${'kept'}                 | ${/./}
    ${'immovable: kept'}                       | ${'immovable'} | ${() => undefined}                                                                        | ${'kept'}                 | ${/^2 fixed CPUs/}
    ${'immovable: reserved now'}               | ${'immovable'} | ${(node: NodeDriver) => node.setRules({ ...ONE_NODE, reserved: '0-1' })}                  | ${'held-under-old-rules'} | ${/CPUs 1 are reserved now/}
    ${'immovable: another policy of the node'} | ${'immovable'} | ${(node: NodeDriver) => node.setRules({ ...ONE_NODE, cpuManagerPolicy: 'none' })}         | ${'kept'}                 | ${/./}
    ${'immovable: one is offline'}             | ${'immovable'} | ${(node: NodeDriver) => node.setTopology(without(machineOf(4, 1), '2'))}                  | ${'violated'}             | ${/promised CPUs 2 are offline/}
  `(
    '$name',
    ({
      policy,
      change,
      kind,
      because,
    }: Record<'policy' | 'kind', string> & { change: (node: NodeDriver) => void; because: RegExp }) => {
      const node = nodeWith(policy);
      change(node);
      expect(judged(node)).toEqual({ kind, because: expect.stringMatching(because) });
    },
  );

  test('numa: nothing is left on its nodes', () => {
    const node = nodeWith('numa');
    node.run('end q/s; stop q');
    const assignment = node.model.assignments.get('p/a')!;
    node.model.apply({ kind: 'put-assignment', assignment: { ...assignment, nodes: cpus('7') } });
    expect(judged(node)).toEqual({
      kind: 'violated',
      because: expect.stringMatching(/nothing is shared on NUMA nodes 7/),
    });
  });
});
