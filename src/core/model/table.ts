interface TableOptions<V> {
  /**
   * Keeps up to date what is derived from the values. `before` undefined: a new key; `after` undefined: the key is
   * removed.
   */
  follow?(before: V | undefined, after: V | undefined, key: string): void;
  /** The pod that a value belongs to, by the uid that the runtime knows it by. */
  podUidOf?(value: V): string;
  /** The container that a value belongs to. */
  containerIdOf?(value: V): string | null;
  /** The values are kept on disk. */
  readonly isDurable?: true;
  /** An answer may be given before they are on disk. */
  readonly mayBeLate?: true;
  /** A write may change the promise of any container. */
  readonly concernsEveryone?: true;
}

/** One write to a table, with all that is needed to take it back. */
export interface Write<V = unknown> {
  readonly table: Table<V>;
  readonly key: string;
  readonly before: V | undefined;
  readonly after: V | undefined;
}

/** Values by key. Every change of the model is a write to a table, so one journal can take back any of them. */
export class Table<V> {
  constructor(
    readonly options: TableOptions<V> = {},
    readonly values: Map<string, V> = new Map<string, V>(),
  ) {}

  /** Without `after` the key is removed. A value that replaces another keeps its place in the order of the map. */
  write(key: string, after?: V): Write<V> {
    const before = this.values.get(key);
    if (after === undefined) this.values.delete(key);
    else this.values.set(key, after);
    this.options.follow?.(before, after, key);
    return { table: this, key, before, after };
  }
}

/** A table of one value, which is always there after the first write. */
export class Cell<V> extends Table<V> {
  value!: V;

  constructor(options: TableOptions<V> = {}) {
    super({
      ...options,
      follow: (before, after, key) => {
        this.value = after!;
        options.follow?.(before, after, key);
      },
    });
  }

  set(value: V): Write<V> {
    return this.write('', value);
  }
}
