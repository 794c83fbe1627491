import { ContainerFinder, type ContainerToLocate } from '../../../src/app/cgroups/container-finder';
import { GONE_LIMIT_MS } from '../../../src/core/verdict/observation';
import type { Located } from '../../../src/host';

const web: ContainerToLocate = { id: 'web', cgroupsPath: '/kubepods/pod1/web' };
const NAMED = '/kubepods/pod1/web';
const found = (path: string): Located => ({ kind: 'found', path, cpuPath: path });
const ABSENT: Located = { kind: 'absent', because: 'its cgroup is not at /x' };

/** A finder on a kernel that says `located`. */
function stage(located: Located) {
  const kernel = { located, asked: 0 };
  const clock = { ms: 0 };
  const elsewhere: string[] = [];
  const finder = new ContainerFinder({
    cgroups: { locate: () => (kernel.asked++, kernel.located) },
    onElsewhere: (_container, paths) => elsewhere.push(paths.found),
    nowMs: () => clock.ms,
  });
  const read = (unverified = false, gone: readonly string[] = []) =>
    finder.withCgroup(
      web,
      ({ path }) => (gone.includes(path) ? ({ kind: 'gone' } as const) : ({ kind: 'read', path } as const)),
      { unverified },
    );
  return { kernel, clock, elsewhere, finder, read };
}

test('a place is looked up once, and again when the process becomes known', () => {
  const { kernel, finder, read } = stage(found('/a'));
  expect([read(), read(), finder.find(web)]).toMatchObject([{ path: '/a' }, { path: '/a' }, { path: '/a' }]);
  expect(kernel.asked).toBe(1);
  kernel.located = found('/b');
  expect(finder.find({ ...web, pid: 7 })).toMatchObject({ path: '/b' });
  expect(finder.find(web)).toMatchObject({ path: '/b' });
  expect(kernel.asked).toBe(2);
});

test('unverified work asks nothing of the kernel as long as the cgroup is where its name says', () => {
  const { kernel, read } = stage(found('/elsewhere'));
  expect(read(true)).toEqual({ kind: 'read', path: NAMED });
  expect(kernel.asked).toBe(0);
  expect(read(true, [NAMED])).toEqual({ kind: 'read', path: '/elsewhere' });
  expect(kernel.asked).toBe(1);
  expect(read(true, [NAMED])).toEqual({ kind: 'read', path: '/elsewhere' });
  expect(kernel.asked).toBe(1);
});

test('a cgroup that is gone is looked for once more, and found where it is now', () => {
  const { kernel, read } = stage(found('/a'));
  read();
  kernel.located = found('/b');
  expect(read(false, ['/a'])).toEqual({ kind: 'read', path: '/b' });
});

test('a missing cgroup: since when, and whether the runtime says that the container runs', () => {
  const { kernel, clock, finder, read } = stage(ABSENT);
  const missing = (forMs: number, isConfirmed: boolean) => ({
    kind: 'gone',
    missing: { because: 'its cgroup is not at /x', forMs, isConfirmed },
  });
  finder.confirm(clock.ms++);
  expect(read()).toEqual(missing(0, false));
  clock.ms += GONE_LIMIT_MS;
  expect(read()).toEqual(missing(GONE_LIMIT_MS, false));
  finder.confirm(clock.ms);
  expect(read()).toEqual(missing(GONE_LIMIT_MS, true));
  kernel.located = found('/a');
  expect(read()).toEqual({ kind: 'read', path: '/a' });
  kernel.located = ABSENT;
  expect(read(false, ['/a'])).toEqual(missing(0, false));
});

test('a cgroup that is found and yet gone is being removed', () => {
  const { clock, read } = stage(found('/a'));
  read(false, ['/a']);
  clock.ms += 5;
  expect(read(false, ['/a'])).toMatchObject({ missing: { because: 'its cgroup is being removed', forMs: 5 } });
});

test('containers that are gone are forgotten', () => {
  const { kernel, clock, finder, read } = stage(ABSENT);
  read();
  finder.keepOnly(new Map());
  clock.ms += 5;
  expect(read()).toMatchObject({ missing: { forMs: 0 } });
  kernel.located = found('/a');
  read();
  const { asked } = kernel;
  finder.keepOnly(new Map([['web', {}]]));
  read();
  expect(kernel.asked).toBe(asked);
});

test('that cgroups are elsewhere than their names say is told once', () => {
  const { kernel, elsewhere, finder } = stage({ ...found('/b'), expected: '/a' } as Located);
  finder.find(web);
  kernel.located = { ...found('/c'), expected: '/d' } as Located;
  finder.find({ ...web, id: 'db' });
  expect(elsewhere).toEqual(['/b']);
});

test('a path that is none is refused', () => {
  const { finder } = stage({ kind: 'refused', because: 'no' });
  expect(finder.find(web)).toEqual({ kind: 'refused', because: 'no' });
  expect(finder.withCgroup({ ...web, cgroupsPath: '' }, () => ({ kind: 'ok' }), { unverified: true })).toEqual({
    kind: 'refused',
    because: 'no',
  });
});
