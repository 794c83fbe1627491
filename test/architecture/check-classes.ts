import ts from 'typescript';
import type { Sources } from './check-imports';

/** A class of the project. */
export interface ClassSize {
  readonly path: string;
  readonly name: string;
  readonly lines: number;
  /** Number of fields that are not `readonly`, those of the constructor's parameters included. */
  readonly mutableFields: number;
}

export const MAX_CLASS_LINES = 200;
export const MAX_MUTABLE_FIELDS = 8;

/** A class that may be larger, and the reason for it. */
export interface Exception {
  readonly path: string;
  readonly name: string;
  readonly reason: string;
}

/** Returns one line for each class that is too large, and one for each exception that is not needed any more. */
export function findLargeClasses(sources: Sources, exceptions: readonly Exception[]): string[] {
  const large = listClasses(sources).filter(isLarge);
  const isExcepted = ({ path, name }: ClassSize): boolean =>
    exceptions.some((exception) => exception.path === path && exception.name === name);
  const unneeded = exceptions.filter(
    ({ path, name }) => !large.some((found) => found.path === path && found.name === name),
  );
  return [
    ...large.filter((found) => !isExcepted(found)).map(describe),
    ...unneeded.map(({ path, name }) => `${path}: ${name} needs no exception`),
  ].sort();
}

/** Lists all classes, with those inside of functions and those in expressions. */
export function listClasses(sources: Sources): ClassSize[] {
  return [...sources].flatMap(([path, text]) => (path.endsWith('.ts') ? listClassesOf(path, text) : []));
}

function listClassesOf(path: string, text: string): ClassSize[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const classes: ClassSize[] = [];
  const lineOf = (position: number): number => source.getLineAndCharacterOfPosition(position).line;
  const visit = (node: ts.Node): void => {
    if (ts.isClassLike(node))
      classes.push({
        path,
        name: node.name?.text ?? 'a class without a name',
        lines: lineOf(node.end) - lineOf(node.getStart()) + 1,
        mutableFields: countMutableFields(node),
      });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return classes;
}

function countMutableFields({ members }: ts.ClassLikeDeclaration): number {
  const fields = members.flatMap((member): readonly ts.HasModifiers[] => {
    if (ts.isPropertyDeclaration(member) || ts.isAutoAccessorPropertyDeclaration(member)) return [member];
    if (!ts.isConstructorDeclaration(member)) return [];
    return member.parameters.filter((parameter) => ts.isParameterPropertyDeclaration(parameter, member));
  });
  return fields.filter((field) => !field.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ReadonlyKeyword)).length;
}

function isLarge({ lines, mutableFields }: ClassSize): boolean {
  return lines > MAX_CLASS_LINES || mutableFields > MAX_MUTABLE_FIELDS;
}

function describe({ path, name, lines, mutableFields }: ClassSize): string {
  const found = [
    ...(lines > MAX_CLASS_LINES ? [`${lines} lines, ${MAX_CLASS_LINES} are allowed`] : []),
    ...(mutableFields > MAX_MUTABLE_FIELDS
      ? [`${mutableFields} mutable fields, ${MAX_MUTABLE_FIELDS} are allowed`]
      : []),
  ];
  return `${path}: ${name} has ${found.join(', and ')}`;
}
