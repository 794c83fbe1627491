import { isJsonObject, type JsonObject } from '../core/json-object';
import { CpuListError, parseCpuList, type CpuSet } from '../core/cpuset';

/** A part of the document has the wrong shape. The message names the part. */
export class ShapeError extends Error {
  override readonly name = 'ShapeError';
}

/** Reads typed fields of a JSON object; throws ShapeError that names the field. */
export class Fields {
  private readonly record: JsonObject;

  constructor(value: unknown, what: string) {
    if (!isJsonObject(value)) throw new ShapeError(`${what} is not an object`);
    this.record = value;
  }

  text(name: string): string {
    const value = this.own(name);
    if (typeof value !== 'string') throw new ShapeError(`"${name}" is not a text`);
    return value;
  }

  textOrNull(name: string): string | null {
    return this.own(name) === null ? null : this.text(name);
  }

  texts(name: string): readonly string[] {
    const value = this.own(name);
    if (!Array.isArray(value)) throw new ShapeError(`"${name}" is not a list of texts`);
    const texts = value.filter((item): item is string => typeof item === 'string');
    if (texts.length < value.length) throw new ShapeError(`"${name}" is not a list of texts`);
    return texts;
  }

  count(name: string): number {
    const value = this.own(name);
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0)
      throw new ShapeError(`"${name}" is not a number of CPUs`);
    return value + 0; // JSON has -0, which is written again as 0
  }

  number(name: string): number {
    const value = this.own(name);
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new ShapeError(`"${name}" is not a number`);
    return value + 0;
  }

  flag(name: string): boolean {
    const value = this.own(name);
    if (typeof value !== 'boolean') throw new ShapeError(`"${name}" is neither true nor false`);
    return value;
  }

  cpuSet(name: string): CpuSet {
    try {
      return parseCpuList(this.text(name));
    } catch (error) {
      if (error instanceof CpuListError) throw new ShapeError(`"${name}": ${error.message}`);
      throw error;
    }
  }

  list(name: string): readonly unknown[] {
    const value = this.own(name);
    if (!Array.isArray(value)) throw new ShapeError(`"${name}" is not a list`);
    return value;
  }

  /** All fields of the object, which have to be texts. */
  allTexts(): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.keys(this.record).map((name) => [name, this.text(name)]));
  }

  /** The same of numbers from 0. */
  allCounts(): Readonly<Record<string, number>> {
    return Object.fromEntries(Object.keys(this.record).map((name) => [name, this.count(name)]));
  }

  /** The part of this name; undefined where it is absent. */
  optional(name: string): Fields | undefined {
    return this.has(name) ? this.fields(name) : undefined;
  }

  fields(name: string): Fields {
    return new Fields(this.own(name), `"${name}"`);
  }

  has(name: string): boolean {
    return Object.hasOwn(this.record, name);
  }

  private own(name: string): unknown {
    return Object.hasOwn(this.record, name) ? this.record[name] : undefined;
  }
}

/** Reads an entry of a list; undefined for an entry of the wrong shape, which is left out. */
export function readEntry<T>(entry: unknown, read: (fields: Fields) => T): T | undefined {
  try {
    return read(new Fields(entry, 'the entry'));
  } catch (error) {
    if (error instanceof ShapeError) return undefined;
    throw error;
  }
}
