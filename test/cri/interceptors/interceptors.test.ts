import { ContainerState, ListContainersRequest, ListContainersResponse } from '../../gen/cri/v1/cri';
import { parseCpuList } from '../../../src/core/cpuset';
import type { ContainerInfo } from '../../../src/core/model/events';
import { Draft, handle } from '../../../src/core/transition';
import { captureBaseline, mergeInventory } from '../../../src/core/transition';
import { readCreateContainer, readUpdateContainer } from '../../../src/cri/messages/read-request';
import { createRequest, resourcesOf, updateRequest } from './messages';
import { type Call, created, idOf, settled, Stage } from './stage';

/** 8 CPUs, siblings are c and c+4, CPU 0 is reserved: two CPUs are 1 and 5. */
const cpusOf = (message: Uint8Array | string) =>
  typeof message === 'string' ? message : readCreateContainer(message)?.container.resources.cpus;

const asRunning = (stage: Stage, id: string, phase: ContainerInfo['phase'] = 'running'): ContainerInfo => ({
  ...stage.model.containers.get(id)!,
  phase,
});

const list = (filter: object | undefined) =>
  ListContainersRequest.encode(ListContainersRequest.fromPartial(filter ? { filter } : {})).finish();
const listed = (...containers: { id: string; state: ContainerState }[]) =>
  ListContainersResponse.encode(ListContainersResponse.fromPartial({ containers })).finish();

