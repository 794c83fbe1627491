import { machineOf, NodeDriver } from './node-driver';

describe('given exclusive CPUs of an exited container, then they stay with its pod until the sandbox goes', () => {
  test.each`
    name                                                                             | history                                                                                    | state
    ${'an init container ends: its CPUs stay idle for the next container'}           | ${'make p/init 2; end p/init'}                                                             | ${'p/init 1,5 idle; pool 0,2-4,6-7'}
    ${'init -> app of the same size: the app takes the CPUs over'}                   | ${'make p/init 2; end p/init; make p/app 2'}                                               | ${'p/app 1,5; pool 0,2-4,6-7'}
    ${'init -> smaller app: the rest stays idle with the pod'}                       | ${'make p/init 4; end p/init; make p/app 2'}                                               | ${'p/app 1,5; p/init 2,6 idle; pool 0,3-4,7'}
    ${'init -> larger app: idle CPUs first, the others from the node'}               | ${'make p/init 2; end p/init; make p/app 4'}                                               | ${'p/app 1-2,5-6; pool 0,3-4,7'}
    ${'two init and two app containers: each takes idle CPUs'}                       | ${'make p/i1 2; end p/i1; make p/i2 4; end p/i2; make p/a 2; make p/b 2'}                  | ${'p/a 1,5; p/b 2,6; pool 0,3-4,7'}
    ${'idle CPUs of a pod are not given to other pods'}                              | ${'make p/init 2; end p/init; make q/app 4'}                                               | ${'p/init 1,5 idle; q/app 2-3,6-7; pool 0,4'}
    ${'a sidecar that runs keeps its CPUs'}                                          | ${'make p/side 2; make p/app 2'}                                                           | ${'p/app 2,6; p/side 1,5; pool 0,3-4,7'}
    ${'a sidecar that restarts gets its own CPUs back'}                              | ${'make p/side 2; make p/app 2; end p/side; make p/side 2'}                                | ${'p/app 2,6; p/side 1,5; pool 0,3-4,7'}
    ${'one container restarts: the same CPUs'}                                       | ${'make p/a 2; make p/b 2; end p/b; make p/b 2'}                                           | ${'p/a 1,5; p/b 2,6; pool 0,3-4,7'}
    ${'all containers restart, in another order: each its own'}                      | ${'make p/a 2; make p/b 2; end p/a; end p/b; make p/b 2; make p/a 2'}                      | ${'p/a 1,5; p/b 2,6; pool 0,3-4,7'}
    ${'a crash loop stays on the same CPUs'}                                         | ${'make p/a 2; end p/a; make q/x 2; make p/a 2; end p/a; make p/a 2; end p/a; make p/a 2'} | ${'p/a 1,5; q/x 2,6; pool 0,3-4,7'}
    ${'a container that crashes at creation keeps its CPUs in between'}              | ${'make p/a 2; end p/a; ask p/a 2; end p/a; make q/x 2; make p/a 2'}                       | ${'p/a 1,5; q/x 2,6; pool 0,3-4,7'}
    ${'an ephemeral container shares, and leaves no trace'}                          | ${'make p/app 2; make p/debug 0; end p/debug'}                                             | ${'p/app 1,5; pool 0,2-4,6-7'}
    ${'a restart with a fraction of a CPU gives the old set back'}                   | ${'make p/app 2; end p/app; make p/app 0.5'}                                               | ${'pool 0-7'}
    ${'a restart with fewer CPUs keeps some of the old ones'}                        | ${'make p/app 4; end p/app; make p/app 2'}                                                 | ${'p/app 1,5; pool 0,2-4,6-7'}
    ${'a new container is created before the end event of the old one'}              | ${'make p/app 2; make p/app 2; end p/app#1'}                                               | ${'p/app 1,5; pool 0,2-4,6-7'}
    ${'a late end event of the old container does not free the CPUs of the new one'} | ${'make p/app 2; end p/app#1; make p/app 2; end p/app#1; forget p/app#1'}                  | ${'p/app 1,5; pool 0,2-4,6-7'}
    ${'the pod goes: all CPUs are released'}                                         | ${'make p/init 4; end p/init; make p/app 2; end p/app; stop p; remove p'}                  | ${'pool 0-7'}
  `('$name', ({ history, state }: { history: string; state: string }) => {
    expect(new NodeDriver().run(history).state).toBe(state);
  });
});

describe('given full-pcpus-only', () => {
  test.each`
    name                                                       | history                                          | state
    ${'a restart keeps whole cores'}                           | ${'make p/a 2; end p/a; make p/a 2'}             | ${'p/a 1,5; pool 0,2-4,6-7'}
    ${'idle cores of the pod go first'}                        | ${'make p/i 4; end p/i; make q/x 2; make p/a 2'} | ${'p/a 1,5; p/i 2,6 idle; q/x 3,7; pool 0,4'}
    ${'idle cores do not suffice: whole free cores are added'} | ${'make p/i 2; end p/i; make p/a 4'}             | ${'p/a 1-2,5-6; pool 0,3-4,7'}
    ${'the thread beside the reserved CPU is never given out'} | ${'make p/a 6; make q/b 2'}                      | ${'p/a 1-3,5-7; pool 0,4'}
  `('$name', ({ history, state }: { history: string; state: string }) => {
    expect(new NodeDriver(undefined, { options: { fullPcpusOnly: true } }).run(history).state).toBe(state);
  });

  test('given half cores from before the option was on, then a restart gets whole cores', () => {
    const node = new NodeDriver(machineOf(4, 2), { reserved: '0,4' }).run('make p/x 1; make p/a 2; end p/x');
    expect(node.state).toBe('p/a 2,6; p/x 1 idle; pool 0,3-5,7');
    node.setRules({ reserved: '0,4', options: { fullPcpusOnly: true } });
    expect(node.run('make p/b 2').state).toBe('p/a 2,6; p/b 3,7; p/x 1 idle; pool 0,4-5');
    // Only the idle CPU 1 and the free CPU 5 are left, and together they are a core.
    expect(node.run('make p/c 2').state).toBe('p/a 2,6; p/b 3,7; p/c 1,5; pool 0,4');
  });
});
