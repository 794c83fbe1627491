import fc from 'fast-check';
import { CpuSet, parseCpuList } from '../../../src/core/cpuset';
import {
  DEFAULT_IRQ,
  MAX_FOREIGN_CHANGES,
  planIrqAffinity,
  planRestore,
  resumeIrqs,
  type IrqReading,
  type IrqWrite,
  type KnownIrqs,
} from '../../../src/core/irq-affinity/plan-irq-affinity';

const cpus = parseCpuList;

/** A machine with CPUs 0-7, of which 0 is for the system. Its interrupts do what the plan says. */
class Machine {
  known: KnownIrqs = new Map();
  readonly irqs = new Map<number, IrqReading>();
  exclusive = CpuSet.empty;
  online = cpus('0-7');

  constructor(given: Readonly<Record<string, string>>) {
    for (const [irq, list] of Object.entries(given)) this.set(Number(irq), list);
  }

  set(irq: number, list: string, device = `dev${irq}`): void {
    this.irqs.set(irq, { irq, device, affinity: cpus(list) });
  }

  /** Makes these CPUs exclusive. @returns what the plan was */
  steer(exclusive: string | CpuSet) {
    const next = typeof exclusive === 'string' ? cpus(exclusive) : exclusive;
    const plan = planIrqAffinity({
      readings: [...this.irqs.values()],
      known: this.known,
      exclusive: next,
      online: this.online,
      housekeeping: cpus('0'),
      isNewRound: !next.equals(this.exclusive),
    });
    this.exclusive = next;
    this.known = plan.known;
    this.carryOut(plan.writes);
    return plan;
  }

  restore(): void {
    this.carryOut(planRestore(this.known, [...this.irqs.values()]));
  }

  carryOut(writes: readonly IrqWrite[]): void {
    for (const { irq, cpus: list } of writes) this.irqs.set(irq, { ...this.irqs.get(irq)!, affinity: list });
  }

  get shown(): Record<string, string> {
    return Object.fromEntries([...this.irqs.values()].map(({ irq, affinity }) => [irq, affinity.toString()]));
  }
}

test('each interrupt gets its CPUs without exclusive ones, or housekeeping CPUs where none is left', () => {
  const machine = new Machine({ 10: '0-7', 11: '4-5', 12: '5', 13: '0-3' });
  machine.steer('4-5');
  expect(machine.shown).toEqual({ 10: '0-3,6-7', 11: '0', 12: '0', 13: '0-3' });
});

test('CPUs that are released come back one by one, and the original at the end', () => {
  const machine = new Machine({ 10: '0-7', 11: '4-5' });
  machine.steer('4-5');
  machine.steer('5-6');
  expect(machine.shown).toEqual({ 10: '0-4,7', 11: '4' });
  machine.steer('');
  expect(machine.shown).toEqual({ 10: '0-7', 11: '4-5' });
});

test('housekeeping is used where the rest of the original is offline', () => {
  const machine = new Machine({ 10: '4-5' });
  machine.online = cpus('0-3,5-7');
  machine.steer('5');
  expect(machine.shown).toEqual({ 10: '0' });
});

test('a change by someone else is the new original, and exclusive CPUs are left out of it', () => {
  const machine = new Machine({ 10: '0-7' });
  machine.steer('4-5');
  machine.set(10, '5-6');
  expect(machine.steer('4-5').changedByOthers).toEqual([10]);
  expect(machine.shown).toEqual({ 10: '6' });
  machine.steer('');
  expect(machine.shown).toEqual({ 10: '5-6' });
});

test('an interrupt that someone else moves again and again is left alone until the exclusive CPUs change', () => {
  const machine = new Machine({ 10: '0-7' });
  machine.steer('4-5');
  for (let change = 1; change < MAX_FOREIGN_CHANGES; change++) {
    machine.set(10, '4');
    expect(machine.steer('4-5').leftAlone).toEqual([]);
    expect(machine.shown).toEqual({ 10: '0' });
  }
  machine.set(10, '4');
  expect(machine.steer('4-5')).toMatchObject({ leftAlone: [10], writes: [] });
  expect(machine.steer('4-5')).toMatchObject({ leftAlone: [10], writes: [], changedByOthers: [] });
  machine.restore();
  expect(machine.shown).toEqual({ 10: '4' });
  expect(machine.steer('4')).toMatchObject({ leftAlone: [], writes: [{ irq: 10 }] });
});