describe('CreateContainer', () => {
  test("given free CPUs, the container gets them after others have left, and has the id of the runtime's answer", async () => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    const call = stage.call('CreateContainer');
    expect(cpusOf(await call.request(createRequest('p/db', 2)))).toBe('1,5');
    expect(stage.model.containers.get('s/web')?.applied?.cpus.toString()).toBe('0,2-4,6-7');
    await call.answer(created('the-id'));
    expect(stage.promises).toEqual({ 's/web': '0,2-4,6-7', 'the-id': '1,5', pool: '0,2-4,6-7' });
    expect(stage.model.containers.get('the-id')).toMatchObject({
      phase: 'created',
      cgroupsPath: '/kubepods/podp/the-id',
    });
    expect([...stage.model.assignments.values()].map(({ containerId }) => containerId)).toEqual(['the-id']);
  });

  test.each`
    name                                          | end
    ${'the runtime refuses'}                      | ${'fail'}
    ${'the caller gives up after the forwarding'} | ${'cancel'}
  `('when $name, its CPUs go back at once', async ({ end }: { end: 'fail' | 'cancel' }) => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    const call = stage.call('CreateContainer');
    await call.request(createRequest('p/db', 2));
    await call[end]();
    expect(stage.promises).toEqual({ 's/web': '0-7', pool: '0-7' });
    expect(stage.model.assignments.size).toBe(0);
  });

  test('a call that is cancelled during the decision leaves no assignment', async () => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    stage.writes = false;
    let arrived: (() => void) | undefined;
    stage.carryOut = () => new Promise((resolve) => (arrived = () => resolve(undefined)));
    const call = stage.call('CreateContainer');
    const verdict = call.request(createRequest('p/db', 2));
    while (arrived === undefined) await settled();
    await call.cancel();
    arrived();
    await verdict;
    expect(stage.promises).toEqual({ 's/web': '0-7', pool: '0-7' });
    expect(stage.model.assignments.size).toBe(0);
  });

  test('a restart that the runtime refuses leaves the CPUs with the pod', async () => {
    const stage = new Stage();
    await stage.run('p/db', 2);
    await stage.end('StopContainer', 'p/db');
    const call = stage.call('CreateContainer');
    expect(cpusOf(await call.request(createRequest('p/db', 2)))).toBe('1,5');
    await call.fail();
    expect(stage.promises).toEqual({ pool: '0,2-4,6-7' });
    expect([...stage.model.assignments.values()].map(({ containerId }) => containerId)).toEqual([null]);
  });

  test('a container that does not fit is refused with the reason of the core, and leaves no assignment', async () => {
    const stage = new Stage();
    expect(await stage.create('p/db', 8)).toMatch(/^RESOURCE_EXHAUSTED: .*asked for 8 exclusive CPUs, 7 can be given/);
    expect(stage.promises).toEqual({ pool: '0-7' });
  });

  test('without writes to cgroups, the creation waits until the runtime has moved the others', async () => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    stage.writes = false;
    expect(cpusOf(await stage.create('p/db', 2))).toBe('1,5');
    expect(stage.carried).toEqual(['s/web']);
  });

  test('when another container can not be moved, the creation is refused and takes no CPUs', async () => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    stage.writes = false;
    stage.carryOut = () => Promise.resolve('the runtime is stubborn');
    expect(await stage.create('p/db', 2)).toBe(
      'UNAVAILABLE: its CPUs could not be cleared of other containers; try again',
    );
    expect(stage.promises).toEqual({ 's/web': '0-7', pool: '0-7' });
    expect(stage.model.assignments.size).toBe(0);
  });

  test('with on-insufficient-cpu share, the container that can not get CPUs shares', async () => {
    const stage = new Stage({ onInsufficientCpu: 'share' });
    await stage.run('s/web', 0.5);
    stage.writes = false;
    stage.carryOut = () => Promise.resolve('the runtime is stubborn');
    expect(cpusOf(await stage.create('p/db', 2))).toBe('0-7');
    expect(stage.model.containers.get('p/db')).toMatchObject({
      placement: 'shared',
      because: expect.stringContaining('the runtime is stubborn') as string,
    });
    expect(stage.model.assignments.size).toBe(0);
  });

  test('creations in one turn of the event loop share one durable write', async () => {
    const stage = new Stage();
    const calls = Array.from({ length: 5 }, () => stage.call('CreateContainer'));
    const verdicts = await Promise.all(calls.map((call, i) => call.request(createRequest(`p${i}/db`, 1))));
    expect(new Set(verdicts.map(cpusOf)).size).toBe(5);
    expect(stage.saves).toBe(1);
  });

  test('a creation waits for the synchronization, and is refused when that takes too long', async () => {
    const stage = new Stage();
    stage.ready = Promise.resolve(false);
    expect(await stage.create('p/db', 1)).toMatch(/^NOT_SYNCHRONIZED: /);
    expect(stage.events).toEqual([]);
  });

  test('a request that can not be read is refused', async () => {
    const stage = new Stage();
    expect(await stage.call('CreateContainer').request(Uint8Array.of(0x12, 0x7f))).toMatch(/^INVALID_ARGUMENT: /);
  });

  test('a creation by v1alpha2, as before Kubernetes 1.26, gets its CPUs too', async () => {
    const stage = new Stage();
    const old = stage.adapter.interceptors.get('/runtime.v1alpha2.RuntimeService/CreateContainer');
    expect(old).toBe(stage.call('CreateContainer').interceptor);
  });

  test('a pod of another operating system passes unchanged', async () => {
    const stage = new Stage();
    const message = Uint8Array.of(0x0a, 1, 0x73);
    expect(await stage.call('CreateContainer').request(message)).toBe(message);
    expect(stage.events).toEqual([]);
  });
});

