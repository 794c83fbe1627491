import { parseCpuList } from '../../../src/core/cpuset';
import type { Container } from '../../../src/core/model/container';
import { PromisedMemory } from '../../../src/core/model/promised-memory';

const containerOn = (mems: string, memoryLimitBytes?: number): Container => ({
  id: 'c', sandboxId: 's', podUid: 'p', name: 'a', cgroupsPath: '', phase: 'running', placement: 'exclusive', entitledCpus: 1,
  resources: memoryLimitBytes === undefined ? {} : { memoryLimitBytes }, freshAssignment: false, because: '',
  promise: { cpus: parseCpuList('0'), mems: parseCpuList(mems) },
}); // prettier-ignore

test('a limit counts in equal parts on the memory nodes of the promise', () => {
  const memory = new PromisedMemory();
  memory.follow(undefined, containerOn('0-1', 64));
  memory.follow(undefined, containerOn('1', 8));
  expect([...memory.without()]).toEqual([
    [0, 32],
    [1, 40],
  ]);
});

test('a container without a limit, or without memory nodes, counts nothing', () => {
  const memory = new PromisedMemory();
  memory.follow(undefined, containerOn('0'));
  memory.follow(undefined, containerOn('', 64));
  expect(memory.without().size).toBe(0);
});

test('a container that is left out or removed does not count', () => {
  const memory = new PromisedMemory();
  const container = containerOn('0', 64);
  memory.follow(undefined, container);
  memory.follow(undefined, containerOn('0', 8));
  expect(memory.without([container]).get(0)).toBe(8);
  memory.follow(container, undefined);
  expect(memory.without().get(0)).toBe(8);
});
