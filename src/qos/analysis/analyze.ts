import { showText } from '../../core/show-text';
import { plural } from '../../core/text';
import { matchLabels } from '../objects/match-labels';
import type { AvoidanceAction, NodeQos, QosRule } from '../objects/objects';
import type { Metrics, Series } from '../usage/metrics';
import { countRound, NO_ROUNDS, type Rounds, type RoundState } from './count-rounds';
import { restoredEvent, triggeredEvent, type Finding } from './finding';
import { decideScheduling, type DisabledScheduling, type SchedulingDecision } from './scheduling';

export interface AnalysisInput {
  /** All of the cluster; those whose selector does not match this node are left out. */
  readonly nodeQoss: readonly NodeQos[];
  /** By name. */
  readonly actions: ReadonlyMap<string, AvoidanceAction>;
  readonly metrics: Metrics;
  readonly nodeLabels: Readonly<Record<string, string>>;
  readonly nowMs: number;
  /** A rule that has triggered restores after this number of rounds in a row without data; at least 1. */
  readonly lostAfterRounds: number;
}

/** The counts that go from one round to the next: one entry for each rule of this node. */
export interface AnalysisState {
  /** By key. */
  readonly rules: ReadonlyMap<string, TrackedRule>;
  /** Undefined while scheduling is enabled. */
  readonly disabled: DisabledScheduling | undefined;
}

/** A rule and its action as they were in the last round, so that they can be undone when they are gone. */
export interface TrackedRule {
  readonly nodeQos: string;
  readonly rule: QosRule;
  readonly action?: AvoidanceAction;
  readonly rounds: Rounds;
  /** Rounds in a row without data. */
  readonly silentRounds: number;
}

export interface Analysis {
  readonly state: AnalysisState;
  readonly findings: readonly Finding[];
  readonly scheduling: SchedulingDecision;
}

export const NOTHING_ANALYZED: AnalysisState = { rules: new Map(), disabled: undefined };

/**
 * Analyzes the metrics of one round. Each rule of each NodeQOS that matches the node gets one finding; a rule that had
 * triggered and is gone gets a last one, `restored`. The README of this folder lists the differences to Crane.
 */
export function analyze(state: AnalysisState, input: AnalysisInput): Analysis {
  const { nodeQoss, actions, nodeLabels, nowMs } = input;
  const matching = nodeQoss.filter(({ selector }) => selector === undefined || matchLabels(selector, nodeLabels));
  const rules = new Map<string, TrackedRule>();
  const findings: Finding[] = [];
  for (const nodeQos of matching) {
    for (const rule of nodeQos.rules) {
      const key = `${nodeQos.name}/${rule.name}`;
      const action = actions.get(rule.actionName);
      const now: TrackedRule = {
        nodeQos: nodeQos.name,
        rule,
        ...(action && { action }),
        rounds: NO_ROUNDS,
        silentRounds: 0,
      };
      const before = state.rules.get(key);
      const { finding, ...counts } = analyzeRule(key, before, now, input);
      rules.set(key, { ...now, ...counts });
      findings.push(finding);
    }
  }
  for (const [key, tracked] of state.rules) {
    if (rules.has(key) || !tracked.rounds.hasTriggered) continue;
    findings.push(undo(key, tracked, explainGone(tracked, nodeQoss, matching)));
  }
  const ruleCount = [...rules.values()].filter(({ rule }) => rule.strategy === 'None').length;
  const { disabled, decision } = decideScheduling(state.disabled, { findings, actions, ruleCount, nowMs });
  return { state: { rules, disabled }, findings, scheduling: decision };
}

function analyzeRule(
  key: string,
  before: TrackedRule | undefined,
  now: TrackedRule,
  { metrics, lostAfterRounds }: Pick<AnalysisInput, 'metrics' | 'lostAfterRounds'>,
): { readonly finding: Finding } & Pick<TrackedRule, 'rounds' | 'silentRounds'> {
  const change = before && explainChange(before, now);
  if (before && change !== undefined) return { finding: undo(key, before, change), rounds: NO_ROUNDS, silentRounds: 0 };

  const earlier = before?.rounds ?? NO_ROUNDS;
  const { rule } = now;
  const series = selectSeries(rule, metrics);
  const fired = series.filter(({ value }) => value > rule.metric.threshold);
  if (series.length === 0) {
    const silentRounds = Math.min((before?.silentRounds ?? 0) + 1, lostAfterRounds);
    const because = explainNoData(now, earlier);
    if (earlier.hasTriggered && silentRounds >= lostAfterRounds) {
      const lost = `it had triggered, and has had no data in ${plural(silentRounds, 'round')} in a row: counted as restored`;
      return { finding: undo(key, now, lost), rounds: NO_ROUNDS, silentRounds };
    }
    const finding = findingOf(key, now, { rounds: earlier, state: 'no-data', series, fired, because });
    return { finding, rounds: earlier, silentRounds };
  }
  const { rounds, state } = countRound(earlier, fired.length > 0, rule);
  const because = explainRound(now, { earlier, rounds, state, series, fired });
  const isNew = state === 'triggered' && !earlier.hasTriggered;
  const event = isNew
    ? triggeredEvent(key, rule.actionName)
    : state === 'restored'
      ? restoredEvent(key, rule.actionName)
      : undefined;
  return {
    finding: { ...findingOf(key, now, { rounds, state, series, fired, because }), ...(event && { event }) },
    rounds,
    silentRounds: 0,
  };
}