describe('StartContainer', () => {
  test("when the pool has changed since the creation, the runtime's record is updated before the start", async () => {
    const stage = new Stage();
    await stage.create('s/web', 0.5);
    await stage.run('p/db', 2);
    expect(stage.carried).toEqual([]);
    await stage.start('s/web');
    expect(stage.carried).toEqual(['s/web']);
    expect(stage.model.containers.get('s/web')).toMatchObject({ phase: 'running' });
  });

  test('a start is refused when the record can not be written', async () => {
    const stage = new Stage();
    await stage.create('s/web', 0.5);
    await stage.run('p/db', 2);
    stage.carryOut = () => Promise.resolve('no');
    expect(await stage.call('StartContainer').request(idOf('s/web'))).toMatch(/^UNAVAILABLE: /);
    expect(stage.adapter.isBusy('s/web')).toBe(false);
  });

  test('before the node is synchronized a start is refused', async () => {
    const stage = new Stage();
    await stage.create('p/db', 2);
    stage.ready = Promise.resolve(false);
    expect(await stage.call('StartContainer').request(idOf('p/db'))).toMatch(/^NOT_SYNCHRONIZED: /);
    expect(stage.adapter.isBusy('p/db')).toBe(false);
  });

  test('a start that can not be read is refused', async () => {
    const stage = new Stage();
    expect(await stage.call('StartContainer').request(Uint8Array.of(0x0a, 0x7f))).toMatch(/^INVALID_ARGUMENT: /);
  });

  test('the record of a container that the runtime does not have any more is written once, not again and again', async () => {
    const stage = new Stage();
    await stage.create('s/web', 0.5);
    await stage.run('p/db', 2); // the record of web is behind now
    let asked = 0;
    stage.adoptWrites = false; // "no such container" is no failure, and changes nothing
    stage.carryOut = () => {
      asked++;
      return Promise.resolve(undefined);
    };
    expect(await stage.call('StartContainer').request(idOf('s/web'))).toEqual(idOf('s/web'));
    expect(asked).toBe(1);
  });

  test('a container with exclusive CPUs waits for a late start of another that is still on them', async () => {
    const stage = new Stage();
    await stage.create('s/web', 0.5);
    const web = stage.call('StartContainer');
    await web.request(idOf('s/web'));
    expect(stage.adapter.isBusy('s/web')).toBe(true);
    await stage.create('p/db', 2); // the pool shrinks while the runtime starts the other from an older record
    const order: string[] = [];
    const db = stage.call('StartContainer').request(idOf('p/db'));
    const forwarded = db.then(() => order.push('db forwarded'));
    await settled();
    await web.answer();
    order.push('web answered');
    await forwarded;
    expect(order).toEqual(['web answered', 'db forwarded']);
    expect(stage.model.containers.get('s/web')?.applied?.cpus.toString()).toBe('0,2-4,6-7');
  });

  test.each`
    name                                       | phase        | want
    ${'it runs all the same'}                  | ${'running'} | ${{ 'p/db': '1,5', pool: '0,2-4,6-7' }}
    ${'it exited: its CPUs stay with the pod'} | ${'exited'}  | ${{ pool: '0,2-4,6-7' }}
  `(
    'after a start that failed the runtime is asked: $name',
    async ({ phase, want }: { phase: 'running' | 'exited'; want: object }) => {
      const stage = new Stage();
      await stage.create('p/db', 2);
      stage.readContainer = (id) => Promise.resolve(asRunning(stage, id, phase));
      const call = stage.call('StartContainer');
      await call.request(idOf('p/db'));
      await call.fail();
      expect(stage.promises).toEqual(want);
      expect(stage.model.containers.get('p/db')?.phase).toBe(phase === 'running' ? 'running' : undefined);
      expect(stage.adapter.isBusy('p/db')).toBe(false);
    },
  );

  test('when the runtime can not be asked after a cancelled start, the model does not change', async () => {
    const stage = new Stage();
    await stage.create('p/db', 2);
    stage.readContainer = () => Promise.reject(new Error('away'));
    const call = stage.call('StartContainer');
    await call.request(idOf('p/db'));
    await call.cancel();
    expect(stage.promises).toEqual({ 'p/db': '1,5', pool: '0,2-4,6-7' });
  });

  test('a container that the model does not have is read from the runtime before its start', async () => {
    const stage = new Stage();
    const unknown = {
      id: 'x',
      sandboxId: 's',
      name: 'x',
      phase: 'created',
      cgroupsPath: '/a/x',
      resources: {},
    } as const;
    stage.readContainer = () => Promise.resolve(unknown);
    let asked = 0;
    stage.synchronize = () => (asked++, Promise.resolve());
    const message = idOf('x');
    expect(await stage.call('StartContainer').request(message)).toBe(message);
    expect(asked).toBe(1);
  });

  test('a start of a container that the runtime does not have is forwarded unchanged', async () => {
    const stage = new Stage();
    const message = idOf('x');
    expect(await stage.call('StartContainer').request(message)).toBe(message);
  });
});

