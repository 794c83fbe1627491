import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { buildSync } from 'esbuild';
import { isOwed, OWED } from '../../../src/app/owed-effects/owed';
import type { IrqWriteOutcome } from '../../../src/host';
import { nodeFsOps } from '../../../src/files/fs-ops';
import { fsError } from '../../state/support/fs-doubles';
import { useTempDirs } from '../../state/support/temp-dir';
import { waitUntil } from '../../support/wait-until';
import { FakeIrqs } from './support/fake-irqs';
import { moverIn, steeringOf } from './support/steering-of';

const makeDir = useTempDirs();
const IRQS = { 10: '0-7', 11: '4', 12: '0-3' };
const BEFORE = { ...IRQS, default: 'ff' };
const AWAY = { 10: '0-3,6-7', 11: '0', 12: '0-3', default: '000000cf' };

const setUp = (options: { readonly bootId?: string } = {}) => ({
  stateDir: makeDir(),
  irqs: FakeIrqs.make(makeDir(), IRQS, options.bootId),
});
const refuse =
  (code: string, kind: Exclude<IrqWriteOutcome, { ok: true }>['kind'], only?: number, tried: number[] = []) =>
  (procRoot: string) =>
  (irq: number, cpus: Parameters<ReturnType<typeof moverIn>>[1]): IrqWriteOutcome => {
    tried.push(irq);
    return only === undefined || irq === only
      ? { ok: false, kind, code, path: `/proc/irq/${irq}/smp_affinity_list` }
      : moverIn(procRoot)(irq, cpus);
  };
/** As the mask of the default, which is written in full. */
const same = (shown: Record<string, string>): Record<string, string> => ({
  ...shown,
  default: shown['default']!.replace(/^0+(?=.)/, ''),
});

test('interrupts leave exclusive CPUs when these are given out, come back when they are released, and at the end', async () => {
  const { stateDir, irqs } = setUp();
  const { steering, own, events } = steeringOf({ stateDir, procRoot: irqs.procRoot });
  const end = new AbortController();
  const running = steering.run(end.signal);
  own('4-5');
  events.emit('committed', {} as never);
  await waitUntil('interrupts to leave', () => isDeepStrictEqual(irqs.shown, AWAY) && steering.figures.moved === 2);
  expect(steering.figures).toEqual({ moved: 2, refused: 0 });
  own('');
  events.emit('committed', {} as never);
  await waitUntil('interrupts to be back', () => isDeepStrictEqual(same(irqs.shown), BEFORE));
  own('4-5');
  events.emit('committed', {} as never);
  await waitUntil('interrupts to leave again', () => irqs.shown['10'] === AWAY[10]);
  end.abort();
  await running;
  expect(same(irqs.shown)).toEqual(BEFORE);
  expect(isOwed(stateDir, OWED.interrupts)).toBe(false);
});

test('the originals are durable before the first interrupt is moved, and are not written again for a change of CPUs', async () => {
  const { stateDir, irqs } = setUp();
  const order: string[] = [];
  const fs = {
    ...nodeFsOps,
    fsync: (fd: number): void => {
      order.push('sync');
      nodeFsOps.fsync(fd);
    },
    rename: (from: string, to: string): void => {
      order.push('rename');
      nodeFsOps.rename(from, to);
    },
  };
  const move = moverIn(irqs.procRoot);
  const { steering, own } = steeringOf({
    stateDir,
    procRoot: irqs.procRoot,
    fs,
    move: (irq, cpus) => {
      order.push(`move ${irq}`);
      return move(irq, cpus);
    },
  });
  await steering.resume();
  own('4-5');
  await steering.steer();
  expect(order).toEqual(['sync', 'rename', 'sync', 'move -1', 'move 10', 'move 11']);
  expect(readFileSync(join(stateDir, OWED.interrupts.file), 'utf8')).toContain(
    '{"irq":11,"device":"dev11","original":"4"}',
  );
  own('4');
  await steering.steer();
  expect(order.slice(6)).toEqual(['move -1', 'move 10']);
  await steering.steer();
  expect(order).toHaveLength(8);
});

