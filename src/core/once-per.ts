/**
 * Remembers the result of a function for each object, as long as the object lives. Only for objects that never change.
 */
export function oncePer<K extends object, V>(make: (from: K) => V): (from: K) => V {
  const made = new WeakMap<K, { readonly value: V }>();
  return (from) => {
    let found = made.get(from);
    if (found === undefined) made.set(from, (found = { value: make(from) }));
    return found.value;
  };
}

/** The same for texts: at most `most` results are remembered, then all are forgotten. */
export function oncePerText<V>(make: (text: string) => V, most: number): (text: string) => V {
  const made = new Map<string, V>();
  return (text) => {
    if (made.has(text)) return made.get(text)!;
    if (made.size >= most) made.clear();
    const value = make(text);
    made.set(text, value);
    return value;
  };
}
