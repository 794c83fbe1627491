import fs, { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pino } from 'pino';
import { Alarms } from '../../../src/app/alarms/alarms';
import { Faults } from '../../../src/app/alarms/faults';
import { CpuIdentities } from '../../../src/app/identity/cpu-identities';
import { Transactor } from '../../../src/app/transaction/transactor';
import { parseCpuList } from '../../../src/core/cpuset';
import { identityOf } from '../../../src/core/identity/cpu-identity';
import { parseIdentity } from '../../../src/core/identity/document';
import type { Container } from '../../../src/core/model/container';
import type { CpuIdentity } from '../../../src/core/model/cpu-identity';
import type { RuntimeAnswer } from '../../../src/core/model/events';
import { ContainerDirectories } from '../../../src/host';
import { waitUntil } from '../../support/wait-until';
import { EIGHT_CPUS, NodeDriver, podOf, resourcesOf } from '../../core/transition/node-driver';

/** Files in a directory of the test's own, over a model without disk and cgroups. */
class Stage {
  readonly node = new NodeDriver(EIGHT_CPUS, { cpuIdentity: true });
  readonly logged: string[] = [];
  readonly log = pino(
    { level: 'warn' },
    { write: (line) => this.logged.push((JSON.parse(line) as { msg: string }).msg) },
  );
  readonly alarms = new Alarms({ log: this.log, now: () => '2026-01-01T00:00:00Z', onChange: () => undefined });
  readonly stop = new AbortController();
  /** The number of files that were written. */
  written = 0;
  /** Thrown by the next writes. */
  failure: Error | undefined;
  /** The same for one directory. */
  readonly failureOf = new Map<string, Error>();
  identities: CpuIdentities;

  constructor(readonly root: string) {
    this.identities = this.restart();
  }

  /** The knowledge of another process: the directories alone. */
  restart(): CpuIdentities {
    const { alarms, log, node } = this;
    const directories = new ContainerDirectories(this.root);
    const replace = directories.replace.bind(directories);
    directories.replace = (...given) => {
      const failure = this.failure ?? this.failureOf.get(given[0]);
      if (failure) throw failure;
      this.written++;
      replace(...given);
    };
    const { signal } = this.stop;
    const faults = new Faults({ log, alarms });
    this.identities = new CpuIdentities({ directories, model: node.model, alarms, faults, log, signal });
    return this.identities;
  }

  /** Creates a container that asks for a file, and writes it as the transactor does. */
  create(target: string, cpus = 0.5): void {
    this.node.run(`make ${target} ${cpus}`);
    const container = this.node.container(target)!;
    this.identities.prepare(container, identityOf(this.node.model, container));
  }

  factsOf(target: string): string {
    const text = readFileSync(join(this.root, nameOf(target), 'cpus.json'), 'utf8');
    const identity = parseIdentity(text);
    return identity ? `${identity.kind} ${identity.cpus?.toString() ?? '-'}` : `not a document: ${text}`;
  }

  async untilWritten(target: string, what: string): Promise<void> {
    await waitUntil(`${target} to be told ${what}`, () => this.factsOf(target) === what);
  }

  get names(): string[] {
    return readdirSync(this.root)
      .filter((name) => !name.startsWith('.'))
      .sort();
  }

  get raised(): string[] {
    return this.alarms.list().map(({ kind, because }) => `${kind}: ${because}`);
  }
}

/** `p/app` is in the directory `sandbox-p.app`. */
function nameOf(target: string): string {
  return `sandbox-${target.replace('/', '.')}`;
}

let dir: string;
let stage: Stage;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'cpusetd-ci-'));
  stage = new Stage(join(dir, 'identity'));
});
afterEach(() => {
  stage.stop.abort();
  rmSync(dir, { recursive: true, force: true });
});

test('a file is there before the answer, with the directory to mount', () => {
  stage.node.run('make p/app 2');
  const container = stage.node.container('p/app')!;
  expect(stage.identities.prepare(container, identityOf(stage.node.model, container))).toEqual({
    hostDirectory: join(stage.root, 'sandbox-p.app'),
    cpus: parseCpuList('1,5'),
  });
  expect(stage.factsOf('p/app')).toBe('static 1,5');
  expect(stage.identities.has(container)).toBe(true);
});

