import { NodeDriver } from './node-driver';

test.each`
  name                                                                                    | history                                                                                | state
  ${'the CPUs of a pod are released when its sandbox is stopped and empty'}               | ${'make p/a 2; end p/a; stop p'}                                                       | ${'pool 0-7'}
  ${'the CPUs of a stopped pod stay while a container runs'}                              | ${'make p/a 2; stop p'}                                                                | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'the last end after the stop releases all CPUs'}                                      | ${'make p/a 2; make p/b 2; stop p; end p/a; end p/b'}                                  | ${'pool 0-7'}
  ${'the first end after the stop releases nothing'}                                      | ${'make p/a 2; make p/b 2; stop p; end p/a'}                                           | ${'p/a 1,5 idle; p/b 2,6; pool 0,3-4,7'}
  ${'a removal without stop and end releases the CPUs'}                                   | ${'make p/a 2; make p/b 0; remove p'}                                                  | ${'pool 0-7'}
  ${'a second removal changes nothing'}                                                   | ${'make p/a 2; remove p; remove p'}                                                    | ${'pool 0-7'}
  ${'a stop of an unknown sandbox changes nothing'}                                       | ${'make p/a 2; stop q; remove q'}                                                      | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a new sandbox of the same pod keeps the CPUs'}                                       | ${'make p/a 2; end p/a; pod p s2; stop p sandbox-p; remove p sandbox-p'}               | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
  ${'the containers of the new sandbox get the CPUs back'}                                | ${'make p/a 2; end p/a; pod p s2; stop p sandbox-p; make p/a 2'}                       | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'the stop of the old sandbox after the new container runs releases nothing'}          | ${'make p/a 2; end p/a; pod p s2; make p/a 2; stop p sandbox-p; remove p sandbox-p'}   | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'the stop of both sandboxes releases the CPUs'}                                       | ${'make p/a 2; end p/a; pod p s2; make p/a 2; remove p sandbox-p; end p/a; stop p s2'} | ${'pool 0-7'}
  ${'the stop of the new sandbox while a container of the old one runs releases nothing'} | ${'make p/a 2; pod p s2; stop p s2; stop p sandbox-p'}                                 | ${'p/a 1,5; pool 0,2-4,6-7'}
  ${'a creation in a stopped pod ends the stop'}                                          | ${'make p/a 2; end p/a; make p/b 0; stop p; make p/a 2; end p/b; end p/a'}             | ${'p/a 1,5 idle; pool 0,2-4,6-7'}
`('$name', ({ history, state }: { history: string; state: string }) => {
  expect(new NodeDriver().run(history).state).toBe(state);
});

test('given a removed pod, then neither pod nor container is in the model', () => {
  const { model } = new NodeDriver().run('make p/a 2; make p/b 0; create p/c 1; remove p');
  expect([model.pods.size, model.containers.size, model.assignments.size]).toEqual([0, 0, 0]);
});
