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
): Promise<string> {
  const client = {
    listContainers: () => Promise.resolve(ids.map((id) => containerOf(id))),
    readContainer: (id: string) => Promise.resolve().then(() => read(id)),
  };
  return (await lookAtContainers(client as never, { locate }, nowMs)).map(({ id }) => id).join(' ');
}

test('containers that run are looked at, whatever the runtime says about others', async () => {
  const states: Record<string, () => ContainerInfo | undefined> = {
    a: () => containerOf('a'),
    broken: fail,
    gone: () => undefined,
    ended: () => containerOf('ended', 'stopped'),
    z: () => containerOf('z'),
  };
  expect(await look(Object.keys(states), (id) => states[id]!())).toBe('a z');
});

test('a runtime that can’t list its containers: none', async () => {
  const client = { listContainers: () => Promise.reject(new CpusetdError('UNAVAILABLE', '')), readContainer: fail };
  expect(await lookAtContainers(client as never, { locate })).toEqual([]);
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
  ).toBe('c0 c1 c2');
  expect((await look(ids, (id) => containerOf(id))).split(' ')).toHaveLength(16);
});
