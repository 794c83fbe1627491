import type { AnalysisInput } from '../../../src/qos/analysis/analyze';
import type { NodeQos, QosRule } from '../../../src/qos/objects/objects';
import type { Labels } from '../../../src/qos/objects/match-labels';

// The analyzer once more, without counts: everything is figured out again in each round, from all rounds since the rule
// exists.

/** A round of a rule that had data. */
interface Past {
  readonly isAbove: boolean;
  readonly rule: QosRule;
}

interface Life {
  readonly rule: QosRule;
  readonly hadAction: boolean;
  readonly past: readonly Past[];
  /** True for a round with data, of all rounds. */
  readonly data: readonly boolean[];
}

/** `q/r state`, with the event that goes with it. */
export interface Expected {
  readonly state: string;
  readonly hasTriggered: boolean;
  readonly actionName: string;
  readonly event: string;
}

interface Facts {
  readonly nowMs: number;
  readonly triggered: readonly string[];
  readonly isHeld: boolean;
  readonly hasRules: boolean;
}

/** Only what the random worlds have: `matchLabels` with at most one label. */
const suits = (selector: NodeQos['selector'], labels: Labels): boolean =>
  Object.entries(selector?.matchLabels ?? {}).every(([key, value]) => labels[key] === value);

/** True when the rule has triggered and not restored, after these rounds. */
function isOn(past: readonly Past[]): boolean {
  let on = false;
  past.forEach(({ isAbove, rule }, i) => {
    const last = (count: number) => (count > i + 1 ? [] : past.slice(i + 1 - count, i + 1));
    const all = (count: number, above: boolean) =>
      last(count).length === count && last(count).every((round) => round.isAbove === above);
    if (isAbove ? all(rule.avoidanceThreshold, true) : all(rule.restoreThreshold, false)) on = isAbove;
  });
  return on;
}

export class AnalyzerModel {
  private lives = new Map<string, Life>();
  private readonly facts: Facts[] = [];
  /** The cool-downs of the actions of each round. */
  private readonly existing: ReadonlyMap<string, number>[] = [];

  /** The findings by key, and whether scheduling is disabled. */
  run(input: AnalysisInput): { readonly findings: ReadonlyMap<string, Expected>; readonly disabled: boolean } {
    const findings = new Map<string, Expected>();
    const lives = new Map<string, Life>();
    const triggered: string[] = [];
    let isHeld = false;
    for (const { name, rules, selector } of input.nodeQoss) {
      if (!suits(selector, input.nodeLabels)) continue;
      for (const rule of rules) {
        const key = `${name}/${rule.name}`;
        const hasAction = input.actions.has(rule.actionName);
        const before = this.lives.get(key);
        if (before && isOn(before.past) && isEnded(before, rule, hasAction)) {
          findings.set(key, restored(key, before));
          lives.set(key, { rule, hadAction: hasAction, past: [], data: [] });
          continue;
        }
        const past = [...(before?.past ?? [])];
        const wasOn = isOn(past);
        const values = (input.metrics.get(rule.metric.name) ?? [])
          .filter(({ labels, value }) => suits(rule.metric.selector, labels) && Math.abs(value) < Infinity)
          .map(({ value }) => value);
        const isAbove = Math.max(...values) > rule.metric.threshold;
        const data = [...(before?.data ?? []), values.length > 0];
        const lastRounds = data.slice(-input.lostAfterRounds);
        if (wasOn && lastRounds.length === input.lostAfterRounds && !lastRounds.includes(true)) {
          findings.set(key, restored(key, { rule }));
          lives.set(key, { rule, hadAction: hasAction, past: [], data });
          continue;
        }
        if (values.length > 0) past.push({ isAbove, rule });
        const hasTriggered = isOn(past);
        const state =
          values.length === 0
            ? 'no-data'
            : isAbove
              ? hasTriggered
                ? 'triggered'
                : 'firing'
              : hasTriggered
                ? 'restoring'
                : wasOn
                  ? 'restored'
                  : 'calm';
        const event =
          wasOn === hasTriggered ? '' : `${key} ${hasTriggered ? 'triggered' : 'restored'} action ${rule.actionName}`;
        findings.set(key, { state, hasTriggered, actionName: rule.actionName, event });
        lives.set(key, { rule, hadAction: hasAction, past, data });
        if (rule.strategy === 'None' && hasAction) {
          if (state === 'triggered') triggered.push(rule.actionName);
          isHeld ||= hasTriggered;
        }
      }
    }
    for (const [key, life] of this.lives)
      if (!lives.has(key) && isOn(life.past)) findings.set(key, restored(key, life));
    this.lives = lives;
    const hasRules = [...lives.values()].some(({ rule }) => rule.strategy === 'None');
    this.facts.push({ nowMs: input.nowMs, triggered, isHeld, hasRules });
    return { findings, disabled: this.isDisabled(input) };
  }

  /** Goes through all rounds; an action that is gone takes its cool-down with it. */
  private isDisabled({ actions }: AnalysisInput): boolean {
    this.existing.push(new Map([...actions].map(([name, { coolDownSeconds }]) => [name, coolDownSeconds * 1_000])));
    let concerned: string[] | undefined;
    let lastMs = 0;
    this.facts.forEach(({ nowMs, triggered, isHeld, hasRules }, i) => {
      const coolDowns = this.existing[i]!;
      concerned = concerned?.filter((name) => coolDowns.has(name));
      lastMs = Math.min(lastMs, nowMs);
      if (triggered.length > 0) {
        concerned = [...(concerned ?? []), ...triggered];
        lastMs = nowMs;
      } else if (!hasRules) concerned = undefined;
      else if (concerned && !isHeld) {
        const ends = concerned.map((name) => lastMs + coolDowns.get(name)!);
        if (ends.every((end) => nowMs > end)) concerned = undefined;
      }
    });
    return concerned !== undefined;
  }
}

/** Its action is undone: it has another action, only tells now, or its action is gone. */
function isEnded(before: Life, rule: QosRule, hasAction: boolean): boolean {
  if (before.rule.actionName !== rule.actionName) return true;
  const hadEffect = before.rule.strategy === 'None' && before.hadAction;
  return hadEffect && (rule.strategy === 'Preview' || !hasAction);
}

function restored(key: string, { rule: { actionName } }: Pick<Life, 'rule'>): Expected {
  return { state: 'restored', hasTriggered: false, actionName, event: `${key} restored action ${actionName}` };
}
