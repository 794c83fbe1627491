import type { Alarm } from '../../admin/model/alarm';
import { namesIn } from '../../core/model/names-of';
import type { NodeView } from '../../core/model/node-view';
import type { Refusal } from '../../core/model/refusal';
import type { Move } from '../../core/plan/plan-moves';
import type { DomainEvent } from '../../core/transition';
import type { NewRecord } from '../../state/journal';
import type { Transaction } from '../transaction/transaction';
import { factsOf } from './event-log';

/** Most steps of an allocation, and most names of moved containers, in one record. */
const MAX_STEPS = 32;
const MAX_NAMES = 8;
/** Most groups of containers that moved together. */
const MAX_GROUPS = 16;

/** The entry of a refusal in the history of refusals. `isRetry`: the same had been refused before. */
export interface RefusalEntry {
  readonly isRetry: boolean;
  readonly refused: Refusal | undefined;
}

/** The records of a transaction: its events, and the containers that it moved. */
export function recordsOf(view: NodeView, done: Transaction, entry: RefusalEntry): readonly NewRecord[] {
  const events = done.reported.filter((event) => isKept(event, entry)).map((event) => recordOf(event, entry));
  return [...events, ...recordMoves(view, done)];
}

/**
 * Leaves out what says nothing new: containers that share as they were expected to, plans that a creation reports
 * itself, and most of the tries again of a refused container (of those the second, the fourth, the eighth and so on are
 * kept, with their number).
 */
function isKept(event: DomainEvent, { isRetry, refused }: RefusalEntry): boolean {
  switch (event.kind) {
    case 'shares':
    case 'left-alone':
      return !event.isExpected;
    case 'planned':
      return !event.atCreation;
    case 'refused':
      return !isRetry || refused === undefined || Number.isInteger(Math.log2(refused.times));
    default:
      return true;
  }
}

function recordOf(event: DomainEvent, { refused }: RefusalEntry): NewRecord {
  const record = { kind: event.kind, ...factsOf(event) };
  if ('steps' in event && event.steps) return { ...record, steps: event.steps.slice(0, MAX_STEPS) };
  if (event.kind !== 'refused' || !refused) return record;
  const { asked, requested, policy, chosenBy, zones, firstAt, times } = refused;
  return { ...record, asked, requested, policy, chosenBy, zones, firstAt, times };
}

/** Containers that were moved alike are one record: a creation may move every container of the shared pool. */
function recordMoves(view: NodeView, { moves, failedMoves, reported, request }: Transaction): readonly NewRecord[] {
  const groups = new Map<string, Move[]>();
  const drifted = new Set(reported.flatMap((event) => (event.kind === 'drifted' ? [event.subject.containerId] : [])));
  for (const move of moves) {
    // Pause containers, and repairs, which have records of their own.
    if (view.pods.has(move.containerId) || drifted.has(move.containerId)) continue;
    const key = `${move.to.cpus.toString()} ${move.because}`;
    const others = groups.get(key);
    if (others) others.push(move);
    else if (groups.size < MAX_GROUPS) groups.set(key, [move]);
  }
  const failed = new Set(failedMoves.map(({ containerId }) => containerId));
  const cause = causeOf(request);
  return [...groups.values()].map((group) => {
    const [first] = group as [Move, ...Move[]];
    const { to, from, because } = first;
    const facts = { cpus: to.cpus, because, ...(cause !== undefined && { causedBy: cause }) };
    const names = group.slice(0, MAX_NAMES).flatMap(({ containerId }) => nameOf(view, containerId) ?? []);
    const count = group.filter(({ containerId }) => failed.has(containerId)).length;
    const left = count > 0 ? { notWritten: count } : {};
    if (group.length === 1) return { kind: 'moved', ...names[0], from: from?.cpus, ...facts, ...left };
    const texts = names.map(({ pod, container }) => `${pod}/${container}`);
    return { kind: 'moved', containers: group.length, names: texts, ...facts, ...left };
  });
}

/** The container whose request moved others. */
function causeOf(request: Transaction['request']): string | undefined {
  if (request?.kind !== 'create-container' && request?.kind !== 'update-container') return undefined;
  const { pod, container } = request;
  return `${pod.namespace}/${pod.name}/${container.name}`;
}

/** Names a container of the model; undefined for one that is gone. */
export function nameOf(view: NodeView, containerId: string): ReturnType<typeof namesIn> | undefined {
  const container = view.allContainers.get(containerId);
  return container && namesIn(view, container);
}

/** The alarms that were raised since, and those that are over. */
export function recordAlarms(before: readonly Alarm[], now: readonly Alarm[]): readonly NewRecord[] {
  const isIn = (alarms: readonly Alarm[], wanted: Alarm): boolean =>
    alarms.some(
      ({ kind, subject, because, since }) =>
        kind === wanted.kind && subject === wanted.subject && because === wanted.because && since === wanted.since,
    );
  const describe = ({ kind: alarm, subject, because }: Alarm) => ({
    alarm,
    ...(subject !== '' && { subject }),
    because,
  });
  return [
    ...before.filter((each) => !isIn(now, each)).map((each) => ({ kind: 'alarm-over' as const, ...describe(each) })),
    ...now.filter((each) => !isIn(before, each)).map((each) => ({ kind: 'alarm' as const, ...describe(each) })),
  ];
}
