import type { AssignmentKind } from '../model/assignment';
import { POLICY_TABLE } from '../model/policies';
import { NO_OPTIONS, type Settings, type StaticPolicyOptions } from '../model/settings';
import { plural } from '../text';

/** The rules by which a policy allocates CPUs. */
export interface GrantOptions {
  readonly kind: AssignmentKind;
  /** The adjective for the CPUs in texts, e.g. `exclusive`. */
  readonly label: string;
  readonly options: StaticPolicyOptions;
  /** They are taken out of the shared pool: its floors count, and the topology manager is asked. */
  readonly leavesPool: boolean;
}

export function grantOptionsOf(kind: AssignmentKind, settings: Settings): GrantOptions {
  const { claim, takesOptions } = POLICY_TABLE[kind];
  const leavesPool = claim === 'exclusive';
  return {
    kind,
    label: leavesPool ? 'exclusive' : 'fixed',
    options: takesOptions ? settings.options : NO_OPTIONS,
    leavesPool,
  };
}

/** `2 exclusive CPUs` */
export function countCpus({ label }: Pick<GrantOptions, 'label'>, count: number): string {
  return plural(count, `${label} CPU`);
}
