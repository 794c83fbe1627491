import { actionOf, byName, CPU, metricsOf, nodeQosOf, ROUND_MS, Rounds, ruleOf } from './objects';

const MINUTE = 60_000;

test('disabled while a rule is triggered, and until the cool-down since the last trigger is over', () => {
  const rounds = new Rounds({ actions: byName(actionOf('throttle', { coolDownSeconds: 60 })) });
  expect(rounds.value(70).scheduling).toEqual({ disabled: false, because: 'no rule that acts is triggered' });
  expect(rounds.value(90).scheduling).toEqual({ disabled: true, because: 'q/r triggered action throttle' });
  const lastMs = 3 * ROUND_MS;
  expect(rounds.value(90).scheduling).toEqual({ disabled: true, because: 'q/r triggered action throttle' });
  // Crane: restored within the cool-down, told once, so the node stays tainted for ever.
  expect(rounds.value(70).scheduling).toEqual({
    disabled: true,
    because: 'all rules have restored; 50 s are left of the cool-down of action throttle',
    coolDownEndsMs: lastMs + MINUTE,
  });
  expect(rounds.value(70, { nowMs: lastMs + MINUTE }).scheduling).toMatchObject({ disabled: true });
  expect(rounds.value(70, { nowMs: lastMs + MINUTE + 1 }).scheduling).toEqual({
    disabled: false,
    because: 'all rules have restored, and the cool-down of action throttle, 60 s, is over',
  });
  expect(rounds.value(70).scheduling).toEqual({ disabled: false, because: 'no rule that acts is triggered' });
  expect(rounds.remembered.disabled).toBeUndefined();
});

test.each([
  ['that restores', 70, 'q/r triggered, and has not restored'],
  ['without data', undefined, 'q/r triggered, and has not restored'],
])('disabled beyond the cool-down by a rule %s', (_name, value, because) => {
  const rounds = new Rounds({ nodeQoss: [nodeQosOf('q', [ruleOf('r', { restoreThreshold: 9 })])] });
  rounds.value(90);
  expect(rounds.value(value, { nowMs: 60 * MINUTE }).scheduling).toEqual({ disabled: true, because });
});

const two = [
  nodeQosOf('q', [ruleOf('a', { actionName: 'short' }), ruleOf('b', { actionName: 'long' }, { name: 'memory' })]),
];
const actions = byName(actionOf('short', { coolDownSeconds: 10 }), actionOf('long', { coolDownSeconds: 600 }));

test('the longest cool-down counts, from the last trigger of any rule', () => {
  const rounds = new Rounds({ nodeQoss: two, actions });
  expect(rounds.run({ metrics: metricsOf({ [CPU]: 90, memory: 90 }) }).scheduling.because).toBe(
    'q/a and 1 other rule triggered action short',
  );
  rounds.run({ metrics: metricsOf({ [CPU]: 90, memory: 70 }), nowMs: MINUTE });
  const calm = metricsOf({ [CPU]: 70, memory: 70 });
  expect(rounds.run({ metrics: calm, nowMs: 5 * MINUTE }).scheduling).toMatchObject({
    disabled: true,
    coolDownEndsMs: 11 * MINUTE,
  });
  expect(rounds.run({ metrics: calm, nowMs: 11 * MINUTE + 1 }).scheduling).toMatchObject({ disabled: false });
});

test('the cool-down of an action that did not trigger does not count', () => {
  const rounds = new Rounds({ nodeQoss: two, actions });
  rounds.run({ metrics: metricsOf({ [CPU]: 90, memory: 70 }) });
  const calm = metricsOf({ [CPU]: 70, memory: 70 });
  expect(rounds.run({ metrics: calm, nowMs: MINUTE }).scheduling).toMatchObject({ disabled: false });
});

test('a cool-down is that of the action now: one that was far too long can be corrected', () => {
  const rounds = new Rounds({ actions: byName(actionOf('throttle', { coolDownSeconds: 2 ** 31 - 1 })) });
  rounds.value(90);
  expect(rounds.value(70).scheduling.disabled).toBe(true);
  expect(rounds.value(70, { actions: byName(actionOf('throttle', { coolDownSeconds: 5 })) }).scheduling.disabled).toBe(
    false,
  );
});

test('without the action there is no cool-down', () => {
  const rounds = new Rounds();
  rounds.value(90);
  expect(rounds.value(90, { actions: byName() }).scheduling).toEqual({
    disabled: false,
    because: 'all rules have restored',
  });
});

test.each([
  ['a preview', { strategy: 'Preview' } as const],
  ['an action that does not exist', { actionName: 'x' }],
])('%s never disables', (_name, fields) => {
  const rounds = new Rounds({ nodeQoss: [nodeQosOf('q', [ruleOf('r', fields)])] });
  expect(rounds.value(90)).toMatchObject({ findings: [{ state: 'triggered' }], scheduling: { disabled: false } });
});

test('without rules it is enabled at once, as in Crane', () => {
  const rounds = new Rounds();
  rounds.value(90);
  expect(rounds.value(90, { nodeQoss: [] }).scheduling).toEqual({
    disabled: false,
    because: 'no rule that acts applies to this node',
  });
});

test('with previews alone it is enabled at once too', () => {
  const rounds = new Rounds();
  rounds.value(90);
  const nodeQoss = [nodeQosOf('other', [ruleOf('r', { strategy: 'Preview' })])];
  expect(rounds.value(90, { nodeQoss }).scheduling.disabled).toBe(false);
});

test('a clock that was set back does not lengthen the cool-down', () => {
  const rounds = new Rounds();
  rounds.value(90, { nowMs: 1_000 * MINUTE });
  expect(rounds.value(70, { nowMs: 10 * MINUTE }).scheduling).toMatchObject({
    disabled: true,
    coolDownEndsMs: 15 * MINUTE,
  });
  expect(rounds.value(70, { nowMs: 15 * MINUTE + 1 }).scheduling.disabled).toBe(false);
});
