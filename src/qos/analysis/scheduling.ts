import { plural } from '../../core/text';
import type { AvoidanceAction } from '../objects/objects';
import { isActing, type Finding } from './finding';

/** The decision whether new pods are kept off the node. */
export interface SchedulingDecision {
  readonly disabled: boolean;
  readonly because: string;
  /** Only while nothing but the cool-down disables scheduling; ms since 1970. */
  readonly coolDownEndsMs?: number;
}

/** Kept from the first trigger until scheduling is enabled again. */
export interface DisabledScheduling {
  /** Time of the last round in which a rule was triggered. */
  readonly lastTriggerMs: number;
  /** Names of the actions that have triggered since scheduling was disabled; each is an AvoidanceAction that exists. */
  readonly actions: readonly string[];
}

export interface SchedulingInput {
  readonly findings: readonly Finding[];
  readonly actions: ReadonlyMap<string, AvoidanceAction>;
  /** Rules for this node that are no preview. */
  readonly ruleCount: number;
  readonly nowMs: number;
}

/**
 * Decides on scheduling: disabled while a rule that acts is triggered, and until all have restored and the longest
 * cool-down of the actions concerned is over since the last trigger.
 */
export function decideScheduling(
  before: DisabledScheduling | undefined,
  { findings, actions, ruleCount, nowMs }: SchedulingInput,
): { readonly disabled: DisabledScheduling | undefined; readonly decision: SchedulingDecision } {
  const acting = findings.filter(isActing);
  const triggered = acting.filter(({ state }) => state === 'triggered');
  const known = (before?.actions ?? []).filter((name) => actions.has(name));
  if (triggered.length > 0) {
    const names = new Set([...known, ...triggered.map(({ actionName }) => actionName)]);
    return {
      disabled: { lastTriggerMs: nowMs, actions: [...names] },
      decision: { disabled: true, because: `${first(triggered)} triggered action ${triggered[0]!.actionName}` },
    };
  }
  if (!before) return enable('no rule that acts is triggered');
  if (ruleCount === 0) return enable('no rule that acts applies to this node');

  // The clock may have been set back: a trigger in the future would disable scheduling until then.
  const lastTriggerMs = Math.min(before.lastTriggerMs, nowMs);
  const disabled = { lastTriggerMs, actions: known };
  const unrestored = acting.filter(({ hasTriggered }) => hasTriggered);
  if (unrestored.length > 0)
    return { disabled, decision: { disabled: true, because: `${first(unrestored)} triggered, and has not restored` } };

  const longest = longestCoolDown(known, actions);
  if (!longest) return enable('all rules have restored');
  const { name, coolDownSeconds } = longest;
  const coolDownEndsMs = lastTriggerMs + coolDownSeconds * 1_000;
  if (nowMs > coolDownEndsMs)
    return enable(`all rules have restored, and the cool-down of action ${name}, ${coolDownSeconds} s, is over`);
  const leftSeconds = Math.ceil((coolDownEndsMs - nowMs) / 1_000);
  const because = `all rules have restored; ${leftSeconds} s are left of the cool-down of action ${name}`;
  return { disabled, decision: { disabled: true, because, coolDownEndsMs } };
}

function enable(because: string): { readonly disabled: undefined; readonly decision: SchedulingDecision } {
  return { disabled: undefined, decision: { disabled: false, because } };
}

function longestCoolDown(
  names: readonly string[],
  actions: ReadonlyMap<string, AvoidanceAction>,
): AvoidanceAction | undefined {
  let longest: AvoidanceAction | undefined;
  for (const name of names) {
    const action = actions.get(name);
    if (action && action.coolDownSeconds > (longest?.coolDownSeconds ?? -1)) longest = action;
  }
  return longest;
}

/** `q/r`, or `q/r and 2 other rules`. */
function first(findings: readonly Finding[]): string {
  const others = findings.length - 1;
  return others === 0 ? findings[0]!.key : `${findings[0]!.key} and ${plural(others, 'other rule')}`;
}
