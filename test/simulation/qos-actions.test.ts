import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeFsOps } from '../../src/files/fs-ops';
import {
  actingNode,
  EVICT,
  FakeNode,
  findForgotten,
  isSpoiled,
  measure,
  NOTE_FILE,
  onDisk,
  ruleOf,
  THROTTLE,
} from '../app/qos/support/acting-node';
import { fsError, watchOps } from '../state/support/fs-doubles';
import { useTempDirs } from '../state/support/temp-dir';
import { createRandom, type Random } from '../support/random';

const HISTORIES = 100;
const STEPS = 70;
const NEVER = new Promise<never>(() => undefined);
const MODES = ['enforce', 'enforce', 'enforce', 'preview', 'off'] as const;
/** A little less than an hour: what is counted when it is saved takes effect a little later. */
const HOUR_MS = 3_600_000 - 60_000;

const makeDir = useTempDirs();
beforeEach(() => {
  jest.useFakeTimers({ now: 1_800_000_000_000, doNotFake: ['nextTick', 'queueMicrotask'] });
  jest.spyOn(Math, 'random').mockReturnValue(0.5); // pauses after failures
});
afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

const pass = (ms: number): Promise<void> => jest.advanceTimersByTimeAsync(ms);

/** A node on which everything can fail, and the processes that follow each other on it. */
class History {
  readonly node = new FakeNode();
  readonly broken: string[] = [];
  readonly seen = { kills: 0, lowered: 0, tainted: 0, evicted: 0, lost: 0, resized: 0, spoiled: 0 };
  private readonly stateDir = makeDir();
  private readonly perHour: number;
  private readonly evictionsPerHour: number;
  private readonly acts: { readonly atMs: number; readonly isEviction: boolean }[] = [];
  private readonly before = { quotas: new Map<string, number>(), isTainted: false, evicted: 0 };
  private readonly fails = { runtime: 0, disk: 0, api: 0 };
  private acting: ReturnType<typeof actingNode> | undefined;
  private killIn = Infinity;
  private inFlight = 0;
  private made = 0;

  constructor(private readonly random: Random) {
    this.perHour = random.pick([3, 12, 1_000]);
    this.evictionsPerHour = random.pick([1, 2, 100]);
    for (let i = 0; i < random.int(2, 5); i++) this.addContainer();
    this.node.onEffect = () => this.judge();
    this.node.during = (call, at, subject) => this.interfere(call, at, subject);
    this.start();
  }

  start(mode: (typeof MODES)[number] = this.random.pick(MODES)): void {
    const { node, stateDir, perHour, evictionsPerHour, random } = this;
    this.node.isSynchronized = random.chance(0.7);
    this.inFlight = 0;
    const fs = watchOps(
      (op) => {
        if (acting.process.isDead || this.isKilled()) throw fsError('EDEAD');
        const isRead = op === 'stat' || op === 'readText' || op === 'readdir';
        if (random.chance(this.fails.disk)) throw fsError(isRead ? 'EMFILE' : 'ENOSPC');
      },
      { ...nodeFsOps, fsync: () => undefined },
    );
    const acting = actingNode({ node, stateDir, mode, perHour, evictionsPerHour, fs });
    this.acting = acting;
    acting.run().catch((error: unknown) => this.broken.push(String(error)));
  }

  kill(): void {
    this.seen.kills += 1;
    this.killIn = Infinity;
    this.acting?.kill();
    this.acting?.end.abort();
    this.acting = undefined;
  }

  /** One step; returns its name. */
  async step(): Promise<string> {
    const { random, node } = this;
    const steps: Record<string, () => void | Promise<void>> = {
      collect: () => this.collect(),
      'collect again': () => this.collect(),
      'collect twice': async () => {
        await this.collect();
        await this.collect();
      },
      load: () => void (node.cpuUsage = random.pick([500, 2_000, 5_000, 100_000, 100_000, undefined])),
      'more load': () => void (node.cpuUsage = 50_000),
      'all is well': () => {
        Object.assign(this.fails, { runtime: 0, disk: 0, api: 0 });
        Object.assign(node, { isApiAway: false, isSynchronized: true, cpuUsage: 50_000, actions: [THROTTLE, EVICT] });
        node.rules = [ruleOf({ actionName: random.pick(['slow-down', 'evict']) })];
        this.acting?.set({ qosActions: 'enforce', ...this.limits });
      },
      silence: () => pass(random.int(1_000, 60_000)),
      api: () => void (node.isApiAway = random.chance(0.4)),
      faults: () => this.fail(),
      'more faults': () => this.fail(),
      rules: () => {
        const rule = (name: string) =>
          ruleOf({
            name,
            actionName: random.pick(['slow-down', 'slow-down', 'evict']),
            strategy: random.chance(0.15) ? 'Preview' : 'None',
            avoidanceThreshold: random.int(1, 2),
          });
        node.rules = [rule('a'), rule('b')].slice(0, random.int(0, 2));
      },
      actions: () => {
        node.actions = random.pick([[THROTTLE, EVICT], [THROTTLE], [{ ...THROTTLE, coolDownSeconds: 60 }, EVICT], []]);
      },
      options: () => this.acting?.set({ qosActions: random.pick(MODES), ...this.limits }),
      kill: () => this.kill(),
      'kill soon': () => void (this.killIn = random.int(0, 30)),
      end: async () => {
        this.acting?.end.abort();
        await pass(8_500);
        this.kill();
      },
      synchronize: () => void (node.isSynchronized = true),
      clock: () => {
        jest.setSystemTime(Date.now() - random.int(0, 7_200_000));
      },
      'a container': () => this.addContainer(),
      'a container ends': () => node.remove(random.pick([...node.containers.keys(), 'none'])),
      resize: () => this.resize(),
      spoil: () => this.spoil(),
      look: () => this.look(),
      protect: () => {
        if (random.chance(0.5)) node.protectedPods.add('c0');
        else node.protectedPods.clear();
      },
      later: () => pass(20 * 60_000),
    };
    const name = random.pick(Object.keys(steps));
    await steps[name]!();
    await pass(random.int(0, 1_500));
    if (!this.acting && random.chance(0.7)) this.start();
    this.judge();
    return name;
  }