test('when the originals can not be saved nothing is moved, and that is an alarm until they can', async () => {
  const { stateDir, irqs } = setUp();
  const disk = { isFull: true };
  const fs = {
    ...nodeFsOps,
    fsync: (fd: number) => {
      if (disk.isFull) throw fsError('ENOSPC');
      nodeFsOps.fsync(fd);
    },
  };
  const { steering, own, alarms } = steeringOf({ stateDir, procRoot: irqs.procRoot, fs });
  own('4-5');
  await steering.steer();
  expect(irqs.shown).toEqual(BEFORE);
  expect(alarms.list()).toMatchObject([{ kind: 'irq-affinity', because: expect.stringContaining('ENOSPC') }]);
  disk.isFull = false;
  await steering.steer();
  expect(irqs.shown).toEqual(AWAY);
  expect(alarms.list()).toEqual([]);
});

test('an interrupt that the kernel manages is named once, not tried again, and counted as long as its CPUs are exclusive', async () => {
  const { stateDir, irqs } = setUp();
  const tried: number[] = [];
  const move = refuse('EIO', 'fixed', 11, tried)(irqs.procRoot);
  const { steering, own, lines } = steeringOf({ stateDir, procRoot: irqs.procRoot, move });
  own('4-5');
  await steering.steer();
  await steering.steer();
  own('4');
  await steering.steer();
  expect(tried.filter((irq) => irq === 11)).toHaveLength(1);
  expect(lines.map(({ msg, irqs: named }) => [msg, named])).toEqual([
    ['the kernel refuses to move interrupts: they stay where they are', ['11 dev11: EIO']],
  ]);
  expect(steering.figures).toEqual({ moved: 1, refused: 1 });
  expect(steering.fixed).toEqual([11]);
  own('5');
  await steering.steer();
  expect(steering.figures.refused).toBe(0);
  await steering.restore();
  expect(same(irqs.shown)).toEqual(BEFORE);
  expect(isOwed(stateDir, OWED.interrupts)).toBe(false);
});

test('an interrupt for which there is no room now gets another try when the exclusive CPUs change', async () => {
  const { stateDir, irqs } = setUp();
  const tried: number[] = [];
  const move = refuse('ENOSPC', 'other', 11, tried)(irqs.procRoot);
  const { steering, own } = steeringOf({ stateDir, procRoot: irqs.procRoot, move });
  own('4-5');
  await steering.steer();
  await steering.steer();
  own('4');
  await steering.steer();
  expect(tried.filter((irq) => irq === 11)).toHaveLength(2);
});

