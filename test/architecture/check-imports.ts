import { posix } from 'node:path';
import ts from 'typescript';

/** TypeScript sources by path from the project's root, such as `src/core/errors.ts`. */
export type Sources = ReadonlyMap<string, string>;

/** An import: the file it is in, its specifier, and the file it refers to, unless that is a package. */
interface Import {
  readonly from: string;
  readonly specifier: string;
  readonly to: string | undefined;
  /** The imported or re-exported names; undefined for the whole module. */
  readonly names?: readonly string[];
}

/** The layers that each layer may import, besides itself. Adapters do not import each other. */
export const LAYERS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  files: ['core'],
  qos: ['core'],
  state: ['core', 'qos', 'files'],
  wire: [],
  net: ['core', 'state', 'wire'],
  nri: ['wire', 'net', 'gen'],
  'nri-events': ['core', 'nri', 'wire', 'gen'],
  cri: ['core', 'state', 'wire', 'net', 'gen'],
  host: ['core', 'qos', 'files', 'state', 'wire', 'net', 'gen'],
  kube: ['core', 'qos', 'state', 'wire', 'net', 'gen'],
  admin: ['core', 'qos', 'state', 'wire', 'net', 'gen'],
  scheduling: ['core', 'files', 'net', 'kube'],
  app: ['core', 'qos', 'files', 'state', 'wire', 'net', 'nri', 'nri-events', 'cri', 'host', 'kube', 'admin'],
  cli: [
    'core',
    'qos',
    'files',
    'state',
    'wire',
    'net',
    'nri',
    'nri-events',
    'cri',
    'host',
    'kube',
    'admin',
    'scheduling',
    'app',
  ],
  kubectl: ['core', 'state', 'kube', 'admin', 'cli'],
  main: [
    ...['core', 'files', 'state', 'wire', 'net', 'nri', 'nri-events', 'cri', 'host', 'kube', 'admin'],
    ...['scheduling', 'app', 'cli', 'kubectl'],
  ],
};

/**
 * The same for the rooms of a layer: its folders, and the files beside them. Each room may import rooms that are above it here. A layer
 * that is not here has no rooms; a room that is not here may import all of its layer.
 */
export const ROOMS: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  qos: {
    usage: [],
    objects: [],
    analysis: ['objects', 'usage'],
    avoidance: ['analysis', 'objects', 'usage'],
    reclaim: ['objects', 'usage'],
  },
  scheduling: {
    policy: [],
    load: ['policy'],
    topology: ['policy'],
    annotator: ['load', 'policy'],
    extender: ['load', 'policy', 'topology'],
  },
  app: {
    config: [],
    alarms: [],
    log: [],
    lifecycle: ['alarms', 'config'],
    transaction: ['alarms', 'config'],
    'owed-effects': ['alarms'],
    cgroups: ['alarms', 'owed-effects', 'transaction'],
    identity: ['alarms', 'transaction'],
    context: ['alarms', 'cgroups', 'config', 'transaction'],
    journal: ['context', 'lifecycle', 'transaction'],
    status: ['alarms', 'config', 'context', 'journal', 'lifecycle', 'transaction'],
    reconcile: ['alarms', 'cgroups', 'context', 'status', 'transaction'],
    audit: ['context', 'lifecycle'],
    'irq-affinity': ['context', 'owed-effects'],
    qos: ['context', 'lifecycle', 'owed-effects'],
    runtime: ['alarms', 'cgroups', 'context', 'status', 'transaction'],
    node: ['alarms', 'config', 'context', 'transaction'],
    reload: ['config', 'context', 'transaction'],
    apiserver: ['alarms', 'config', 'context', 'journal', 'transaction'],
    bootstrap: [
      ...['alarms', 'cgroups', 'config', 'context', 'identity', 'lifecycle', 'node', 'owed-effects'],
      'transaction',
    ],
    'periodic-tasks': ['context', 'identity', 'lifecycle', 'node', 'owed-effects', 'reconcile'],
  },
};

/** Files that put the rooms of their layer together. */
const ASSEMBLIES = ['src/app/daemon.ts'];

/** Returns one line for each violation of the architecture. */
export function findFaults(sources: Sources): string[] {
  const imports = [...sources].flatMap(([path, text]) => listImports(path, text, sources));
  return [
    ...imports.flatMap(findLayerFaults),
    ...imports.flatMap(findRoomFaults),
    ...imports.flatMap(findModelFaults),
    ...imports.flatMap(findBypasses(sources)),
    ...findPackageFaults(imports),
    ...findCycles(imports),
    ...findUnreachedGenerated(imports, sources),
    ...findMissingReadmes(sources),
    ...[...sources].flatMap(([path, text]) => (path.endsWith('.ts') ? findModuleState(path, text) : [])),
  ].sort();
}