  /** All faults are over. In one of the ways that undo everything, everything is as it was after some minutes. */
  async settle(): Promise<string> {
    const { node, fails, random } = this;
    Object.assign(fails, { runtime: 0, disk: 0, api: 0 });
    this.killIn = Infinity;
    node.isSynchronized = true;
    node.isApiAway = false;
    const way = random.pick(['rules are gone', 'off', 'end', 'kill and start', 'no collections']);
    if (way === 'kill and start') this.kill();
    if (!this.acting) this.start(way === 'kill and start' ? random.pick(['off', 'preview']) : 'enforce');
    node.isSynchronized = true;
    await pass(80_000); // the longest pause after a failure
    this.look();
    if (way === 'rules are gone') node.rules = [];
    if (way === 'off') this.acting!.set({ qosActions: 'off', ...this.limits });
    if (way === 'end') this.acting!.end.abort();
    if (way === 'rules are gone') this.acting!.set({ qosActions: 'enforce', ...this.limits });
    for (let i = 0; i < 20; i++) {
      if (way === 'rules are gone') await this.collect();
      await pass(10_000);
    }
    const saved = onDisk(this.stateDir);
    if (node.changed.length > 0) this.broken.push(`left: ${node.changed.join()}`);
    if (node.isTainted) this.broken.push('left: the taint');
    if (saved && (saved.tainted || saved.throttles.length > 0 || saved.owesUnknown))
      this.broken.push(`left on disk: ${JSON.stringify(saved)}`);
    const alarms = this.acting?.alarms.list() ?? [];
    if (alarms.length > 0 && way !== 'end') this.broken.push(`left: ${JSON.stringify(alarms)}`);
    this.acting?.end.abort();
    await pass(10_000);
    return way;
  }

  private get limits() {
    return { qosActionsPerHour: this.perHour, qosEvictionsPerHour: this.evictionsPerHour };
  }

  private async collect(): Promise<void> {
    const collecting = this.acting?.collect(measure(this.node));
    await Promise.all([this.random.chance(0.8) ? Promise.race([collecting, pass(10_000)]) : undefined, pass(10_000)]);
  }

  private fail(): void {
    const { random } = this;
    Object.assign(this.fails, {
      runtime: random.pick([0, 0.3, 0.6]),
      api: random.pick([0, 0.3]),
      disk: random.pick([0, 0, 0.1]),
    });
  }

  private addContainer(): void {
    const { random, node } = this;
    const quotaUs = random.pick([-1, 400_000, 250_000]);
    const isPinned = random.chance(0.2);
    node.add(`c${this.made++}`, {
      quotaUs,
      milliCpu: random.int(0, 4_000),
      requestMilliCpu: random.pick([0, 500, 1_500]),
      ...(isPinned && { placement: 'exclusive' as const }),
    });
  }

  /** Between two processes the note is damaged. */
  private spoil(): void {
    const { random, seen } = this;
    const path = join(this.stateDir, NOTE_FILE);
    if (random.chance(0.5)) this.kill();
    if (this.acting || !existsSync(path)) return;
    const text = readFileSync(path, 'utf8');
    const at = random.int(0, text.length - 2);
    writeFileSync(path, random.pick([text.slice(0, at), text.slice(0, at) + text.slice(at + 1), '']));
    if (isSpoiled(this.stateDir)) seen.spoiled += 1;
  }

  /** Somebody looks at the notes that were set aside, after cpusetd has taken note of them. */
  private look(): void {
    const { stateDir } = this;
    if (!existsSync(join(stateDir, NOTE_FILE)) || isSpoiled(stateDir)) return;
    for (const name of readdirSync(stateDir)) if (name.includes('.bad-')) rmSync(join(stateDir, name));
  }

