import { analyze, NOTHING_ANALYZED, type Analysis, type AnalysisInput } from '../../../src/qos/analysis/analyze';
import type { AvoidanceAction, LabelSelector, NodeQos, QosRule } from '../../../src/qos/objects/objects';
import type { Series } from '../../../src/qos/usage/metrics';
import { createRandom, type Random } from '../../support/random';
import { AnalyzerModel } from './analyze-model';

const ROUNDS = 400;
const ACTIONS = ['a0', 'a1', 'a2'];
const METRICS = ['m0', 'm1', 'm2'];
const POOLS = ['batch', 'web'];

const label = (key: string, value: string): LabelSelector => ({ matchLabels: { [key]: value }, matchExpressions: [] });

function randomRule(random: Random, name: string): QosRule {
  return {
    name,
    metric: {
      name: random.pick(METRICS),
      threshold: random.int(1, 3) * 10,
      ...(random.chance(0.3) && { selector: label('pod', random.pick(['p0', 'p1'])) }),
    },
    avoidanceThreshold: random.int(1, 5),
    restoreThreshold: random.int(1, 5),
    actionName: random.pick([...ACTIONS, 'none']),
    strategy: random.chance(0.2) ? 'Preview' : 'None',
  };
}

/** Objects that change now and then, and metrics that swing around the thresholds. */
class World {
  private readonly nodeQoss = new Map<string, NodeQos>();
  private readonly actions = new Map<string, AvoidanceAction>();
  private readonly level = new Map(METRICS.map((name) => [name, 15]));
  private pool = 'batch';
  private nowMs = 1_000_000;

  constructor(private readonly random: Random) {
    for (const name of ACTIONS) this.changeAction(name);
    for (const name of ['q0', 'q1', 'q2']) this.changeNodeQos(name);
  }

  next(): AnalysisInput {
    const { random } = this;
    if (random.chance(0.015)) this.changeNodeQos(random.pick(['q0', 'q1', 'q2']));
    if (random.chance(0.03)) this.changeRule(random.pick([...this.nodeQoss.keys(), 'q0']));
    if (random.chance(0.005)) this.nodeQoss.delete(random.pick(['q0', 'q1', 'q2']));
    if (random.chance(0.002)) this.nodeQoss.clear();
    if (random.chance(0.03)) this.changeAction(random.pick(ACTIONS));
    if (random.chance(0.005)) this.actions.delete(random.pick(ACTIONS));
    if (random.chance(0.02)) this.pool = random.pick(POOLS);
    this.nowMs += random.chance(0.02) ? random.int(-600_000, 600_000) : 10_000;
    return {
      nodeQoss: [...this.nodeQoss.values()],
      actions: new Map(this.actions),
      metrics: new Map(METRICS.filter(() => !random.chance(0.15)).map((name) => [name, this.readMetric(name)])),
      nodeLabels: { pool: this.pool },
      nowMs: this.nowMs,
      lostAfterRounds: 3,
    };
  }

  private readMetric(name: string): readonly Series[] {
    const { random } = this;
    if (random.chance(0.2)) this.level.set(name, random.int(5, 35));
    return Array.from({ length: random.int(0, 3) }, () => ({
      labels: random.chance(0.5) ? { pod: random.pick(['p0', 'p1']) } : {},
      value: random.chance(0.02) ? random.pick([NaN, Infinity, -Infinity]) : this.level.get(name)! + random.int(-3, 3),
      atMs: this.nowMs,
    }));
  }

  private changeNodeQos(name: string): void {
    const { random } = this;
    const rules = Array.from({ length: random.int(0, 3) }, (_, i) => randomRule(random, `r${i}`));
    this.nodeQoss.set(name, {
      name,
      uid: name,
      rules,
      ...(random.chance(0.4) && { selector: label('pool', random.pick(POOLS)) }),
    });
  }

  /** Changes one field of one rule. */
  private changeRule(name: string): void {
    const { random } = this;
    const before = this.nodeQoss.get(name);
    if (!before || before.rules.length === 0) return;
    const at = random.int(0, before.rules.length - 1);
    const field = random.pick(['metric', 'avoidanceThreshold', 'restoreThreshold', 'actionName', 'strategy'] as const);
    const rules = before.rules.map((rule, i) =>
      i === at ? { ...rule, [field]: randomRule(random, '')[field] } : rule,
    );
    this.nodeQoss.set(name, { ...before, rules });
  }

  private changeAction(name: string): void {
    this.actions.set(name, { name, coolDownSeconds: this.random.pick([0, 5, 20, 60, 300]) });
  }
}

interface Outcome {
  readonly faults: readonly string[];
  /** The number of times that each state was met. */
  readonly seen: ReadonlyMap<string, number>;
  /** The rules that had triggered at the end, and those that are restored when all objects are gone then. */
  readonly reported: readonly string[];
  readonly end: Analysis;
}