test('the kernel sends an interrupt everywhere when all of its CPUs go offline: the original stays', () => {
  const machine = new Machine({ 10: '2-5' });
  machine.steer('4-5');
  machine.online = cpus('0-1,4-7');
  machine.set(10, '0-1,4-7'); // by the kernel, as CPUs 2 and 3 are off
  expect(machine.steer('4-5').changedByOthers).toEqual([]);
  expect(machine.shown).toEqual({ 10: '0' });
  machine.online = cpus('0-7');
  machine.steer('');
  expect(machine.shown).toEqual({ 10: '2-5' });
});

test('a new interrupt that was born with our default has the original of the default', () => {
  const machine = new Machine({ [DEFAULT_IRQ]: '0-7', 10: '0-7' });
  machine.steer('4-5');
  expect(machine.shown[DEFAULT_IRQ]).toBe('0-3,6-7');
  machine.set(20, '0-3,6-7');
  machine.set(21, '0-3');
  machine.steer('4-5');
  machine.steer('');
  expect(machine.shown).toEqual({ [DEFAULT_IRQ]: '0-7', 10: '0-7', 20: '0-7', 21: '0-3' });
});

test('a number that is another device’s now is another interrupt', () => {
  const machine = new Machine({ 10: '0-7' });
  machine.steer('4-5');
  machine.set(10, '2-4', 'other');
  expect(machine.steer('4-5').changedByOthers).toEqual([]);
  machine.restore();
  expect(machine.shown).toEqual({ 10: '2-4' });
});

test('an interrupt without a handler is not moved; one that loses its handler for a while is still known', () => {
  const machine = new Machine({ 10: '0-7' });
  machine.set(11, '0-7', '');
  machine.steer('4-5');
  expect(machine.shown).toEqual({ 10: '0-3,6-7', 11: '0-7' });
  machine.set(10, '0-3,6-7', '');
  machine.steer('4');
  machine.set(10, '0-3,5-7');
  expect(machine.steer('4').writes).toEqual([]);
  machine.restore();
  expect(machine.shown).toEqual({ 10: '0-7', 11: '0-7' });
});

test('restore leaves what someone else moved', () => {
  const machine = new Machine({ 10: '0-7', 11: '0-7' });
  machine.steer('4-5');
  machine.set(10, '1');
  machine.restore();
  expect(machine.shown).toEqual({ 10: '1', 11: '0-7' });
});

const someCpus = fc.uniqueArray(fc.integer({ min: 0, max: 7 }), { minLength: 1 }).map((list) => CpuSet.of(list));
const someExclusive = fc.uniqueArray(fc.integer({ min: 1, max: 7 })).map((list) => CpuSet.of(list));
const someMachine = fc
  .array(someCpus, { minLength: 1, maxLength: 6 })
  .map((list) => new Machine(Object.fromEntries(list.map((each, irq) => [irq + 10, each.toString()]))));

test('whatever becomes exclusive: no interrupt is on it, none gets CPUs that it did not have but housekeeping, nothing is left to do', () => {
  fc.assert(
    fc.property(someMachine, fc.array(someExclusive, { minLength: 1, maxLength: 5 }), (machine, sets) => {
      const original = new Map([...machine.irqs].map(([irq, { affinity }]) => [irq, affinity]));
      for (const exclusive of sets) {
        machine.steer(exclusive);
        for (const [irq, { affinity }] of machine.irqs) {
          expect(affinity.overlaps(exclusive)).toBe(false);
          expect(affinity.isSubsetOf(original.get(irq)!) || affinity.equals(cpus('0'))).toBe(true);
        }
        expect(machine.steer(exclusive).writes).toEqual([]);
      }
    }),
  );
});

test('whatever was exclusive: the originals come back exactly, by release, by restore, and after a crash within any write', () => {
  const sets = fc.array(someExclusive, { minLength: 1, maxLength: 5 });
  const ways = fc.constantFrom('release', 'restore', 'crash' as const);
  fc.assert(
    fc.property(someMachine, sets, ways, fc.nat(6), (machine, exclusives, way, crashAt) => {
      const before = machine.shown;
      for (const exclusive of exclusives) machine.steer(exclusive);
      if (way === 'release') machine.steer('');
      if (way === 'restore') machine.restore();
      if (way === 'crash') {
        // The originals of the last plan are on disk; only some of its writes are made.
        const readings = [...machine.irqs.values()];
        const plan = planIrqAffinity({
          readings,
          known: machine.known,
          exclusive: cpus('1-3'),
          online: machine.online,
          housekeeping: cpus('0'),
        });
        machine.carryOut(plan.writes.slice(0, crashAt));
        machine.known = resumeIrqs([...plan.known.values()], [...machine.irqs.values()]);
        machine.restore();
      }
      expect(machine.shown).toEqual(before);
    }),
  );
});