describe('UpdateContainerResources', () => {
  const carried = (message: Uint8Array | string) =>
    typeof message === 'string' ? message : readUpdateContainer(message).resources;

  test('an update with any cpuset is forwarded with the promised one', async () => {
    const stage = new Stage();
    await stage.run('p/db', 2);
    const call = stage.call('UpdateContainerResources');
    const forwarded = await call.request(updateRequest('p/db', { cpusetCpus: '0-7', memoryLimitInBytes: 1n << 27n }));
    expect(carried(forwarded)).toEqual({ cpus: '1,5', memoryLimitBytes: 1 << 27 });
    await call.answer();
    expect(stage.model.containers.get('p/db')).toMatchObject({ applied: { cpus: parseCpuList('1,5') } });
  });

  test('a resize that does not fit is refused, and the container keeps its CPUs', async () => {
    const stage = new Stage();
    await stage.run('p/db', 2);
    const call = stage.call('UpdateContainerResources');
    expect(await call.request(updateRequest('p/db', resourcesOf(8)))).toMatch(/^RESOURCE_EXHAUSTED: /);
    expect(stage.promises).toEqual({ 'p/db': '1,5', pool: '0,2-4,6-7' });
  });

  test('before the node is synchronized a resize is refused', async () => {
    const stage = new Stage();
    await stage.run('p/db', 2);
    stage.ready = Promise.resolve(false);
    const call = stage.call('UpdateContainerResources');
    expect(await call.request(updateRequest('p/db', resourcesOf(4)))).toMatch(/^NOT_SYNCHRONIZED: /);
    expect(stage.promises).toEqual({ 'p/db': '1,5', pool: '0,2-4,6-7' });
  });

  test('an update of a container that the runtime does not have is forwarded unchanged', async () => {
    const stage = new Stage();
    const message = updateRequest('x', resourcesOf(4));
    expect(await stage.call('UpdateContainerResources').request(message)).toBe(message);
  });

  test('an update that can not be read is refused', async () => {
    const stage = new Stage();
    const call = stage.call('UpdateContainerResources');
    expect(await call.request(Uint8Array.of(0x0a, 0x7f))).toMatch(/^INVALID_ARGUMENT: /);
  });

  test('a resize whose CPUs can not be cleared of others is taken back', async () => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    await stage.run('p/db', 2);
    stage.writes = false;
    stage.carryOut = () => Promise.resolve('no');
    const call = stage.call('UpdateContainerResources');
    expect(await call.request(updateRequest('p/db', resourcesOf(4)))).toMatch(/^UNAVAILABLE: /);
    expect(stage.promises).toEqual({ 's/web': '0,2-4,6-7', 'p/db': '1,5', pool: '0,2-4,6-7' });
  });

  test('an update during a start of its container waits for the start, since the runtime would lose it', async () => {
    const stage = new Stage();
    await stage.create('p/db', 2);
    const start = stage.call('StartContainer');
    await start.request(idOf('p/db'));
    let isForwarded = false;
    const update = stage.call('UpdateContainerResources').request(updateRequest('p/db', { cpuShares: 2048n }));
    const forwarded = update.then(() => (isForwarded = true));
    await settled();
    expect(isForwarded).toBe(false);
    await start.answer();
    await forwarded;
  });

  test('when the promise changes while the runtime writes the older one, the new one is written before the caller gets the answer', async () => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    const call = stage.call('UpdateContainerResources');
    await call.request(updateRequest('s/web', { cpuShares: 300n }));
    await stage.create('p/db', 2);
    const moved: string[] = [];
    const apply = stage.model.apply.bind(stage.model);
    stage.model.apply = (change) => {
      if (change.kind === 'put-container') moved.push(change.container.applied?.cpus.toString() ?? '');
      return apply(change);
    };
    await call.answer();
    expect([moved[0], moved.at(-1)]).toEqual(['0-7', '0,2-4,6-7']);
  });

  test.each`
    how                                           | finish                           | after
    ${'the runtime refuses is taken back'}        | ${(call: Call) => call.fail()}   | ${{ 'p/db': '1,5', pool: '0,2-4,6-7' }}
    ${'may have been carried out stays decided'}  | ${(call: Call) => call.cancel()} | ${{ 'p/db': '1-2,5-6', pool: '0,3-4,7' }}
    ${'the runtime has carried out is the truth'} | ${(call: Call) => call.answer()} | ${{ 'p/db': '1-2,5-6', pool: '0,3-4,7' }}
  `('a resize that $how', async ({ finish, after }: { finish: (call: Call) => Promise<void>; after: unknown }) => {
    const stage = new Stage();
    await stage.run('p/db', 2);
    const call = stage.call('UpdateContainerResources');
    await call.request(updateRequest('p/db', resourcesOf(4)));
    expect(stage.promises['p/db']).toBe('1-2,5-6');
    await finish(call);
    expect(stage.promises).toEqual(after);
  });

  test('a resize that the caller gives up before it is forwarded is taken back', async () => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    await stage.run('p/db', 2);
    stage.writes = false;
    let cleared = (_failure: undefined): void => undefined;
    stage.carryOut = () => new Promise((resolve) => (cleared = resolve));
    const call = stage.call('UpdateContainerResources');
    const decided = call.request(updateRequest('p/db', resourcesOf(4)));
    await settled();
    expect(stage.promises['p/db']).toBe('1-2,5-6');
    await call.cancel();
    cleared(undefined);
    await decided;
    expect(stage.promises).toEqual({ 's/web': '0,2-4,6-7', 'p/db': '1,5', pool: '0,2-4,6-7' });
  });

  test('after a failure the record counts as unknown', async () => {
    const stage = new Stage();
    await stage.run('p/db', 2);
    const call = stage.call('UpdateContainerResources');
    await call.request(updateRequest('p/db', { cpuShares: 2048n }));
    await call.fail();
    expect(stage.model.containers.get('p/db')).not.toHaveProperty('runtimeRecord');
    expect(stage.adapter.isBusy('p/db')).toBe(false);
  });
});