/** Returns the imports between rooms of one layer that the table allows and no file has. */
export function findUnusedImports(sources: Sources): string[] {
  const imports = [...sources].flatMap(([path, text]) => listImports(path, text, sources));
  const used = new Set(imports.map(({ from, to }) => `${roomOf(from)} -> ${to && roomOf(to)}`));
  return Object.entries(ROOMS).flatMap(([layer, rooms]) =>
    Object.entries(rooms)
      .flatMap(([room, allowed]) => allowed.map((target) => `${layer}/${room} -> ${layer}/${target}`))
      .filter((pair) => !used.has(pair)),
  );
}

function parse(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
}

/** Finds static and dynamic imports, `import type`, re-exports, `require` and types written as `import('...')`. */
function listImports(path: string, text: string, sources: Sources): Import[] {
  if (!path.endsWith('.ts')) return [];
  const imports: Import[] = [];
  const add = (node: ts.Node | undefined, names?: readonly string[]): void => {
    if (node && ts.isStringLiteralLike(node))
      imports.push({
        from: path,
        specifier: node.text,
        to: resolve(path, node.text, sources),
        ...(names && { names }),
      });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) add(node.moduleSpecifier, namesOf(node));
    else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference))
      add(node.moduleReference.expression);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) add(node.argument.literal);
    else if (ts.isCallExpression(node) && isImportCall(node)) add(node.arguments[0]);
    ts.forEachChild(node, visit);
  };
  visit(parse(path, text));
  return imports;
}

function namesOf(node: ts.ImportDeclaration | ts.ExportDeclaration): readonly string[] | undefined {
  const named = ts.isImportDeclaration(node) ? node.importClause?.namedBindings : node.exportClause;
  if (!named || !(ts.isNamedImports(named) || ts.isNamedExports(named))) return undefined;
  return named.elements.map(({ name, propertyName }) => (propertyName ?? name).text);
}

function isImportCall({ expression }: ts.CallExpression): boolean {
  return (
    expression.kind === ts.SyntaxKind.ImportKeyword ||
    (ts.isIdentifier(expression) && expression.text === 'require') ||
    expression.getText() === 'require.resolve'
  );
}

function resolve(from: string, specifier: string, sources: Sources): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const path = posix.join(posix.dirname(from), specifier);
  const candidates = [path, `${path}.ts`, `${path}/index.ts`];
  return candidates.find((candidate) => sources.has(candidate)) ?? path;
}

/** Returns `core` for `src/core/x.ts`, `main` for `src/main.ts`, and `gen` for files in `gen`. */
function layerOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  return top === 'src' ? second.replace(/\.ts$/, '') : top;
}

function findLayerFaults({ from, specifier, to }: Import): string[] {
  const layer = layerOf(from);
  if (layer === 'gen') return [];
  const allowed = LAYERS[layer];
  if (allowed === undefined) return [`${from}: ${layer} is no layer of this project`];
  if (to === undefined)
    return layer === 'core' ? [`${from}: core imports ${specifier}, and may only import itself`] : [];
  const target = layerOf(to);
  if (target === layer || allowed.includes(target)) return [];
  return [`${from}: ${layer} must not import ${target} (${specifier})`];
}

/** Returns `app/cgroups` for `src/app/cgroups/x.ts`, `app/daemon` for `src/app/daemon.ts`, and undefined for layers without rooms. */
function roomOf(path: string): string | undefined {
  const [, layer = '', room] = /^src\/([^/]+)\/([^/]+?)(?:\.ts)?(?:\/|$)/.exec(path) ?? [];
  return room !== undefined && ROOMS[layer] ? `${layer}/${room}` : undefined;
}

/** The files that put the rooms together may import all of them. */
function findRoomFaults({ from, specifier, to }: Import): string[] {
  const room = roomOf(from);
  const target = to === undefined ? undefined : roomOf(to);
  if (room === undefined || target === undefined || room === target || ASSEMBLIES.includes(from)) return [];
  const [layer = '', name = ''] = room.split('/');
  if (layerOf(to ?? '') !== layer) return [];
  const allowed = ROOMS[layer]?.[name];
  if (allowed === undefined) return [`${from}: ${name} is no room of ${layer}`];
  return allowed.includes(target.slice(layer.length + 1))
    ? []
    : [`${from}: ${room} must not import ${target} (${specifier})`];
}

const MODEL = 'src/core/model/node-model.ts';

/** Only one part of the daemon changes the node. All other parts see the model as the read-only `NodeView`. */
function findModelFaults({ from, to, names }: Import): string[] {
  if (to !== MODEL || layerOf(from) === 'core' || ['app/transaction', 'app/bootstrap'].includes(roomOf(from) ?? ''))
    return [];
  if (names?.includes('NodeModel') === false) return [];
  return [`${from}: only app/transaction and app/bootstrap may import NodeModel; others take NodeView`];
}