test('nothing is made for containers that do not ask', () => {
  stage.node.run('make p/app 2');
  expect(stage.identities.prepare(stage.node.container('p/app')!, undefined)).toBeUndefined();
  stage.identities.follow();
  stage.identities.round();
  expect(stage.names).toEqual([]);
  expect(stage.identities.has(stage.node.container('p/app')!)).toBe(false);
});

test('shared containers are told when the pool changes, and others are not written again', async () => {
  stage.create('s/web');
  stage.create('p/app', 2);
  const { ino } = statSync(join(stage.root, 'sandbox-p.app/cpus.json'));
  stage.identities.follow();
  await stage.untilWritten('s/web', 'shared 0,2-4,6-7');
  stage.node.run('end p/app; stop p; remove p');
  stage.identities.follow();
  await stage.untilWritten('s/web', 'shared 0-7');
  expect(statSync(join(stage.root, 'sandbox-p.app/cpus.json')).ino).toBe(ino);
  expect(stage.written).toBe(4);
});

test('a change that the kernel does not have yet is told when it has it', async () => {
  stage.create('s/web');
  stage.node.run('start s/web');
  const apply = (change: Partial<Container>): void => {
    const container = stage.node.container('s/web')!;
    stage.node.model.apply({ kind: 'put-container', container: { ...container, ...change } });
  };
  const promise = { cpus: parseCpuList('0-3'), mems: parseCpuList('') };
  apply({ promise });
  stage.create('t/other');
  stage.identities.follow();
  expect(stage.factsOf('s/web')).toBe('shared 0-7');
  apply({ applied: promise });
  stage.identities.follow();
  await stage.untilWritten('s/web', 'shared 0-3');
});

test('only the last of several changes is written', async () => {
  for (let i = 0; i < 200; i++) stage.create(`s${i}/web`);
  const before = stage.written;
  stage.node.run('make p/app 2');
  stage.identities.follow();
  stage.node.run('make q/app 2');
  stage.identities.follow();
  await stage.untilWritten('s199/web', 'shared 0,3-4,7');
  // Those that were written in the first slice are written twice.
  expect(stage.written - before).toBeLessThan(300);
  for (let i = 0; i < 200; i++) expect(stage.factsOf(`s${i}/web`)).toBe('shared 0,3-4,7');
});

test('a node full of files is worked off in slices, between which other work is done', async () => {
  for (let i = 0; i < 500; i++) stage.create(`s${i}/web`);
  stage.node.run('make p/app 2');
  stage.identities.follow();
  expect(stage.factsOf('s499/web')).toBe('shared 0-7');
  await stage.untilWritten('s499/web', 'shared 0,2-4,6-7');
  for (let i = 0; i < 500; i++) expect(stage.factsOf(`s${i}/web`)).toBe('shared 0,2-4,6-7');
});

test('after a restart files are brought to the truth, and those that are true are left as they are', async () => {
  stage.create('s/web');
  stage.create('t/web');
  writeFileSync(join(stage.root, 'sandbox-t.web/cpus.json'), '{"version": 1, "kind": "sha');
  const { ino } = statSync(join(stage.root, 'sandbox-s.web/cpus.json'));
  stage.restart();
  stage.identities.follow();
  await stage.untilWritten('t/web', 'shared 0-7');
  expect(statSync(join(stage.root, 'sandbox-s.web/cpus.json')).ino).toBe(ino);
  expect(stage.identities.has(stage.node.container('s/web')!)).toBe(true);
  stage.restart();
  stage.node.run('make p/app 2');
  stage.identities.follow();
  await stage.untilWritten('s/web', 'shared 0,2-4,6-7');
});

