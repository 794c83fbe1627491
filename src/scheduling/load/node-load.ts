import type { SchedulerPolicy } from '../policy/policy';
import { HOT_VALUE, isFresh, readFigure, type Figure } from './figure';
import type { TimeZone } from './time-zone';

/** The load of a node as its annotations say. */
export interface NodeLoad {
  /** By metric: those that the policy names and that can be read, old ones too. */
  readonly figures: ReadonlyMap<string, Figure>;
  readonly hotValue: Figure | undefined;
}

/** The load of a node without annotations. */
export const NO_LOAD: NodeLoad = { figures: new Map(), hotValue: undefined };

/** Reads the annotations of a Node that the policy names. */
export function readNodeLoad(
  annotations: Readonly<Record<string, string>>,
  { syncPolicy }: Pick<SchedulerPolicy, 'syncPolicy'>,
  zone: TimeZone,
): NodeLoad {
  const figures = new Map<string, Figure>();
  for (const { name } of syncPolicy) {
    const figure = readFigure(ownOf(annotations, name), zone);
    if (figure) figures.set(name, figure);
  }
  return { figures, hotValue: readFigure(ownOf(annotations, HOT_VALUE), zone) };
}

/** The figure of the metric, if it is valid now. @param periodMs of the metric; undefined = it is never valid */
export function freshFigure(
  { figures }: NodeLoad,
  metric: string,
  periodMs: number | undefined,
  nowMs: number,
): number | undefined {
  const figure = periodMs === undefined ? undefined : figures.get(metric);
  return figure && isFresh(figure, periodMs!, nowMs) ? figure.value : undefined;
}

/** The hot value, which is valid for five minutes; 0 without a valid one. */
export function freshHotValue({ hotValue }: NodeLoad, nowMs: number): number {
  return hotValue && isFresh(hotValue, 0, nowMs) ? hotValue.value : 0;
}

function ownOf(annotations: Readonly<Record<string, string>>, name: string): string | undefined {
  return Object.hasOwn(annotations, name) ? annotations[name] : undefined;
}