  /** Someone else changes the limit of a container, while no write is under way. */
  private resize(): void {
    const { random, node } = this;
    const container = node.containers.get(random.pick([...node.containers.keys(), 'none']));
    if (!container || this.inFlight > 0 || this.killIn < Infinity) return;
    const quotaUs = random.pick([330_000, 370_000]);
    Object.assign(container, { quotaUs, originalUs: quotaUs });
    const isOfPod = ({ uid }: { readonly uid: string }): boolean => uid === container.podUid;
    node.pods = node.pods.map((pod) =>
      isOfPod(pod) ? { ...pod, containers: [{ ...pod.containers[0]!, limitMilliCpu: quotaUs / 100 }] } : pod,
    );
    this.seen.resized += 1;
    this.note();
  }

  private isKilled(): boolean {
    if (this.killIn-- > 0) return false;
    this.kill();
    return true;
  }

  private async interfere(call: string, at: 'before' | 'after', subject: string): Promise<void> {
    const { random, acting } = this;
    if (at === 'before') this.inFlight += 1;
    if (this.isKilled()) await NEVER;
    await new Promise((resolve) => setTimeout(resolve, random.pick([0, 0, 5, 1_500])));
    if (this.acting !== acting || this.isKilled()) await NEVER;
    const isFailing = random.chance(call === 'update' ? this.fails.runtime : this.fails.api);
    if (at === 'after' || isFailing) this.inFlight -= 1;
    if (!isFailing) return;
    if (at === 'after') this.seen.lost += 1;
    throw new Error(`${call} of ${subject} fails`);
  }

  /** Compares with what was before. */
  private judge(): void {
    const { node, broken, before, seen } = this;
    broken.push(...findForgotten(node, this.stateDir).map((what) => `not on disk: ${what}`));
    const acts: boolean[] = [];
    for (const [id, { quotaUs, originalUs, placement, podUid }] of node.containers) {
      const was = before.quotas.get(id) ?? originalUs;
      if (quotaUs === was) continue;
      if (placement !== 'shared') broken.push(`${id} is pinned and got ${quotaUs}`);
      const spec = node.pods.find(({ uid }) => uid === podUid)!.containers[0]!;
      if (quotaUs > 0 && quotaUs < (spec.requestMilliCpu ?? 0) * 100)
        broken.push(`${id} got ${quotaUs}, below its request`);
      if (was < 0 || (quotaUs > 0 && quotaUs < was)) acts.push(false);
    }
    if (node.isTainted && !before.isTainted) acts.push(false);
    seen.lowered += acts.length;
    if (node.isTainted && !before.isTainted) seen.tainted += 1;
    if (node.evicted.length > before.evicted) acts.push(true);
    seen.evicted = node.evicted.length;
    const nowMs = performance.now();
    this.acts.push(...acts.map((isEviction) => ({ atMs: nowMs, isEviction })));
    const recent = this.acts.filter(({ atMs }) => nowMs - atMs < HOUR_MS);
    if (recent.length > this.perHour) broken.push(`${recent.length} actions in an hour, ${this.perHour} are allowed`);
    const evictions = recent.filter(({ isEviction }) => isEviction).length;
    if (evictions > this.evictionsPerHour) broken.push(`${evictions} evictions in an hour`);
    this.note();
  }

  private note(): void {
    this.before.quotas = new Map([...this.node.containers].map(([id, { quotaUs }]) => [id, quotaUs]));
    this.before.isTainted = this.node.isTainted;
    this.before.evicted = this.node.evicted.length;
  }
}

async function runHistory(seed: number): Promise<History> {
  const history = new History(createRandom(seed));
  const done: string[] = [];
  const check = (): void => {
    if (history.broken.length > 0)
      throw new Error(`seed ${seed}, after: ${done.join(', ')}\n${history.broken.slice(0, 5).join('\n')}`);
  };
  try {
    for (let i = 0; i < STEPS; i++) {
      done.push(await history.step());
      check();
    }
    done.push(await history.settle());
    check();
  } finally {
    history.kill();
    await pass(10_000);
  }
  return history;
}

test(`${HISTORIES} random histories of QoS actions, with faults and kills: what is in force is on disk, requests and promises hold, budgets too, and in the end everything is as it was`, async () => {
  const seen = { kills: 0, lowered: 0, tainted: 0, evicted: 0, lost: 0, resized: 0, spoiled: 0 };
  for (let seed = 1; seed <= HISTORIES; seed++) {
    const history = await runHistory(seed);
    for (const key of Object.keys(seen) as (keyof typeof seen)[]) seen[key] += history.seen[key];
  }
  const rare = Object.entries(seen).filter(([, count]) => count < HISTORIES / 4);
  expect(rare).toEqual([]);
});