test('a directory goes two rounds after its container, and not before the runtime was listed', () => {
  stage.create('s/web');
  stage.create('p/app', 2);
  stage.node.run('end p/app');
  const sync = (synchronized: boolean) => stage.node.model.apply({ kind: 'set-synchronized', synchronized });
  sync(false);
  stage.identities.round();
  stage.identities.round();
  expect(stage.names).toEqual(['sandbox-p.app', 'sandbox-s.web']);
  sync(true);
  stage.identities.round();
  expect(stage.names).toEqual(['sandbox-p.app', 'sandbox-s.web']);
  stage.identities.round();
  expect(stage.names).toEqual(['sandbox-s.web']);
});

test('a container that is created again between two rounds keeps its directory', () => {
  stage.node.model.apply({ kind: 'set-synchronized', synchronized: true });
  stage.create('p/app', 2);
  const { ino } = statSync(join(stage.root, 'sandbox-p.app'));
  stage.node.run('end p/app');
  stage.identities.round();
  stage.create('p/app', 2);
  stage.identities.round();
  stage.identities.round();
  expect(statSync(join(stage.root, 'sandbox-p.app')).ino).toBe(ino);
});

test('a container that is created again without asking loses the directory of the last one', () => {
  stage.create('p/app', 2);
  stage.node.run('end p/app; make p/app 2');
  expect(stage.identities.prepare(stage.node.container('p/app')!, undefined)).toBeUndefined();
  expect(stage.names).toEqual([]);
});

test('what is not ours in the directory is left alone', () => {
  mkdirSync(join(stage.root, 'lost+found'), { recursive: true });
  stage.restart();
  stage.node.model.apply({ kind: 'set-synchronized', synchronized: true });
  for (let i = 0; i < 3; i++) stage.identities.round();
  expect(stage.names).toEqual(['lost+found']);
});

test('a file that cannot be written is an alarm until one can be: the container is created without', () => {
  stage.failure = new Error('no space');
  stage.node.run('make p/app 2');
  const container = stage.node.container('p/app')!;
  const identity = identityOf(stage.node.model, container);
  for (let i = 0; i < 5; i++) expect(stage.identities.prepare(container, identity)).toBeUndefined();
  expect(stage.raised).toEqual(['cpu-identity: no space']);
  expect(stage.logged).toEqual(['alarm']);
  expect(stage.names).toEqual([]);
  expect(stage.identities.has(container)).toBe(false);
  stage.failure = undefined;
  expect(stage.identities.prepare(container, identity)).toBeDefined();
  expect(stage.raised).toEqual([]);
});

test('a change that cannot be written is an alarm, and written by a later round', async () => {
  stage.create('s/web');
  stage.create('t/web');
  stage.failure = new Error('no space');
  stage.node.run('make p/app 2');
  stage.identities.follow();
  expect(stage.raised).toEqual(['cpu-identity: no space']);
  expect(stage.factsOf('s/web')).toBe('shared 0-7');
  stage.failure = undefined;
  stage.identities.round();
  await stage.untilWritten('s/web', 'shared 0,2-4,6-7');
  await stage.untilWritten('t/web', 'shared 0,2-4,6-7');
  expect(stage.raised).toEqual([]);
});