describe('the end of containers and pods', () => {
  test.each(['StopContainer', 'RemoveContainer'])(
    '%s takes effect when the runtime has answered, not before',
    async (method) => {
      const stage = new Stage();
      await stage.run('p/db', 2);
      const failing = stage.call(method);
      await failing.request(idOf('p/db'));
      await failing.fail();
      expect(stage.promises).toHaveProperty('p/db');
      await stage.end(method, 'p/db');
      expect(stage.promises).toEqual({ pool: '0,2-4,6-7' }); // idle, and kept by its pod
    },
  );

  test.each(['StopPodSandbox', 'RemovePodSandbox'])('%s gives the CPUs of the pod back', async (method) => {
    const stage = new Stage();
    await stage.run('p/db', 2);
    await stage.run('p/web', 1);
    await stage.end(method, 'sandbox-p');
    expect(stage.promises).toEqual({ pool: '0-7' });
    expect(stage.model.assignments.size).toBe(0);
  });

  test('a complete list shows which containers exited, and which are gone', async () => {
    const stage = new Stage();
    for (const id of ['p/a', 'p/b', 'p/c']) await stage.run(id, 1);
    const call = stage.call('ListContainers');
    await call.request(list(undefined));
    await stage.run('p/later', 1);
    await call.answer(
      listed(
        { id: 'p/a', state: ContainerState.CONTAINER_RUNNING },
        { id: 'p/b', state: ContainerState.CONTAINER_EXITED },
      ),
    );
    await settled();
    expect([...stage.model.containers.keys()].sort()).toEqual(['p/a', 'p/later']);
  });

  test('a filtered list changes only the containers in it', async () => {
    const stage = new Stage();
    for (const id of ['p/a', 'p/b']) await stage.run(id, 1);
    const call = stage.call('ListContainers');
    await call.request(list({ podSandboxId: 'sandbox-p' }));
    await call.answer(listed({ id: 'p/b', state: ContainerState.CONTAINER_EXITED }));
    await settled();
    expect([...stage.model.containers.keys()]).toEqual(['p/a']);
  });

  test('a list does not change a container under creation', async () => {
    const stage = new Stage();
    const creation = stage.call('CreateContainer');
    await creation.request(createRequest('p/db', 1));
    const call = stage.call('ListContainers');
    await call.request(list(undefined));
    await call.answer(listed());
    await creation.answer(created('p/db'));
    await settled();
    expect([...stage.model.containers.keys()]).toEqual(['p/db']);
  });

  test('a list shows a start whose answer was lost', async () => {
    const stage = new Stage();
    await stage.create('p/db', 1);
    const call = stage.call('ListContainers');
    await call.request(list(undefined));
    await call.answer(listed({ id: 'p/db', state: ContainerState.CONTAINER_RUNNING }));
    await settled();
    expect(stage.model.containers.get('p/db')?.phase).toBe('running');
  });
});

