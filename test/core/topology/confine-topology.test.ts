import { chooseReserved } from '../../../src/core/allocation';
import { parseCpuList } from '../../../src/core/cpuset';
import { NO_OPTIONS } from '../../../src/core/model/settings';
import {
  barredCpus,
  completeCores,
  confineTopology,
  describeBarred,
  keepWholeCores,
  listAlignments,
  machineOf as wholeMachineOf,
  threadsPerCore,
} from '../../../src/core/topology';
import { cpus, EIGHT_CPUS, machineOf, without } from '../transition/node-driver';

const boundOf = (list: string) => ({ cgroup: '/lxc/n1', cpus: parseCpuList(list) });
const confine = (list: string, machine = EIGHT_CPUS) => confineTopology(machine, boundOf(list));

test.each`
  name                                     | bound       | usable   | barred
  ${'a part of the machine'}               | ${'0-3'}    | ${'0-3'} | ${'4-7'}
  ${'a part, and CPUs that are not there'} | ${'2-5,90'} | ${'2-5'} | ${'0-1,6-7'}
  ${'all of it'}                           | ${'0-7'}    | ${'0-7'} | ${''}
  ${'more than it'}                        | ${'0-63'}   | ${'0-7'} | ${''}
  ${'nothing that is online'}              | ${'8-9'}    | ${'0-7'} | ${''}
  ${'nothing'}                             | ${''}       | ${'0-7'} | ${''}
`('a bound of $name: $usable are usable', ({ bound, usable, barred }: Record<string, string>) => {
  const topology = confine(bound!);
  expect(topology.online.toString()).toBe(usable);
  expect(barredCpus(topology).toString()).toBe(barred);
  expect(wholeMachineOf(topology)).toBe(EIGHT_CPUS);
  expect(topology.cpus.map(({ id }) => id)).toEqual(topology.online.toArray());
});

test('no bound at all: the machine itself', () => expect(confineTopology(EIGHT_CPUS, undefined)).toBe(EIGHT_CPUS));

test('a bound and an offline CPU: each is known as what it is', () => {
  const topology = confine('0-3,7', without(EIGHT_CPUS, '3,5'));
  expect(topology.online.toString()).toBe('0-2,7');
  expect(barredCpus(topology).toString()).toBe('4,6');
});

test('the words for CPUs out of bounds', () => {
  const { confinement } = confine('0-3');
  expect(describeBarred(confinement!, cpus('5'))).toBe('CPU 5 is online, but the cgroup /lxc/n1 has 0-3 only');
  expect(describeBarred(confinement!, cpus('5-7'))).toBe('CPUs 5-7 are online, but the cgroup /lxc/n1 has 0-3 only');
});

// Siblings are 0,4  1,5  2,6  3,7. CPUs 0-5 have two whole cores, and halves of two others.
test('a core of which others have a thread is no whole core', () => {
  const topology = confine('0-5');
  expect(threadsPerCore(topology)).toBe(2);
  expect(keepWholeCores(topology, topology.online).toString()).toBe('0-1,4-5');
  expect(completeCores(topology, cpus('1-2'), topology.online).toString()).toBe('1,5');
  expect(listAlignments(topology, cpus('1,5'))).toContain('physical_cpu');
  expect(listAlignments(topology, cpus('2'))).not.toContain('physical_cpu');
});

test('a core of which a thread is offline is one, as the kernel knows no other', () => {
  const topology = without(EIGHT_CPUS, '6-7');
  expect(keepWholeCores(topology, topology.online).toString()).toBe('0-5');
});

test.each`
  name                                     | wanted                   | reserved
  ${'a list within the bound'}             | ${{ list: cpus('1') }}   | ${'1'}
  ${'a list that is partly out of bounds'} | ${{ list: cpus('1,7') }} | ${'1,7'}
  ${'a list of all that is usable'}        | ${{ list: cpus('0-1') }} | ${'0-1'}
  ${'a list of what is not online'}        | ${{ list: cpus('1,9') }} | ${/9 not online \(online are 0-7\)/}
  ${'a number that is usable'}             | ${{ count: 1 }}          | ${'0'}
  ${'a number beyond what is usable'}      | ${{ count: 4 }}          | ${'0-1'}
  ${'a number beyond the machine'}         | ${{ count: 9 }}          | ${/only 8 are online/}
`(
  'reserved on a node that has 0-1 of 0-7: $name',
  ({ wanted, reserved }: { wanted: Parameters<typeof chooseReserved>[2]; reserved: string | RegExp }) => {
    const chosen = chooseReserved(confine('0-1'), NO_OPTIONS, wanted);
    if (typeof reserved === 'string') expect(chosen.ok && chosen.reserved.toString()).toBe(reserved);
    else expect(!chosen.ok && chosen.error).toMatch(reserved);
  },
);

test('a machine of one CPU is not confined by another bound', () => {
  expect(confine('1', machineOf(1, 1)).confinement).toBeUndefined();
});