describe('a container that may mount, and so write to its directory', () => {
  const pathIn = (target: string, ...rest: string[]): string => join(stage.root, nameOf(target), ...rest);

  test('a directory in place of its file: it goes, and all are told', async () => {
    for (const target of ['s/web', 't/web', 'u/web']) stage.create(target);
    rmSync(pathIn('s/web', 'cpus.json'));
    mkdirSync(pathIn('s/web', 'cpus.json', 'deep'), { recursive: true });
    writeFileSync(pathIn('s/web', 'cpus.json', 'deep', 'file'), '');
    stage.node.run('make p/app 2');
    stage.identities.follow();
    for (const target of ['s/web', 't/web', 'u/web']) await stage.untilWritten(target, 'shared 0,2-4,6-7');
    expect(stage.raised).toEqual([]);
  });

  test('one whose file can’t be written is an alarm, and costs the others nothing', async () => {
    for (const target of ['s/web', 't/web', 'u/web']) stage.create(target);
    stage.failureOf.set(nameOf('s/web'), new Error('not permitted'));
    stage.node.run('make p/app 2');
    stage.identities.follow();
    for (const target of ['t/web', 'u/web']) await stage.untilWritten(target, 'shared 0,2-4,6-7');
    expect(stage.factsOf('s/web')).toBe('shared 0-7');
    expect(stage.raised).toEqual(['cpu-identity: not permitted']);
    expect(stage.logged).toEqual(['alarm']);
    stage.identities.round();
    stage.create('v/web');
    expect([stage.raised, stage.logged]).toEqual([['cpu-identity: not permitted'], ['alarm']]);
    stage.failureOf.clear();
    stage.identities.round();
    await stage.untilWritten('s/web', 'shared 0,2-4,6-7');
    expect(stage.raised).toEqual([]);
  });

  test('the alarm of a container that is gone is over', async () => {
    for (const target of ['s/web', 't/web']) stage.create(target);
    stage.node.model.apply({ kind: 'set-synchronized', synchronized: true });
    stage.failureOf.set(nameOf('s/web'), new Error('not permitted'));
    stage.node.run('make p/app 2');
    stage.identities.follow();
    await stage.untilWritten('t/web', 'shared 0,2-4,6-7');
    stage.node.run('end s/web');
    for (let i = 0; i < 2; i++) stage.identities.round();
    expect(stage.raised).toEqual([]);
  });

  test('what can’t be removed is told of once, and all else goes', () => {
    stage.node.model.apply({ kind: 'set-synchronized', synchronized: true });
    stage.create('s/web');
    for (const name of ['a', 'stuck', 'z']) writeFileSync(pathIn('s/web', name), '');
    const unlink = fs.unlinkSync;
    const unlinking = jest.spyOn(fs, 'unlinkSync').mockImplementation((path) => {
      if (basename(String(path)) === 'stuck') throw Object.assign(new Error('EBUSY'), { code: 'EBUSY' });
      unlink(path);
    });
    try {
      for (let i = 0; i < 3; i++) stage.identities.round();
    } finally {
      unlinking.mockRestore();
    }
    expect(readdirSync(pathIn('s/web')).sort()).toEqual(['cpus.json', 'stuck']);
    expect(stage.logged).toEqual([
      'what a container has put in the directory of its CPU identity cannot be removed; trying again',
    ]);
    stage.identities.round();
    expect(readdirSync(pathIn('s/web'))).toEqual(['cpus.json']);
    expect(stage.logged.slice(1)).toEqual(['a container has written to the directory of its CPU identity']);
  });

  test.each`
    what                | put
    ${'a directory'}    | ${(path: string) => (rmSync(path), mkdirSync(join(path, 'deep'), { recursive: true }), writeFileSync(join(path, 'deep/big'), 'x'.repeat(1_000)))}
    ${'a large file'}   | ${(path: string) => writeFileSync(path, 'x'.repeat(100_000))}
    ${'no file at all'} | ${(path: string) => rmSync(path)}
  `('given $what in the place of its file: a round writes the file again, while the container lives', ({ put }) => {
    stage.node.model.apply({ kind: 'set-synchronized', synchronized: true });
    for (const target of ['s/web', 't/web']) stage.create(target);
    (put as (path: string) => void)(pathIn('s/web', 'cpus.json'));
    const before = stage.written;
    for (let i = 0; i < 2; i++) stage.identities.round();
    expect([stage.factsOf('s/web'), readdirSync(pathIn('s/web'))]).toEqual(['shared 0-7', ['cpus.json']]);
    expect(stage.written - before).toBe(1);
    expect(stage.logged).toEqual(['a container has written to the directory of its CPU identity']);
  });

  test('given many directories that can’t be removed: each round tries others, and those that can be go', () => {
    stage.node.model.apply({ kind: 'set-synchronized', synchronized: true });
    const targets = Array.from({ length: 60 }, (_, i) => `p${i}/web`);
    for (const target of targets) stage.create(target, 0.1);
    for (const target of targets) writeFileSync(pathIn(target, 'stuck'), '');
    let isStuck = (_path: string): boolean => true;
    const unlink = fs.unlinkSync;
    const unlinking = jest.spyOn(fs, 'unlinkSync').mockImplementation((path) => {
      if (basename(String(path)) === 'stuck' && isStuck(fs.readlinkSync(dirname(String(path)))))
        throw Object.assign(new Error('EBUSY'), { code: 'EBUSY' });
      unlink(path);
    });
    try {
      for (const target of targets) stage.node.run(`end ${target}`);
      for (let i = 0; i < 3; i++) stage.identities.round();
      expect(stage.names).toHaveLength(60);
      isStuck = (path) => Number(/sandbox-p(\d+)/.exec(path)![1]) < 55;
      for (let i = 0; i < 2; i++) stage.identities.round();
      expect(stage.names).toHaveLength(55);
    } finally {
      unlinking.mockRestore();
    }
  });

  test('what it leaves goes: with its directory, and before', () => {
    stage.node.model.apply({ kind: 'set-synchronized', synchronized: true });
    stage.create('s/web');
    stage.create('p/app', 2);
    for (const target of ['s/web', 'p/app']) {
      writeFileSync(pathIn(target, 'filler'), 'x'.repeat(1_000));
      mkdirSync(pathIn(target, 'a/b/c'), { recursive: true });
    }
    stage.node.run('end p/app');
    stage.identities.round();
    stage.identities.round();
    expect(stage.names).toEqual(['sandbox-s.web']);
    expect(readdirSync(pathIn('s/web'))).toEqual(['cpus.json']);
  });
});

