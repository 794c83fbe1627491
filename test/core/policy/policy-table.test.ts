import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { choosePolicy } from '../../../src/core/annotations/choose-policy';
import { CpuSet } from '../../../src/core/cpuset';
import { DEFAULT_KIND, POLICY_NAMES, POLICY_TABLE } from '../../../src/core/model/policies';
import { checkOptionsAreUsed } from '../../../src/core/options/static-policy-options';
import { ENTITLEMENTS } from '../../../src/core/decision/entitlement';
import { POLICIES } from '../../../src/core/policy';
import { EIGHT_CPUS } from '../transition/node-driver';
import { bareSnapshot } from './bare-snapshot';

const ROOT = join(__dirname, '../../..');
const TABLE = 'src/core/model/policies.ts';

/** `none` is left out: it grants nothing, so any file may compare with it. */
const NAMES: ReadonlySet<string> = new Set(POLICY_NAMES.filter((name) => name !== 'none'));

/** Words of other vocabularies that are spelled like a policy, by the field or type that has them. */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  kind: ['exclusive'], // of a CpuRequest
  placement: ['exclusive', 'immovable', 'numa'],
  label: ['exclusive'],
  claim: ['exclusive'],
  CpuClaim: ['exclusive'],
  Placement: ['exclusive', 'immovable', 'numa'],
};

/** Files and folders that name a policy beside its row, and the reason. */
const NAMED_ELSEWHERE: Readonly<Record<string, string>> = {
  'src/core/identity/document.ts': 'the kinds in the file that a container reads',
  'src/core/model/pool-view.ts': 'the placement that an assignment is shown as',
  'src/core/decision/snapshot.ts': 'a claim on CPUs that has the name of a policy',
  'src/admin/': 'the gRPC messages and metrics have values of their own for kinds and placements',
  'src/app/config/': 'the default of an option',
  'src/app/node/': "the kubelet's own CPU manager policy",
  'src/cli/': "the kubelet's state file, and tables for people",
  'src/kube/kubelet/': "the kubelet's own CPU manager policy",
  'src/state/journal/': 'the placement of a container, as the journal has it',
  'src/state/kubelet-checkpoint/': "the kubelet's state file",
};

function sourcesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
}

/** The field or type that a literal is compared with, assigned to or declared for; empty when there is none. */
function fieldOf(node: ts.Node): string {
  const { parent } = node;
  if (ts.isLiteralTypeNode(parent) || ts.isUnionTypeNode(parent) || ts.isParenthesizedTypeNode(parent))
    return fieldOf(parent);
  if (ts.isTypeAliasDeclaration(parent)) return parent.name.text;
  if (ts.isPropertyAssignment(parent) || ts.isPropertySignature(parent)) return parent.name.getText();
  if (ts.isBinaryExpression(parent)) {
    const other = parent.left === node ? parent.right : parent.left;
    return ts.isPropertyAccessExpression(other) ? other.name.text : ts.isIdentifier(other) ? other.text : '';
  }
  if (ts.isConditionalExpression(parent)) return fieldOf(parent);
  return '';
}

/** Literals, and keys of tables, that are the name of a policy. */
function policiesNamedIn(path: string): string[] {
  const named: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isObjectLiteralExpression(node)) {
      const keys = node.properties.flatMap(({ name }) => (name && NAMES.has(name.getText()) ? [name.getText()] : []));
      if (keys.length > 1) named.push(...keys); // a single one is a word of another vocabulary
    }
    if (
      ts.isStringLiteralLike(node) &&
      NAMES.has(node.text) &&
      !isNameOfField(node) &&
      !OTHER_WORDS[fieldOf(node)]?.includes(node.text)
    )
      named.push(node.text);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(path, readFileSync(join(ROOT, path), 'utf8'), ts.ScriptTarget.ES2022, true));
  return named;
}

/** `Pick<NodeView, 'exclusive'>` names a field. */
function isNameOfField({ parent }: ts.Node): boolean {
  if (ts.isLiteralTypeNode(parent) || ts.isUnionTypeNode(parent)) return isNameOfField(parent);
  return ts.isTypeReferenceNode(parent) && ['Pick', 'Omit'].includes(parent.typeName.getText());
}

test('a policy is named in its row, and elsewhere only in a format or a default', () => {
  const naming = sourcesBelow('src').filter((path) => policiesNamedIn(path).length > 0);
  expect(policiesNamedIn(TABLE).sort()).toEqual([...NAMES, DEFAULT_KIND].sort());
  const exceptions = Object.keys(NAMED_ELSEWHERE);
  expect(naming.filter((path) => path !== TABLE && !exceptions.some((prefix) => path.startsWith(prefix)))).toEqual([]);
  expect(exceptions.filter((prefix) => !naming.some((path) => path.startsWith(prefix)))).toEqual([]);
});

const INTEGER_CPUS = { shares: 2048, quotaUs: 200_000, periodUs: 100_000, memoryLimitBytes: 2 ** 30 };
const POD = { sandboxId: 's', uid: 'p', namespace: 'ns', name: 'p', annotations: {} };

test.each(POLICY_NAMES)('the rest of the program derives the properties of %s from its row', (name) => {
  const { entitles, grant, isCranes, takesOptions } = POLICY_TABLE[name];
  const burstable = { ...POD, cgroupParent: '/kubepods/burstable/podp' };
  const container = {
    id: 'c',
    sandboxId: 's',
    name: 'c',
    cgroupsPath: '/c',
    phase: 'creating',
    resources: INTEGER_CPUS,
  } as const;
  expect(ENTITLEMENTS[name](burstable, container).kind).toBe(entitles === 'guaranteed' ? 'shared' : 'exclusive');

  const option = new Map([['full-pcpus-only', 'true']]);
  expect(checkOptionsAreUsed([name], option) === undefined).toBe(takesOptions);

  const byCrane = choosePolicy(
    { cpuManagerPolicy: 'none', podPolicies: POLICY_NAMES },
    { 'topology.crane.io/cpu-policy': name },
    'c',
  );
  expect(byCrane.chosenBy !== undefined).toBe(isCranes);

  const free = EIGHT_CPUS.online.minus(CpuSet.of([0]));
  const decision = POLICIES[name](bareSnapshot(EIGHT_CPUS, { free, sharedPool: EIGHT_CPUS.online }), {
    count: 2,
    podCount: 2,
    memoryBytes: 0,
  });
  expect(decision.kind).toBe(grant === 'nothing' ? 'share' : 'pin');
  if (decision.kind === 'pin') {
    expect(decision.assignmentKind).toBe(name);
    expect(decision.nodes !== undefined).toBe(grant === 'numa-nodes');
  }
});
