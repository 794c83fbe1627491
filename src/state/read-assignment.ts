import { CpuListError } from '../core/cpuset';
import type { Assignment, AssignmentKind, KeptRules } from '../core/model/assignment';
import { KINDS } from '../core/model/pool-view';
import { isPolicyName } from '../core/model/policies';
import { Fields, ShapeError } from './fields';

/** One entry of the document as an assignment, or the reason why it is none. Fields that we don't know are ignored. */
export function readAssignment(entry: unknown): { readonly assignment: Assignment } | { readonly because: string } {
  try {
    return { assignment: toAssignment(new Fields(entry, 'the entry')) };
  } catch (error) {
    if (error instanceof ShapeError || error instanceof CpuListError) return { because: error.message };
    throw error;
  }
}

function toAssignment(fields: Fields): Assignment {
  const kind = fields.text('kind');
  if (!isKind(kind)) throw new ShapeError(`"kind" is ${JSON.stringify(kind)}, which is none we know`);
  const scope = fields.has('scope') ? fields.text('scope') : undefined;
  if (scope !== undefined && scope !== 'pod') throw new ShapeError('"scope" is not "pod"');
  return {
    podUid: fields.text('podUid'),
    podNamespace: fields.text('podNamespace'),
    podName: fields.text('podName'),
    containerName: fields.text('containerName'),
    kind,
    ...toSets(fields, kind),
    ...(scope && { scope }),
    mems: fields.cpuSet('mems'),
    requested: fields.count('requested'),
    containerId: fields.textOrNull('containerId'),
    ...(fields.has('planned') &&
      fields.flag('planned') &&
      fields.textOrNull('containerId') === null && { planned: true as const }),
    quotaLifted: fields.flag('quotaLifted'),
    rules: toRules(fields.fields('rules')),
    because: fields.text('because'),
    since: fields.text('since'),
  };
}

/** Who follows nodes has these and no CPUs, everyone else CPUs and no nodes. */
function toSets(fields: Fields, kind: AssignmentKind): Pick<Assignment, 'cpus' | 'nodes'> {
  const cpus = fields.cpuSet('cpus');
  if (KINDS[kind].claim !== 'numa-nodes') {
    if (cpus.isEmpty) throw new ShapeError('"cpus" is empty');
    return { cpus };
  }
  const nodes = fields.cpuSet('nodes');
  if (nodes.isEmpty) throw new ShapeError('"nodes" is empty');
  if (!cpus.isEmpty) throw new ShapeError(`"cpus" is not empty, although ${kind} follows nodes`);
  return { cpus, nodes };
}

function isKind(text: string): text is AssignmentKind {
  return Object.hasOwn(KINDS, text);
}

function toRules(fields: Fields): KeptRules {
  const policy = fields.text('policy');
  if (!isPolicyName(policy)) throw new ShapeError(`"policy" is ${JSON.stringify(policy)}, which is none we know`);
  return {
    policy,
    ...(fields.has('chosenBy') && { chosenBy: fields.text('chosenBy') }),
    options: fields.texts('options'),
    reserved: fields.cpuSet('reserved'),
  };
}