test('a directory that somebody has removed is told of once, and not made again unseen by its container', () => {
  stage.create('s/web');
  rmSync(join(stage.root, 'sandbox-s.web'), { recursive: true });
  for (const pod of ['p', 'q']) {
    stage.node.run(`make ${pod}/app 1`);
    stage.identities.follow();
  }
  expect(stage.logged).toEqual([
    'the directory of a CPU identity is gone: the container is not told of changes until it is created again',
  ]);
  expect(stage.names).toEqual([]);
  expect(stage.identities.has(stage.node.container('s/web')!)).toBe(false);
});

test('a root that is no directory keeps the daemon from nothing', () => {
  writeFileSync(join(dir, 'file'), '');
  const broken = new Stage(join(dir, 'file'));
  broken.node.run('make p/app 2');
  const container = broken.node.container('p/app')!;
  expect(broken.identities.prepare(container, identityOf(broken.node.model, container))).toBeUndefined();
  broken.identities.round();
  expect(broken.raised).toEqual([expect.stringMatching(/^cpu-identity: .*no directory/)]);
});

describe('in a transaction', () => {
  const ON = { 'cpusetd.io/cpu-identity': 'on' };
  const create = (prepare: () => { hostDirectory: string } | undefined): RuntimeAnswer => {
    const { node, log } = stage;
    const transactor = new Transactor({
      model: node.model,
      now: () => '2026-01-01T00:00:00Z',
      save: () => undefined,
      mover: { move: () => undefined },
      identities: { prepare: (_container, identity: CpuIdentity | undefined) => (identity ? prepare() : undefined) },
      log,
    });
    const pod = { ...podOf('p'), annotations: ON };
    return transactor.handle({
      kind: 'create-container',
      pod,
      container: {
        id: 'c1',
        sandboxId: pod.sandboxId,
        name: 'app',
        phase: 'creating',
        cgroupsPath: '/c1',
        resources: resourcesOf(2),
      },
    });
  };

  test('the answer has the directory when the file was written', () => {
    const mount = { hostDirectory: '/run/x' };
    expect(create(() => mount)).toEqual({ kind: 'ok', adjust: { cpus: parseCpuList('1,5') }, mount });
  });

  test.each<[string, () => undefined]>([
    ['could not be written', () => undefined],
    [
      'made a fault',
      () => {
        throw new Error('a fault');
      },
    ],
  ])('the answer is the same without it when the file %s', (_what, prepare) => {
    expect(create(prepare)).toEqual({ kind: 'ok', adjust: { cpus: parseCpuList('1,5') } });
  });
});