test('where interrupts can not be written at all it is an alarm with the remedy, one try a round, and the note is kept', async () => {
  const { stateDir, irqs } = setUp();
  const tried: number[] = [];
  const move = refuse('EROFS', 'read-only', undefined, tried)(irqs.procRoot);
  const { steering, own, alarms, lines } = steeringOf({ stateDir, procRoot: irqs.procRoot, move });
  own('4-5');
  await steering.steer();
  await steering.steer();
  expect(tried).toHaveLength(2);
  expect(alarms.list()).toMatchObject([
    { kind: 'irq-affinity', because: expect.stringMatching(/can't be written \(EROFS\); run cpusetd as a service/) },
  ]);
  expect(lines.map(({ msg }) => msg)).toEqual(['alarm']);
  expect(irqs.shown).toEqual(BEFORE);

  // The same state directory, by a process that was killed where it could write.
  const killed = steeringOf({ stateDir, procRoot: irqs.procRoot });
  killed.own('4-5');
  await killed.steering.steer();
  const next = steeringOf({ stateDir, procRoot: irqs.procRoot, move, irqAffinity: 'off' });
  await next.steering.run(new AbortController().signal);
  expect(irqs.shown).toEqual(AWAY);
  expect(isOwed(stateDir, OWED.interrupts)).toBe(true);
});

test('new interrupts are moved in the next round, and those that are gone are forgotten', async () => {
  const { stateDir, irqs } = setUp();
  const { steering, own } = steeringOf({ stateDir, procRoot: irqs.procRoot });
  own('4-5');
  await steering.steer();
  irqs.set('20', '5-6');
  irqs.remove('10');
  await steering.steer();
  expect(irqs.shown).toMatchObject({ 20: '6' });
  await steering.restore();
  expect(same(irqs.shown)).toEqual({ 11: '4', 12: '0-3', 20: '5-6', default: 'ff' });
});

test('an interrupt that someone else moves back again and again is left alone, and that is logged once', async () => {
  const { stateDir, irqs } = setUp();
  const { steering, own, lines } = steeringOf({ stateDir, procRoot: irqs.procRoot });
  own('4-5');
  for (let round = 0; round < 6; round++) {
    await steering.steer();
    irqs.set('11', '4');
  }
  expect(lines.map(({ msg, irqs: named }) => [msg, named])).toEqual([
    ['interrupts are left on exclusive CPUs until these change', ['11 dev11']],
  ]);
  expect(steering.figures.refused).toBe(1);
});

describe('after a process that was killed', () => {
  async function killedOne() {
    const made = setUp();
    const { steering, own } = steeringOf({ stateDir: made.stateDir, procRoot: made.irqs.procRoot });
    own('4-5');
    await steering.steer();
    return made;
  }

  test('a start without the option gives everything back and removes the file', async () => {
    const { stateDir, irqs } = await killedOne();
    const next = steeringOf({ stateDir, procRoot: irqs.procRoot, irqAffinity: 'off' });
    await next.steering.run(new AbortController().signal);
    expect(same(irqs.shown)).toEqual(BEFORE);
    expect(existsSync(join(stateDir, OWED.interrupts.file))).toBe(false);
  });

  test('a start with the option goes on, and knows the originals', async () => {
    const { stateDir, irqs } = await killedOne();
    const next = steeringOf({ stateDir, procRoot: irqs.procRoot });
    next.own('4');
    await next.steering.steer();
    expect(irqs.shown).toMatchObject({ 10: '0-3,5-7', 11: '0' });
    await next.steering.restore();
    expect(same(irqs.shown)).toEqual(BEFORE);
  });

  test('after a boot the numbers mean other interrupts: nothing is given back', async () => {
    const { stateDir } = await killedOne();
    const irqs = FakeIrqs.make(makeDir(), { 10: '1', 11: '2' }, 'boot-2');
    const next = steeringOf({ stateDir, procRoot: irqs.procRoot, irqAffinity: 'off' });
    await next.steering.run(new AbortController().signal);
    expect(irqs.shown).toEqual({ 10: '1', 11: '2', default: 'ff' });
    expect(isOwed(stateDir, OWED.interrupts)).toBe(false);
  });

  test.each`
    name                    | spoil
    ${'a folder'}           | ${(path: string) => (rmSync(path), mkdirSync(path))}
    ${'cut off'}            | ${(path: string) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 40))}
    ${'with a wrong entry'} | ${(path: string) => writeFileSync(path, '{"version":1,"bootId":"boot-1","irqs":[{"irq":10}]}')}
  `(
    'a note that is $name is set aside, which is an alarm; what the kernel shows to be ours is given back',
    async ({ spoil }: { readonly spoil: (path: string) => void }) => {
      const { stateDir, irqs } = await killedOne();
      spoil(join(stateDir, OWED.interrupts.file));
      const next = steeringOf({ stateDir, procRoot: irqs.procRoot, irqAffinity: 'off' });
      next.own('4-5');
      await next.steering.run(new AbortController().signal);
      // 11 was on CPU 4 alone; nothing says so any more.
      expect(same(irqs.shown)).toEqual({ ...BEFORE, 11: '0' });
      expect(next.alarms.list()).toMatchObject([
        { kind: 'note-set-aside', subject: 'irq-affinities.json', because: expect.stringContaining('.json.bad-1') },
      ]);
      expect(readdirSync(stateDir)).toEqual(['irq-affinities.json', 'irq-affinities.json.bad-1']);
      // A later change by someone else is not taken for ours, though nobody has looked yet.
      irqs.set('12', '0-3,6-7');
      const later = steeringOf({ stateDir, procRoot: irqs.procRoot, irqAffinity: 'off' });
      later.own('4-5');
      await later.steering.run(new AbortController().signal);
      expect(irqs.shown).toMatchObject({ 12: '0-3,6-7' });
    },
  );

  test('a damaged note is not forgotten when what was set aside is removed before the next kill', async () => {
    const { stateDir, irqs } = await killedOne();
    const path = join(stateDir, OWED.interrupts.file);
    writeFileSync(path, '');
    const killed = steeringOf({ stateDir, procRoot: irqs.procRoot });
    killed.own('4-5');
    await killed.steering.steer();
    rmSync(`${path}.bad-1`);
    expect(isOwed(stateDir, OWED.interrupts)).toBe(true);
    const next = steeringOf({ stateDir, procRoot: irqs.procRoot, irqAffinity: 'off' });
    next.own('4-5');
    await next.steering.run(new AbortController().signal);
    expect(same(irqs.shown)).toEqual({ ...BEFORE, 11: '0' });
    expect(isOwed(stateDir, OWED.interrupts)).toBe(false);
  });

  test('where the exclusive CPUs do not tell which interrupts are ours, none is moved', async () => {
    const { stateDir, irqs } = await killedOne();
    writeFileSync(join(stateDir, OWED.interrupts.file), '');
    for (const exclusive of ['', '4', '4-6']) {
      const next = steeringOf({ stateDir, procRoot: irqs.procRoot, irqAffinity: 'off' });
      next.own(exclusive);
      await next.steering.run(new AbortController().signal);
      expect(irqs.shown).toEqual(AWAY);
    }
  });

  test('a note that can not be read now is kept, nothing is moved, and that is a fault', async () => {
    const { stateDir, irqs } = await killedOne();
    const stat = (): never => {
      throw fsError('EMFILE');
    };
    const fs = { ...nodeFsOps, stat };
    const next = steeringOf({ stateDir, procRoot: irqs.procRoot, irqAffinity: 'off', fs });
    await next.steering.run(new AbortController().signal);
    expect(irqs.shown).toEqual(AWAY);
    expect(next.lines.map(({ msg }) => msg)).toEqual(['a fault of cpusetd; everything else goes on']);
    expect(isOwed(stateDir, OWED.interrupts)).toBe(true);
  });
});

test('a process killed with SIGKILL at each operation leaves nothing that the next start does not give back', async () => {
  const child = join(makeDir(), 'crash-child.js');
  buildSync({
    entryPoints: [join(__dirname, 'support/crash-child.ts')],
    bundle: true,
    platform: 'node',
    outfile: child,
  });
  const left = { moved: 0, remembered: 0 };
  let kills = 0;
  for (let alive = false; !alive && kills < 200;) {
    const { stateDir, irqs } = setUp();
    const { status, signal, stderr } = spawnSync(process.execPath, [child, stateDir, irqs.procRoot, String(kills)], {
      encoding: 'utf8',
      timeout: 120_000,
    });
    alive = signal === null;
    expect({ status, signal, stderr }).toEqual({
      status: alive ? 0 : null,
      signal: alive ? null : 'SIGKILL',
      stderr: '',
    });
    if (!alive) kills += 1;
    const isMoved = JSON.stringify(same(irqs.shown)) !== JSON.stringify(same(BEFORE));
    left.moved += Number(isMoved);
    left.remembered += Number(isOwed(stateDir, OWED.interrupts));
    expect(isMoved && !isOwed(stateDir, OWED.interrupts)).toBe(false);

    const next = steeringOf({ stateDir, procRoot: irqs.procRoot, irqAffinity: 'off' });
    await next.steering.run(new AbortController().signal);
    expect(same(irqs.shown)).toEqual(BEFORE);
    expect(isOwed(stateDir, OWED.interrupts)).toBe(false);
  }
  // Three moves each time they are steered and two to go back, with an operation before and after each.
  expect(kills).toBeGreaterThan(20);
  expect(left.moved).toBeGreaterThan(8);
  expect(left.remembered).toBeGreaterThan(left.moved - 1);
});
