import type { AssignmentKind } from '../model/assignment';
import type { StaticPolicyOptions } from '../model/settings';
import { plural } from '../plural';

/** On what terms CPUs are given. */
export interface Terms {
  readonly kind: AssignmentKind;
  /** What the CPUs are called, e.g. `exclusive`. */
  readonly word: string;
  readonly options: StaticPolicyOptions;
  /** They are taken out of the shared pool: its floors count, and the topology manager is asked. */
  readonly alone: boolean;
}

/** `2 exclusive CPUs` */
export function countCpus({ word }: Pick<Terms, 'word'>, count: number): string {
  return plural(count, `${word} CPU`);
}
