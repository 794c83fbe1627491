/** A part of a template: a text, a value to print, or a block. `source` and `line` name it in messages. */
export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  | (Place & { readonly kind: 'print'; readonly expression: Expression })
  | (Place & {
      readonly kind: 'if' | 'with' | 'range';
      readonly expression: Expression;
      readonly parts: readonly TemplatePart[];
      readonly otherwise: readonly TemplatePart[];
    });

export interface Place {
  readonly source: string;
  readonly line: number;
}

export type Expression =
  | { readonly kind: 'literal'; readonly value: string | number | boolean }
  /** `isRoot`: it begins with `$`. No names = the value itself. */
  | { readonly kind: 'path'; readonly isRoot: boolean; readonly names: readonly string[] }
  | { readonly kind: 'call'; readonly name: FunctionName; readonly inputs: readonly Expression[] };

const FUNCTIONS = ['index', 'eq', 'ne', 'and', 'or', 'not'] as const;
export type FunctionName = (typeof FUNCTIONS)[number];

/** A template, or its text, that can't be used. The message is for the operator. */
export class TemplateError extends Error {
  constructor(place: Place, because: string) {
    super(`${place.source} in line ${place.line} ${because}`);
  }
}

const MAX_DEPTH = 16;
const ACTION = /\{\{(- )?(\/\*[^]*?\*\/|(?:"(?:[^"\\\n]|\\.)*"|`[^`]*`|(?!\{\{)[^"`])*?)( -)?\}\}/g;
const TOKEN =
  /\s+|"(?:[^"\\\n]|\\.)*"|`[^`]*`|-?\d+(?:\.\d+)?|\$?(?:\.[A-Za-z_]\w*)+|\$(?!\w)|\.(?!\w)|[A-Za-z_]\w*|\(|\)(?:\.[A-Za-z_]\w*)*/gy;

/**
 * Parses the part of Go's text/template that templates of objects use: fields, `index`, comparisons, `if`, `with` and
 * `range`, with trimmed space and comments. Variables, pipes, definitions and other functions are refused. Throws
 * TemplateError.
 */
export function parseTemplate(text: string): readonly TemplatePart[] {
  const open: Block[] = [{ keyword: '', parts: [], otherwise: undefined }];
  let end = 0;
  let trims = false;
  const add = (part: TemplatePart): void => {
    const block = open.at(-1)!;
    (block.otherwise ?? block.parts).push(part);
  };
  const addText = (raw: string): void => {
    if (raw !== '') add({ kind: 'text', text: raw });
  };
  for (const match of text.matchAll(ACTION)) {
    const [source, trimsBefore, inside = '', trimsAfter] = match;
    const before = text.slice(end, match.index);
    const led = trims ? before.trimStart() : before;
    const place = { source, line: lineOf(text, match.index) };
    addText(trimsBefore === undefined ? led : led.trimEnd());
    end = match.index + source.length;
    trims = trimsAfter !== undefined;
    if (!inside.startsWith('/*')) takeAction(inside.trim(), place, open, add);
  }
  const rest = text.slice(end);
  const unclosed = rest.indexOf('{{');
  if (unclosed !== -1)
    throw new TemplateError({ source: '{{', line: lineOf(text, end + unclosed) }, 'is not closed: write }} after it');
  addText(trims ? rest.trimStart() : rest);
  const block = open.at(-1)!;
  if (block.place) throw new TemplateError(block.place, 'is not ended: write {{ end }} after it');
  return block.parts;
}

interface Block {
  readonly keyword: string;
  readonly place?: Place;
  readonly expression?: Expression;
  readonly parts: TemplatePart[];
  otherwise: TemplatePart[] | undefined;
  /** Blocks that end with this one: those of `else if`. */
  readonly isElse?: boolean;
}

function takeAction(action: string, place: Place, open: Block[], add: (part: TemplatePart) => void): void {
  const [, keyword = '', rest = ''] = /^(if|with|range|else|end)\b\s*([^]*)$/.exec(action) ?? [];
  switch (keyword) {
    case '': {
      add({ kind: 'print', ...place, expression: parseExpression(action, place) });
      return;
    }
    case 'end': {
      endBlock(place, open, add);
      return;
    }
    case 'else': {
      takeElse(rest, place, open);
      return;
    }
    default: {
      openBlock(open, {
        keyword,
        place,
        expression: parseExpression(rest, place),
        parts: [],
        otherwise: undefined,
      });
      return;
    }
  }
}

function openBlock(open: Block[], block: Block): void {
  if (open.length > MAX_DEPTH) throw new TemplateError(block.place!, `is nested deeper than ${MAX_DEPTH} blocks`);
  open.push(block);
}

function takeElse(rest: string, place: Place, open: Block[]): void {
  const block = open.at(-1)!;
  if (block.keyword === '' || block.otherwise) throw new TemplateError(place, 'belongs to no block that is open');
  block.otherwise = [];
  if (rest === '') return;
  const [, condition] = /^if\b\s*([^]*)$/.exec(rest) ?? [];
  if (condition === undefined) throw new TemplateError(place, 'is not understood: write else, or else if');
  const expression = parseExpression(condition, place);
  openBlock(open, { keyword: 'if', place, expression, parts: [], otherwise: undefined, isElse: true });
}

function endBlock(place: Place, open: Block[], add: (part: TemplatePart) => void): void {
  for (;;) {
    const { keyword, place: begin, expression, parts, otherwise = [], isElse } = open.at(-1)!;
    if (!begin || !expression) throw new TemplateError(place, 'ends no block: remove it');
    open.pop();
    add({ kind: keyword as 'if' | 'with' | 'range', ...begin, expression, parts, otherwise });
    if (isElse !== true) return;
  }
}

function parseExpression(text: string, place: Place): Expression {
  const tokens = tokenize(text, place);
  const expression = takeOperands(tokens, place);
  if (tokens.length > 0) throw new TemplateError(place, `has more than one value: ${tokens.join(' ')}`);
  return expression;
}

function tokenize(text: string, place: Place): string[] {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const from = TOKEN.lastIndex;
    const [token] = TOKEN.exec(text) ?? [];
    if (token === undefined)
      throw new TemplateError(
        place,
        `is not understood from ${JSON.stringify(text.slice(from, from + 20))} on: use fields such as .metadata.name, ${FUNCTIONS.join(', ')}, if, with and range`,
      );
    if (token.trim() !== '') tokens.push(token);
  }
  return tokens;
}

/** One value, or a function with all values up to the end or the closing parenthesis. */
function takeOperands(tokens: string[], place: Place): Expression {
  const [first] = tokens;
  if (first === undefined || first.startsWith(')')) throw new TemplateError(place, 'has no value');
  if (!/^[A-Za-z_]/.test(first) || first === 'true' || first === 'false') return takeOperand(tokens, place);
  const name = FUNCTIONS.find((each) => each === first);
  if (name === undefined)
    throw new TemplateError(place, `has the function ${first}, which is not known: use ${FUNCTIONS.join(', ')}`);
  tokens.shift();
  const inputs: Expression[] = [];
  while (tokens[0] !== undefined && !tokens[0].startsWith(')')) inputs.push(takeOperand(tokens, place));
  const [least, most] = name === 'not' ? [1, 1] : name === 'and' || name === 'or' ? [1, Infinity] : [2, Infinity];
  if (inputs.length < least || inputs.length > most || (name === 'ne' && inputs.length > 2))
    throw new TemplateError(place, `gives ${name} a wrong number of values`);
  return { kind: 'call', name, inputs };
}

function takeOperand(tokens: string[], place: Place): Expression {
  const token = tokens.shift()!;
  if (token === '(') {
    const expression = takeOperands(tokens, place);
    const close = tokens.shift();
    if (close === undefined) throw new TemplateError(place, 'has a parenthesis that is not closed');
    const names = namesOf(close).map((value) => ({ kind: 'literal', value }) as const);
    return names.length === 0 ? expression : { kind: 'call', name: 'index', inputs: [expression, ...names] };
  }
  if (token.startsWith('"')) return { kind: 'literal', value: unquote(token, place) };
  if (token.startsWith('`')) return { kind: 'literal', value: token.slice(1, -1) };
  if (/^-?\d/.test(token)) return { kind: 'literal', value: Number(token) };
  if (token === 'true' || token === 'false') return { kind: 'literal', value: token === 'true' };
  if (token.startsWith('.') || token.startsWith('$'))
    return { kind: 'path', isRoot: token.startsWith('$'), names: namesOf(token) };
  throw new TemplateError(place, `has ${token} where a value has to be`);
}

/** The fields of `$.a.b`, `.a.b` or `).a.b`. */
function namesOf(token: string): readonly string[] {
  return token
    .split('.')
    .slice(1)
    .filter((name) => name !== '');
}

function unquote(token: string, place: Place): string {
  try {
    return JSON.parse(token) as string;
  } catch {
    throw new TemplateError(place, `has the text ${token}, which is not understood`);
  }
}

function lineOf(text: string, index: number): number {
  return text.slice(0, index).split('\n').length;
}