describe('an inventory that was read during calls', () => {
  const merge = async (stage: Stage, meanwhile: () => Promise<unknown>, containers: readonly ContainerInfo[]) => {
    const before = captureBaseline(stage.model);
    await meanwhile();
    const pods = [...stage.model.pods.values()];
    return mergeInventory(stage.model, before, { pods, containers });
  };

  test('a container that ended meanwhile does not come back', async () => {
    const stage = new Stage();
    await stage.run('p/db', 1);
    const old = asRunning(stage, 'p/db');
    const event = await merge(stage, () => stage.end('StopContainer', 'p/db'), [old]);
    expect(event.containers).toEqual([]);
  });

  test('a container that was started meanwhile stays', async () => {
    const stage = new Stage();
    await stage.create('p/db', 1);
    const old = asRunning(stage, 'p/db', 'created');
    const event = await merge(stage, () => stage.start('p/db'), [old]);
    expect(event.containers.map(({ phase }) => phase)).toEqual(['running']);
  });

  test('a container under creation is left to its call, if the runtime lists it or not', async () => {
    const stage = new Stage();
    await stage.run('s/web', 0.5);
    const call = stage.call('CreateContainer');
    await call.request(createRequest('p/db', 2));
    const listedAs = { ...asRunning(stage, [...stage.model.containers.keys()][1]!, 'created'), id: 'the-id' };
    for (const containers of [[asRunning(stage, 's/web'), listedAs], [asRunning(stage, 's/web')]]) {
      const event = await merge(stage, () => Promise.resolve(), containers);
      expect(event.containers.map(({ id }) => id)).toEqual(['s/web']);
      handle(new Draft(stage.model, '2026-01-01T00:00:00Z'), event);
    }
    await call.answer(created('the-id'));
    expect(stage.promises).toEqual({ 's/web': '0,2-4,6-7', 'the-id': '1,5', pool: '0,2-4,6-7' });
  });
});

describe('a creation in progress', () => {
  test.each`
    method               | message
    ${'RunPodSandbox'}   | ${() => new Uint8Array()}
    ${'CreateContainer'} | ${() => createRequest('p/db', 2)}
    ${'StartContainer'}  | ${() => idOf('p/gone')}
  `(
    'from the request to the end of $method',
    async ({ method, message }: { method: string; message: () => Uint8Array }) => {
      const stage = new Stage();
      const calls = [stage.call(method), stage.call(method)];
      const seen: boolean[] = [];
      for (const call of calls) await call.request(message());
      for (const call of calls) {
        seen.push(stage.adapter.isMaking());
        await call.fail();
      }
      expect([...seen, stage.adapter.isMaking()]).toEqual([true, true, false]);
    },
  );

  test('not during a list or an update', async () => {
    const stage = new Stage();
    const calls = [stage.call('UpdateContainerResources'), stage.call('ListContainers')];
    for (const call of calls) await call.request(new Uint8Array());
    expect(stage.adapter.isMaking()).toBe(false);
    for (const call of calls) await call.fail();
  });
});
