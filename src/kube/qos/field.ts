import { isJsonObject } from '../../core/json-object';
import { showText } from '../../core/show-text';
import { asArray, asObject, asString } from '../json';
import { MAX_AMOUNT, parseWhole } from '../quantity';

/** A value read from an object of the API server, or why it is refused: object, field, rule, remedy. */
export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly because: string };

/** Maximum of an integer of the CRDs, which have `format: int32`. */
export const MAX_INT = 2 ** 31 - 1;
/** Maximum length of the name of a Kubernetes object, and of any other name that is read. */
export const MAX_NAME = 253;

class Refusal extends Error {}

/** Reads an object with a function that gets it as a field; what a field refuses is the result. */
export function parseObject<T>(kind: string, object: unknown, read: (root: Field) => T): Parsed<T> {
  const { namespace, name } = asObject(asObject(object)['metadata']);
  const names = [asString(namespace), asString(name)].filter((part) => part !== '');
  const title = names.length === 0 ? `a ${kind} without a name` : `${kind} ${showText(names.join('/'), 200)}`;
  try {
    return { ok: true, value: read(new Field(title, '', object)) };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, because: error.message };
    throw error;
  }
}

/** One value of an object with its path, such as `spec.rules[2] (cpu).metricRule`. `null` is the same as absent. */
export class Field {
  constructor(
    private readonly title: string,
    private readonly path: string,
    private readonly value: unknown,
  ) {}

  get isAbsent(): boolean {
    return this.value === undefined || this.value === null;
  }

  /** A field of this object. An object that is absent has none. */
  at(name: string): Field {
    if (!this.isAbsent && !isJsonObject(this.value)) this.refuse('has to be an object', 'write its fields below it');
    const path = this.path === '' ? name : `${this.path}.${name}`;
    const own = asObject(this.value);
    return new Field(this.title, path, Object.hasOwn(own, name) ? own[name] : undefined);
  }

  /** The same with a name in its path, for an entry of a list. */
  called(name: string): Field {
    return new Field(this.title, name === '' ? this.path : `${this.path} (${showText(name, 60)})`, this.value);
  }

  /** The entries of a list; none when it is absent. */
  list(max: number): readonly Field[] {
    if (!this.isAbsent && !Array.isArray(this.value)) this.refuse('has to be a list', 'begin each entry with a dash');
    const items = asArray(this.value);
    this.limit(items.length, max, 'entries');
    return items.map((item, i) => new Field(this.title, `${this.path}[${i}]`, item));
  }

  /** A copy of a map of texts; empty when it is absent. */
  texts(max: number): Readonly<Record<string, string>> {
    if (!this.isAbsent && !isJsonObject(this.value)) this.refuse('has to be a map', 'write key: value');
    const keys = Object.keys(asObject(this.value));
    this.limit(keys.length, max, 'entries');
    return Object.fromEntries(keys.map((key) => [key, this.entry(key).anyText()]));
  }

  /** A text that is not empty. */
  name(remedy: string): string {
    if (this.isAbsent || this.value === '') this.refuse('has to be set', remedy);
    return this.anyText();
  }

  /** A text that may be empty, or absent. */
  anyText(): string {
    if (this.isAbsent) return '';
    if (typeof this.value !== 'string') return this.refuse('has to be a text', 'put it in quotes');
    if (this.value.length > MAX_NAME) this.refuse(`has to have at most ${MAX_NAME} characters`, 'shorten it');
    return this.value;
  }

  choice<T extends string>(choices: readonly T[]): T {
    const found = choices.find((choice) => choice === this.value);
    return found ?? this.refuse(`has to be one of ${choices.join(', ')}`, 'write one of them');
  }

  int(min: number, max: number, whenAbsent: number): number {
    if (this.isAbsent) return whenAbsent;
    const { value } = this;
    if (typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max) return value;
    return this.refuse(`has to be a whole number from ${min} to ${max}`, `leave it out for ${whenAbsent}`);
  }

  /** A quantity in whole units, rounded up; undefined when it is absent. */
  whole(): number | undefined {
    if (this.isAbsent) return undefined;
    const amount = parseWhole(this.value);
    return amount !== undefined && amount < MAX_AMOUNT
      ? amount
      : this.refuse('has to be a quantity of 0 or more, below 2^53', 'write a number with or without a unit');
  }

  /** Ends the reading of the object. */
  refuse(rule: string, remedy: string): never {
    throw new Refusal(`${this.title}: ${this.path || 'it'} ${describe(this.value)}: it ${rule}; ${remedy}`);
  }

  private entry(key: string): Field {
    return new Field(this.title, `${this.path}[${showText(JSON.stringify(key), 80)}]`, asObject(this.value)[key]);
  }

  private limit(count: number, max: number, what: string): void {
    if (count > max) this.refuse(`has to have at most ${max} ${what}`, 'split the object, or make it shorter');
  }
}

/** For a message; never more than a part of a text. */
function describe(value: unknown): string {
  if (value === undefined || value === null) return 'is missing';
  if (typeof value === 'string') return `is "${showText(value, 60)}"`;
  if (Array.isArray(value)) return `has ${value.length} entries`;
  if (isJsonObject(value)) return 'is an object';
  return `is ${JSON.stringify(value)}`;
}