/**
 * Files that may be imported past the `index.ts` of their folder. The index of `wire` is the package's, and has no helpers of
 * protobuf. The others are for another moment than their index: the daemon reads the kubelet's configuration without an API server
 * too, and parses YAML only when there is a file; a command that asks the daemon loads the options, but neither
 * allocation nor state nor host.
 */
const BESIDE_INDEX = [
  'src/wire/map-entry.ts',
  'src/wire/protobuf.ts',
  'src/kube/kubelet/kubelet-config.ts',
  'src/app/config/settings.ts',
  'src/app/config/running-settings.ts',
  'src/state/fs-ops.ts',
  'src/host/host-error.ts',
];

/** A folder with an `index.ts` is imported through it by all files outside of the folder. */
function findBypasses(sources: Sources): (each: Import) => string[] {
  return ({ from, specifier, to }) => {
    if (to === undefined || BESIDE_INDEX.includes(to)) return [];
    const folders = listFoldersOf(to).filter((folder) => !from.startsWith(`${folder}/`));
    const index = folders.map((folder) => `${folder}/index.ts`).find((path) => sources.has(path));
    return index === undefined || index === to ? [] : [`${from}: ${specifier} bypasses ${index}`];
  };
}

/** Lists the folders that contain a file, the innermost first. */
function listFoldersOf(path: string): string[] {
  const folder = posix.dirname(path);
  return folder === '.' ? [] : [folder, ...listFoldersOf(folder)];
}

/** The package exports `wire` and `nri`, so these may not import anything about CPUs, directly or through another file. */
function findPackageFaults(imports: readonly Import[]): string[] {
  const isOffered = ({ from }: Import) => ['wire', 'nri'].includes(layerOf(from));
  const reached = new Set(imports.filter(isOffered).map(({ from }) => from));
  const faults: string[] = [];
  for (const file of reached) {
    for (const { from, to } of imports) {
      if (from !== file || to === undefined) continue;
      reached.add(to);
      if (['core', 'state'].includes(layerOf(to)) && layerOf(from) === 'net')
        faults.push(`${from}: nri or wire reaches ${layerOf(to)} through it`);
    }
  }
  return faults;
}

/** Returns each cycle once, from its first file in alphabetical order. Cycles of types count too. */
function findCycles(imports: readonly Import[]): string[] {
  const next = new Map<string, string[]>();
  for (const { from, to } of imports) {
    if (to !== undefined && to !== from) next.set(from, [...(next.get(from) ?? []), to]);
  }
  const cycles = new Set<string>();
  const done = new Set<string>();
  const path: string[] = [];
  const walk = (file: string): void => {
    const at = path.indexOf(file);
    if (at >= 0) {
      const cycle = path.slice(at);
      const first = cycle.indexOf([...cycle].sort()[0]!);
      cycles.add([...cycle.slice(first), ...cycle.slice(0, first), cycle[first]!].join(' -> '));
      return;
    }
    if (done.has(file)) return;
    path.push(file);
    for (const to of next.get(file) ?? []) walk(to);
    path.pop();
    done.add(file);
  };
  for (const file of [...next.keys()].sort()) walk(file);
  return [...cycles].map((cycle) => `cycle: ${cycle}`);
}

/** Each generated file is for the sources. What only tests import lies with them, in `test/gen`. */
function findUnreachedGenerated(imports: readonly Import[], sources: Sources): string[] {
  const reached = new Set(imports.filter(({ from }) => layerOf(from) !== 'gen').map(({ to }) => to));
  for (const file of reached)
    for (const { from, to } of imports) if (from === file && layerOf(from) === 'gen') reached.add(to);
  return [...sources.keys()]
    .filter((path) => layerOf(path) === 'gen' && !reached.has(path))
    .map((path) => `${path}: no file of src reaches it; what only tests import lies in test/gen`);
}

function findMissingReadmes(sources: Sources): string[] {
  const folders = new Set([...sources.keys()].flatMap((path) => /^src\/[^/]+(?=\/)/.exec(path) ?? []));
  return [...folders]
    .filter((folder) => !sources.has(`${folder}/README.md`))
    .map((folder) => `${folder}: no README.md`);
}

/** Finds `let` and `var` outside of functions, which are state of the module. */
function findModuleState(path: string, text: string): string[] {
  if (layerOf(path) === 'gen') return [];
  return parse(path, text).statements.flatMap((statement) => {
    if (!ts.isVariableStatement(statement)) return [];
    if ((statement.declarationList.flags & ts.NodeFlags.Const) !== 0) return [];
    if (statement.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.DeclareKeyword)) return [];
    return [`${path}: module-level state (${statement.getText().split('\n')[0]!})`];
  });
}