function runWorld(seed: number): Outcome {
  const random = createRandom(seed);
  const [world, model] = [new World(random), new AnalyzerModel()];
  const reported = new Map<string, string>();
  /** For each rule its last rounds with data: true = above. Never forgotten. */
  const passed = new Map<string, boolean[]>();
  const faults: string[] = [];
  const seen = new Map<string, number>();
  const meet = (what: string): unknown => seen.set(what, (seen.get(what) ?? 0) + 1);
  let state = NOTHING_ANALYZED;
  let lastTriggerMs = -Infinity;
  for (let round = 1; round <= ROUNDS; round++) {
    const input = world.next();
    const check = (isGood: boolean, what: string) => isGood || faults.push(`round ${round}: ${what}`);
    const { findings, scheduling, state: next } = analyze(state, input);
    const want = model.run(input);

    const got = new Map(
      findings.map(({ key, state: found, hasTriggered, actionName, event }) => {
        return [key, JSON.stringify({ state: found, hasTriggered, actionName, event: event?.message ?? '' })];
      }),
    );
    const wanted = new Map([...want.findings].map(([key, expected]) => [key, JSON.stringify(expected)]));
    check(got.size === findings.length, 'two findings of one key');
    for (const key of new Set([...got.keys(), ...wanted.keys()]))
      check(got.get(key) === wanted.get(key), `${key} is ${got.get(key)}, not ${wanted.get(key)}`);
    check(scheduling.disabled === want.disabled, `disabled: ${scheduling.disabled}, ${scheduling.because}`);

    const rules = input.nodeQoss.flatMap(({ name, rules: qosRules }) =>
      qosRules.map((rule) => ({ key: `${name}/${rule.name}`, rule })),
    );
    for (const { key, state: found, event, hasTriggered, actionName, fired, series } of findings) {
      meet(found);
      if (series.length > 0) passed.set(key, [...(passed.get(key) ?? []), fired.length > 0].slice(-5));
      if (event?.reason === 'AvoidanceTriggered') {
        check(!reported.has(key), `${key} is told twice`);
        reported.set(key, actionName);
        const { avoidanceThreshold } = rules.find((each) => each.key === key)!.rule;
        const last = (passed.get(key) ?? []).slice(-avoidanceThreshold);
        check(last.length === avoidanceThreshold && last.every(Boolean), `${key} triggered after ${String(last)}`);
      }
      if (event?.reason === 'RestoreTriggered') {
        check(reported.get(key) === actionName, `${key} restored ${actionName}, told was ${reported.get(key)}`);
        reported.delete(key);
      }
      check(hasTriggered === reported.has(key), `${key} has triggered: ${hasTriggered}`);
    }

    const acting = findings.filter(({ isPreview, action }) => !isPreview && action);
    if (acting.some(({ state: found }) => found === 'triggered')) lastTriggerMs = input.nowMs;
    lastTriggerMs = Math.min(lastTriggerMs, input.nowMs);
    const longestMs = Math.max(0, ...[...input.actions.values()].map(({ coolDownSeconds }) => coolDownSeconds * 1_000));
    const isQuiet = acting.every(({ hasTriggered }) => !hasTriggered) && input.nowMs > lastTriggerMs + longestMs;
    check(!(scheduling.disabled && isQuiet), 'disabled though all has been quiet for longer than any cool-down');
    meet(scheduling.disabled ? 'disabled' : 'enabled');
    if (scheduling.coolDownEndsMs !== undefined) meet('cool-down');

    const present = rules.filter(({ key }) => next.rules.has(key)).map(({ key }) => key);
    check(next.rules.size === present.length, 'a rule is remembered that is gone');
    check((next.disabled === undefined) === !scheduling.disabled, 'remembered though it is enabled');
    const names = next.disabled?.actions ?? [];
    check(
      new Set(names).size === names.length && names.every((name) => input.actions.has(name)),
      `remembers ${String(names)}`,
    );
    state = next;
  }
  const nothing = {
    nodeQoss: [],
    actions: new Map(),
    metrics: new Map(),
    nodeLabels: {},
    nowMs: 0,
    lostAfterRounds: 3,
  };
  return { faults, seen, reported: [...reported.keys()], end: analyze(state, nothing) };
}

test.each(Array.from({ length: 25 }, (_, i) => i + 1))('it decides as the model does, seed %i', (seed) => {
  const { faults, reported, end } = runWorld(seed);
  expect(faults).toEqual([]);
  expect(end.findings.map(({ key, event }) => `${key} ${event?.reason}`).sort()).toEqual(
    reported.map((key) => `${key} RestoreTriggered`).sort(),
  );
  expect(end.state).toEqual(NOTHING_ANALYZED);
});

test('these rounds meet every state, and cool-downs', () => {
  const worlds = [1, 2, 3, 4].map((seed) => runWorld(seed).seen);
  const rare = [
    'triggered',
    'restored',
    'restoring',
    'firing',
    'calm',
    'no-data',
    'disabled',
    'enabled',
    'cool-down',
  ].filter((what) => worlds.reduce((sum, seen) => sum + (seen.get(what) ?? 0), 0) < 50);
  expect(rare).toEqual([]);
});
