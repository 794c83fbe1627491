import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { projectRoot } from '../../e2e/rig/project-root';

/** The right that a request needs by RBAC: `group/resource`, as in `/pods` or `/nodes/status`, and a verb. */
export interface RequestedRight {
  readonly resource: string;
  readonly verb: string;
}

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'update', PATCH: 'patch', DELETE: 'delete' };

/** Reads a request as the API server does (k8s.io/apiserver, RequestInfo). Undefined when it is for no resource. */
export function readRequest(
  method: string,
  path: string,
  query: Readonly<Record<string, string>> = {},
): RequestedRight | undefined {
  const match =
    /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/[^/]+(?=\/))?\/([^/]+)(?:\/([^/]+)(?:\/([^/]+).*)?)?$/.exec(
      path,
    );
  if (!match) return undefined;
  const [, group = '', plural = '', name, sub] = match;
  const read = name !== undefined ? 'get' : query['watch'] === 'true' ? 'watch' : 'list';
  return { resource: `${group}/${plural}${sub === undefined ? '' : `/${sub}`}`, verb: VERBS[method] ?? read };
}

/**
 * Every right of the ClusterRole in deploy/components/api-server/rbac.yaml, as `group/resource verb`. `withOptional`:
 * also of the optional rule, which is there as a comment.
 */
export function readRights({ withOptional }: { readonly withOptional: boolean }): Set<string> {
  return rightsOf(readRules({ withOptional }));
}

/** Every right of the roles in a file of deploy, by the same names. */
export function readRightsOf(file: string): Set<string> {
  return rightsOf(readRules({ withOptional: false, file }));
}

function rightsOf(rules: readonly Rule[]): Set<string> {
  return new Set(
    rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) => verbs.map((verb) => rightOf({ resource: `${group}/${resource}`, verb }))),
      ),
    ),
  );
}

/** The optional rule of the file. */
export function readOptionalRule(): Rule {
  const [optional] = readRules({ withOptional: true }).slice(-1);
  return optional!;
}

function readRules({
  withOptional,
  file = 'components/api-server/rbac.yaml',
}: {
  readonly withOptional: boolean;
  readonly file?: string;
}): Rule[] {
  const text = readFileSync(join(projectRoot(), 'deploy', file), 'utf8');
  const whole = withOptional ? text.replaceAll(/^ {2}# (?=- apiGroups| {2}(?:resources|verbs):)/gm, '  ') : text;
  const objects = parseAllDocuments(whole).map((document) => document.toJS() as { kind: string; rules?: Rule[] });
  return objects.flatMap(({ kind, rules = [] }) => (kind === 'ClusterRole' || kind === 'Role' ? rules : []));
}

export const rightOf = ({ resource, verb }: RequestedRight): string => `${resource} ${verb}`;
