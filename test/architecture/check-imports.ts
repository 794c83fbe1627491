import { posix } from 'node:path';
import ts from 'typescript';
import { ASSEMBLIES, BESIDE_INDEX, LAYERS, ROOMS } from './layers';

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
    ...findFoldersWithoutRow(sources),
    ...[...sources].flatMap(([path, text]) => (path.endsWith('.ts') ? findModuleState(path, text) : [])),
  ].sort();
}

/** Returns the arrows of both tables that no import of the sources needs. */
export function findUnusedArrows(sources: Sources): string[] {
  const imports = [...sources].flatMap(([path, text]) => listImports(path, text, sources));
  const used = new Set(
    imports.flatMap(({ from, to }) =>
      to === undefined ? [] : [`${layerOf(from)} -> ${layerOf(to)}`, `${roomOf(from)} -> ${roomOf(to)}`],
    ),
  );
  const rooms = Object.entries(ROOMS).flatMap(([layer, table]) => listArrows(table, `${layer}/`));
  return [...listArrows(LAYERS), ...rooms].filter((arrow) => !used.has(arrow));
}

/**
 * Returns the arrows of both tables that lead to a later row, or to none: the order of the rows is that of the floors.
 */
export function findUpwardArrows(): string[] {
  return [LAYERS, ...Object.values(ROOMS)].flatMap((table) => {
    const names = ['gen', ...Object.keys(table)];
    return Object.entries(table).flatMap(([name, allowed]) =>
      allowed
        .filter((target) => !names.slice(0, names.indexOf(name)).includes(target))
        .map((target) => `${name} -> ${target}`),
    );
  });
}

function listArrows(table: Readonly<Record<string, readonly string[]>>, prefix = ''): string[] {
  return Object.entries(table).flatMap(([name, allowed]) =>
    allowed.map((target) => `${prefix}${name} -> ${prefix}${target}`),
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

/**
 * Returns `app/cgroups` for `src/app/cgroups/x.ts`, `app/daemon` for `src/app/daemon.ts`, and undefined for layers
 * without rooms.
 */
function roomOf(path: string): string | undefined {
  const [, layer = '', room] = /^src\/([^/]+)\/([^/]+?)(?:\.ts)?(?:\/|$)/.exec(path) ?? [];
  return room !== undefined && ROOMS[layer] ? `${layer}/${room}` : undefined;
}

/**
 * The files that put the rooms together may import all of them. A file beside the rooms that has no row is ground: it
 * imports no room.
 */
function findRoomFaults({ from, specifier, to }: Import): string[] {
  const room = roomOf(from);
  const target = to === undefined ? undefined : roomOf(to);
  if (room === undefined || room === target || ASSEMBLIES.includes(from)) return [];
  const [layer = '', name = ''] = room.split('/');
  const table = ROOMS[layer] ?? {};
  if (to === undefined || target === undefined || layerOf(to) !== layer) return [];
  const targetName = target.slice(layer.length + 1);
  if (ASSEMBLIES.includes(to)) return [`${from}: ${room} must not import ${target}, which puts the rooms together`];
  if (table[targetName] === undefined) return [];
  return (table[name] ?? []).includes(targetName) ? [] : [`${from}: ${room} must not import ${target} (${specifier})`];
}

/** A layer that has rooms has a row for each of its folders. */
function findFoldersWithoutRow(sources: Sources): string[] {
  const rooms = new Set(
    [...sources.keys()].flatMap((path) => (path.split('/').length > 3 ? (roomOf(path) ?? []) : [])),
  );
  return [...rooms].flatMap((room) => {
    const [layer = '', name = ''] = room.split('/');
    return ROOMS[layer]?.[name] ? [] : [`src/${room}: no room of ${layer}`];
  });
}

const MODEL = 'src/core/model/node-model.ts';

/** Only one part of the daemon changes the node. All other parts see the model as the read-only `NodeView`. */
function findModelFaults({ from, to, names }: Import): string[] {
  if (to !== MODEL || layerOf(from) === 'core' || ['app/transaction', 'app/bootstrap'].includes(roomOf(from) ?? ''))
    return [];
  if (names?.includes('NodeModel') === false) return [];
  return [`${from}: only app/transaction and app/bootstrap may import NodeModel; others take NodeView`];
}

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

/**
 * The package exports `wire` and `nri`, so these may not import anything about CPUs, directly or through another file.
 */
function findPackageFaults(imports: readonly Import[]): string[] {
  const isOffered = ({ from }: Import) => ['wire', 'nri'].includes(layerOf(from));
  const reached = new Set(imports.filter(isOffered).map(({ from }) => from));
  const faults: string[] = [];
  for (const file of reached) {
    for (const { from, to } of imports) {
      if (from !== file || to === undefined) continue;
      reached.add(to);
      if (['core', 'files', 'state'].includes(layerOf(to)) && layerOf(from) === 'net')
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

/** The number of sources from which on a folder needs a README. */
const MANY = 3;

/**
 * Each layer has a README, and so has each folder of several files, unless that of a folder above has a word on it: its
 * path there.
 */
function findMissingReadmes(sources: Sources): string[] {
  const counts = new Map<string, number>();
  for (const path of sources.keys()) {
    if (!path.startsWith('src/') || !path.endsWith('.ts')) continue;
    const [innermost = '', ...above] = listFoldersOf(path);
    counts.set(innermost, (counts.get(innermost) ?? 0) + 1);
    for (const folder of above) counts.set(folder, counts.get(folder) ?? 0);
  }
  return [...counts].flatMap(([folder, files]) => {
    const isLayer = folder.split('/').length === 2;
    if (!isLayer && (folder === 'src' || files < MANY)) return [];
    if (sources.has(`${folder}/README.md`) || (!isLayer && isDescribedAbove(folder, sources))) return [];
    return [`${folder}: no README.md${isLayer ? '' : ', and no README.md above has its path'}`];
  });
}

function isDescribedAbove(folder: string, sources: Sources): boolean {
  return listFoldersOf(folder).some((above) =>
    sources.get(`${above}/README.md`)?.includes(`\`${folder.slice(above.length + 1)}/\``),
  );
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