/** The series that the rule selects. A value that is no number says nothing, so it neither fires nor restores. */
function selectSeries({ metric }: QosRule, metrics: Metrics): readonly Series[] {
  return (metrics.get(metric.name) ?? []).filter(
    ({ labels, value }) =>
      Number.isFinite(value) && (metric.selector === undefined || matchLabels(metric.selector, labels)),
  );
}

function findingOf(
  key: string,
  { nodeQos, rule, action }: TrackedRule,
  found: Pick<Finding, 'state' | 'series' | 'fired' | 'because'> & { readonly rounds: Rounds },
): Finding {
  const { rounds, ...rest } = found;
  return {
    key,
    nodeQos,
    rule: rule.name,
    ...rounds,
    avoidanceThreshold: rule.avoidanceThreshold,
    restoreThreshold: rule.restoreThreshold,
    metric: rule.metric.name,
    threshold: rule.metric.threshold,
    actionName: rule.actionName,
    ...(action && { action }),
    isPreview: rule.strategy === 'Preview',
    ...rest,
  };
}

/** The last finding of what had triggered: without it, its action would stay in force for ever. */
function undo(key: string, tracked: TrackedRule, because: string): Finding {
  const rounds = { ...tracked.rounds, hasTriggered: false };
  return {
    ...findingOf(key, tracked, { rounds, state: 'restored', series: [], fired: [], because }),
    event: restoredEvent(key, tracked.rule.actionName),
  };
}

/** A change that ends what had triggered; undefined when the rule goes on. */
function explainChange(before: TrackedRule, now: TrackedRule): string | undefined {
  if (!before.rounds.hasTriggered) return undefined;
  const old = showName(before.rule.actionName);
  if (before.rule.actionName !== now.rule.actionName)
    return `it had triggered action ${old}, and has action ${showName(now.rule.actionName)} now: counted as restored`;
  if (before.rule.strategy === 'Preview' || !before.action) return undefined;
  if (now.rule.strategy === 'Preview')
    return `it had triggered action ${old}, and is a preview now: counted as restored`;
  return now.action ? undefined : `it had triggered, and there is no AvoidanceAction ${old} now: counted as restored`;
}

function explainGone({ nodeQos }: TrackedRule, all: readonly NodeQos[], matching: readonly NodeQos[]): string {
  const isIn = (list: readonly NodeQos[]) => list.some(({ name }) => name === nodeQos);
  const gone = isIn(matching)
    ? 'the rule is gone'
    : isIn(all)
      ? `NodeQOS ${showName(nodeQos)} no longer matches the labels of this node`
      : `NodeQOS ${showName(nodeQos)} is gone`;
  return `it had triggered, and ${gone}: counted as restored`;
}

function explainNoData(tracked: TrackedRule, { hasTriggered }: Rounds): string {
  const { metric } = tracked.rule;
  const selected = metric.selector === undefined ? '' : ' that the selector matches';
  const stays = hasTriggered ? '; it stays triggered' : '';
  return `metric ${showName(metric.name)} has no series${selected} now${stays}${explainIdle(tracked)}`;
}

interface Round {
  readonly earlier: Rounds;
  readonly rounds: Rounds;
  readonly state: RoundState;
  readonly series: readonly Series[];
  readonly fired: readonly Series[];
}

/** Such as `cpu_total_utilization is 92, above 80, in 2 rounds in a row`. */
function explainRound(tracked: TrackedRule, { earlier, rounds, state, series, fired }: Round): string {
  const { rule } = tracked;
  const { avoidanceThreshold, restoreThreshold } = rule;
  const counted = {
    firing: `, in ${rounds.above} of ${plural(avoidanceThreshold, 'round')}`,
    triggered: earlier.hasTriggered ? '; it had triggered before' : `, in ${plural(rounds.above, 'round')} in a row`,
    restoring: `, in ${rounds.notAbove} of ${plural(restoreThreshold, 'round')}`,
    restored: `, in ${plural(rounds.notAbove, 'round')} in a row`,
    calm: '',
  }[state];
  return `${compare(rule, series, fired)}${counted}${explainIdle(tracked)}`;
}

/** Empty for a rule that acts. */
function explainIdle({ rule, action }: TrackedRule): string {
  if (!action) return `; there is no AvoidanceAction ${showName(rule.actionName)}, so nothing is done`;
  return rule.strategy === 'Preview' ? '; a preview, so nothing is done' : '';
}

/** The greatest value beside the threshold, and which series has it. */
function compare(
  { metric: { name, threshold } }: QosRule,
  series: readonly Series[],
  fired: readonly Series[],
): string {
  const greatest = series.reduce((most, each) => (each.value > most.value ? each : most));
  const relation = fired.length > 0 ? 'above' : 'not above';
  const others = fired.length > 1 ? ` (and ${plural(fired.length - 1, 'other series', 'other series')} above it)` : '';
  const shown = showValue(greatest.value, threshold);
  return `${showName(name)}${showOwner(greatest)} is ${shown}, ${relation} ${threshold}${others}`;
}

/** With three decimals, unless it would look like the threshold. */
function showValue(value: number, threshold: number): string {
  const rounded = Math.round(value * 1_000) / 1_000;
  return String(rounded === threshold ? value : rounded);
}

/** ` of ns/pod container`, or the labels of a series of something else. */
function showOwner({ labels }: Series): string {
  const { PodName, PodNamespace, ContainerName } = labels;
  if (PodName !== undefined)
    return showText(` of ${[`${PodNamespace ?? ''}/${PodName}`, ContainerName].filter(Boolean).join(' ')}`, 200);
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return pairs.length === 0 ? '' : showText(` of ${pairs.join(',')}`, 200);
}

function showName(name: string): string {
  return showText(name, 100);
}
