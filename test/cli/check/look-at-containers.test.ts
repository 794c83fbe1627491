import { lookAtContainers } from '../../../src/cli/check/look-at-containers';
import { CpusetdError } from '../../../src/core/errors';
import type { ContainerInfo } from '../../../src/core/model/events';
import type { ContainerToLocate, Located } from '../../../src/host';

const containerOf = (id: string, phase = 'running'): ContainerInfo => ({ id, phase, cgroupsPath: `/${id}` }) as never;
const locate = ({ cgroupsPath: path }: ContainerToLocate): Located => ({ kind: 'found', path, cpuPath: path });
const fail = (): never => {
  throw new CpusetdError('UNKNOWN', 'no such task');
};

async function look(
  ids: readonly string[],
  read: (id: string) => ContainerInfo | undefined,
  nowMs?: () => number,
): Promise<readonly string[]> {
  const client = {
    listContainers: () => Promise.resolve(ids.map((id) => containerOf(id))),
    readContainer: (id: string) => Promise.resolve().then(() => read(id)),
  };
  const { containers, unseenContainers } = await lookAtContainers(client, { locate }, nowMs);
  return [containers.map(({ id }) => id).join(' '), ...(unseenContainers === undefined ? [] : [unseenContainers])];
}

test('containers that run are looked at, whatever the runtime says about others', async () => {
  const states: Record<string, () => ContainerInfo | undefined> = {
    a: () => containerOf('a'),
    broken: fail,
    gone: () => undefined,
    ended: () => containerOf('ended', 'stopped'),
    z: () => containerOf('z'),
  };
  expect(await look(Object.keys(states), (id) => states[id]!())).toEqual([
    'a z',
    'the runtime did not describe container broken: no such task',
  ]);
});

test('a runtime that can’t list its containers: none, and the reason', async () => {
  const away = new CpusetdError('UNAVAILABLE', 'no answer in 3 s');
  const client = { listContainers: () => Promise.reject(away), readContainer: fail };
  expect(await lookAtContainers(client as never, { locate })).toEqual({
    containers: [],
    unseenContainers: 'the runtime did not list them: no answer in 3 s',
  });
});

test('a slow runtime is asked for some, and for no more than 16', async () => {
  let nowMs = 0;
  const ids = Array.from({ length: 20 }, (_, i) => `c${i}`);
  expect(
    await look(
      ids,
      (id) => ((nowMs += 1_000), containerOf(id)),
      () => nowMs,
    ),
  ).toEqual(['c0 c1 c2', 'the runtime had no time for 13 of 16']);
  expect((await look(ids, (id) => containerOf(id))).map((text) => text.split(' ').length)).toEqual([16]);
});
