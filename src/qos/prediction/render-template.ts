import { parseTemplate, TemplateError, type Expression, type Place, type TemplatePart } from './parse-template';

const MAX_TEMPLATE = 16_384;
const MAX_TEXT = 65_536;
const MAX_STEPS = 10_000;

/**
 * Renders a template of Go with the JSON of an object, as Crane's agent does. A value that the object does not have is
 * refused, where Go prints nothing. So is one that would change the structure of the YAML around it. Throws
 * TemplateError.
 */
export function renderTemplate(template: string, object: unknown): string {
  if (template.length > MAX_TEMPLATE) throw new TemplateError(START, `has more than ${MAX_TEMPLATE} characters`);
  const renderer = new Renderer(object);
  renderer.render(parseTemplate(template), object);
  return renderer.text;
}

const START: Place = { source: 'the template', line: 1 };

class Renderer {
  text = '';
  private steps = 0;

  constructor(private readonly root: unknown) {}

  render(parts: readonly TemplatePart[], dot: unknown): void {
    for (const part of parts) {
      if (part.kind === 'text') this.append(part.text, START);
      else if (part.kind === 'print') this.append(toText(this.evaluate(part.expression, dot, part), part), part);
      else this.renderBlock(part, dot);
    }
  }

  private renderBlock(part: Exclude<TemplatePart, { readonly kind: 'text' | 'print' }>, dot: unknown): void {
    const value = this.evaluate(part.expression, dot, part);
    if (!isTrue(value)) {
      this.render(part.otherwise, dot);
      return;
    }
    if (part.kind !== 'range') {
      this.render(part.parts, part.kind === 'with' ? value : dot);
      return;
    }
    if (typeof value !== 'object') throw new TemplateError(part, 'goes over what is neither a list nor an object');
    // Go goes over the keys of an object in their order.
    const each = Array.isArray(value)
      ? value
      : Object.keys(value!)
          .sort()
          .map((key) => read(value, key));
    for (const item of each) {
      this.append('', part);
      this.render(part.parts, item);
    }
  }

  private append(text: string, place: Place): void {
    this.steps += 1;
    this.text += text;
    if (this.steps > MAX_STEPS || this.text.length > MAX_TEXT)
      throw new TemplateError(place, `makes the text longer than ${MAX_TEXT} characters or ${MAX_STEPS} parts`);
  }

  private evaluate(expression: Expression, dot: unknown, place: Place): unknown {
    if (expression.kind === 'literal') return expression.value;
    if (expression.kind === 'path') return expression.names.reduce(read, expression.isRoot ? this.root : dot);
    const [first, ...rest] = expression.inputs.map((input) => this.evaluate(input, dot, place));
    switch (expression.name) {
      case 'index':
        return rest.reduce((value, key) => read(value, key), first);
      case 'eq':
        return rest.some((value) => value === first);
      case 'ne':
        return rest[0] !== first;
      case 'and':
        return [first, ...rest].find((value) => !isTrue(value)) ?? [first, ...rest].at(-1);
      case 'or':
        return [first, ...rest].find(isTrue) ?? [first, ...rest].at(-1);
      case 'not':
        return !isTrue(first);
    }
  }
}

/** A field that the object has itself; undefined where it has not. */
function read(value: unknown, key: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  if (typeof key !== 'string' && typeof key !== 'number') return undefined;
  return Object.hasOwn(value, key) ? (value as Readonly<Record<string | number, unknown>>)[key] : undefined;
}

/** As Go: nothing, zero and what is empty are false. */
function isTrue(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0;
  return Boolean(value);
}

function toText(value: unknown, place: Place): string {
  if (value === undefined || value === null)
    throw new TemplateError(place, 'names a value that the Node does not have');
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean')
    throw new TemplateError(place, 'names a list or an object: name one value of it');
  const text = String(value);
  if (/["'\\\p{Cc}]|: | #/u.test(text))
    throw new TemplateError(
      place,
      'has a value with quotes, backslashes or line breaks, which would change the YAML around it',
    );
  return text;
}
