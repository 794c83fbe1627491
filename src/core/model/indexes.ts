/** A value that is computed when it is first read after a write to what it follows from. */
export class Derived<T> {
  private current: T | undefined;

  constructor(private readonly compute: () => T) {}

  get value(): T {
    return (this.current ??= this.compute());
  }

  reset(): void {
    this.current = undefined;
  }
}

/** The keys of the values for which this is true. */
export class KeysWhere<V> extends Set<string> {
  constructor(private readonly isMember: (value: V) => boolean) {
    super();
  }

  follow(before: V | undefined, after: V | undefined, key: string): void {
    if (before !== undefined && this.isMember(before)) this.delete(key);
    if (after !== undefined && this.isMember(after)) this.add(key);
  }
}

/** The values of a table in groups, in the order in which they came into their group. */
export class Groups<V> {
  private readonly groups = new Map<string, Map<string, V>>();

  constructor(private readonly groupOf: (value: V) => string) {}

  of(group: string): V[] {
    return [...(this.groups.get(group)?.values() ?? [])];
  }

  follow(before: V | undefined, after: V | undefined, key: string): void {
    const old = before && this.groupOf(before);
    const now = after && this.groupOf(after);
    if (old !== undefined && old !== now) this.drop(old, key);
    if (now !== undefined) this.put(now, key, after!);
  }

  private put(name: string, key: string, value: V): void {
    const group = this.groups.get(name);
    if (group) group.set(key, value);
    else this.groups.set(name, new Map([[key, value]]));
  }

  private drop(name: string, key: string): void {
    const group = this.groups.get(name);
    group?.delete(key);
    if (group?.size === 0) this.groups.delete(name);
  }
}
